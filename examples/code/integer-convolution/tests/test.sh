#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if [ "$(echo '[[1, 2], [3, 4]]' | python3 convolve.py)" = '[3, 10, 8]' ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
