#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if PYTHONPATH=/app:/tests python3 -B -m unittest -q test_stock.TestStock.test_second_delivery; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
