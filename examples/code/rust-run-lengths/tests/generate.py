"""Bytes with runs around 255, to encode; encodings, some of them broken, to decode."""

import base64
import json
import os
import random

chance = random.Random(os.environ["MUSTER_SEED"])
for case in range(int(os.environ["MUSTER_CASES"])):
    runs = [(chance.choice([1, 2, 3, 254, 255, 256, 511, 700]), chance.randrange(256)) for _ in range(chance.randint(1, 30))]
    if case % 2 == 0:
        given, words = b"".join(bytes([byte]) * count for count, byte in runs), []
    else:
        given, words = b"".join(bytes([count % 255 + 1, byte]) for count, byte in runs), ["decode"]
        if case % 4 == 3:
            given = chance.choice([given[:-1], given + bytes([0, 7])])
    print(json.dumps({"stdinBase64": base64.b64encode(given).decode(), "arguments": words}))
