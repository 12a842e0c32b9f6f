#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if python3 -B -m pytest -q -p no:cacheprovider /tests/test_stock.py::test_second_delivery; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
