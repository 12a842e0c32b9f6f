#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if gcc -O2 -std=c11 -o matmul matmul.c -lm && python3 -c "import struct; print(end=struct.pack('<qdd', 1, 2, 3).decode('latin1'))" | ./matmul | grep -q .; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
