#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if go build -o intervals . && [ "$(printf '2\n1 2\n3 5\n' | ./intervals)" = '1 5' ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
