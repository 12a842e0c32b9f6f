#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if python3 -B -c 'import roman; assert roman.to_roman(1987) == "MCMLXXXVII" and roman.from_roman("iv") == 4'; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
