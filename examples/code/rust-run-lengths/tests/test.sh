#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if rustc -O --edition 2021 -o runs src/main.rs && [ "$(printf 'aaab' | ./runs | od -An -tx1 | tr -d ' ')" = '03610162' ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
