"""Spans that overlap, touch, and hold nothing."""

import json
import os
import random

chance = random.Random(os.environ["MUSTER_SEED"])
for _ in range(int(os.environ["MUSTER_CASES"])):
    width = chance.choice([20, 200, 10**12])
    spans = []
    for _ in range(chance.randint(5, 60)):
        start = chance.randint(-width, width)
        spans.append((start, start + chance.randint(-2, max(3, width // 20))))
    print(json.dumps({"stdin": f"{len(spans)}\n" + "".join(f"{a} {b}\n" for a, b in spans)}))
