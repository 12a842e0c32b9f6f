#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if [ "$(printf '1 + 2 * 3\n-2**2\n' | python3 calc.py | tr '\n' ' ')" = '7 -4 ' ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
