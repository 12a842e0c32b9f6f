#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if python3 -c "
from sorting import sort_records
assert sort_records([(2, 'a'), (1, 'b'), (2, 'c')]) == [(1, 'b'), (2, 'a'), (2, 'c')]
"; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
