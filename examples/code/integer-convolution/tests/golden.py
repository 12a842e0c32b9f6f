"""The convolution by its definition."""

import json
import sys

first, second = json.load(sys.stdin)
product = [0] * (len(first) + len(second) - 1)
for at, a in enumerate(first):
    for offset, b in enumerate(second):
        product[at + offset] += a * b
print(json.dumps(product))
