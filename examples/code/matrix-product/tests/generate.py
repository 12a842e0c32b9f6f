"""Matrices of random sizes with numbers of very different magnitudes."""

import base64
import json
import os
import random
import struct

chance = random.Random(os.environ["MUSTER_SEED"])
for _ in range(int(os.environ["MUSTER_CASES"])):
    size = chance.randint(30, 60)
    numbers = [chance.uniform(-1, 1) * 10 ** chance.randint(-2, 2) for _ in range(2 * size * size)]
    given = struct.pack(f"<q{len(numbers)}d", size, *numbers)
    print(json.dumps({"stdinBase64": base64.b64encode(given).decode()}))
