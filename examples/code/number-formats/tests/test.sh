#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if [ "$(echo roman 14 | python3 convert.py)" = XIV ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
