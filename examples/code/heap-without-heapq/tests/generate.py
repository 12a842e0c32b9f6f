"""Pushes and pops in random order, never a pop of an empty heap."""

import json
import os
import random

chance = random.Random(os.environ["MUSTER_SEED"])
for case in range(int(os.environ["MUSTER_CASES"])):
    held, lines = 0, []
    for _ in range(100_000 if case == 0 else 2000):
        if held > 0 and chance.random() < 0.48:
            held -= 1
            lines.append("pop")
        else:
            held += 1
            lines.append(str(chance.randint(-50, 50) if case % 2 else chance.randint(-(10**9), 10**9)))
    print(json.dumps({"stdin": "".join(f"{line}\n" for line in lines)}))
