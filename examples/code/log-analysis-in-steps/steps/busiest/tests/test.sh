#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if python3 busiest.py < sample.log | grep -q '2026-03-01T10:00 2'; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
