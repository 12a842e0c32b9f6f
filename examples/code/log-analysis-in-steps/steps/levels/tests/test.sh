#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if python3 levels.py < sample.log | grep -q 'INFO 1'; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
