#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if python3 -c 'from heap import Heap; h = Heap(); h.push(2); h.push(1); assert h.pop() == 1 and len(h) == 1'; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
