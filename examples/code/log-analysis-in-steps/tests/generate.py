"""Logs with lines that are cut off."""

import json
import os
import random

chance = random.Random(os.environ["MUSTER_SEED"])
LEVELS = ["DEBUG", "INFO", "WARN", "ERROR"]
for _ in range(int(os.environ["MUSTER_CASES"])):
    lines = []
    for at in range(chance.randint(50, 300)):
        stamp = f"2026-03-0{chance.randint(1, 2)}T1{at % 3}:{chance.randint(0, 3):02}:{chance.randint(0, 59):02}Z"
        lines.append(f"{stamp} {chance.choice(LEVELS)} message {chance.randrange(1000)}" if chance.random() < 0.9 else stamp)
    print(json.dumps({"stdin": "".join(f"{line}\n" for line in lines)}))
