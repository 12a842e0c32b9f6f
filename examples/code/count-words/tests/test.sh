#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if gcc -O2 -std=c11 -o count count.c && [ "$(printf 'a b\n' | ./count)" = '1 2 4' ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
