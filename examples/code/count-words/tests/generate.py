"""Texts of up to a megabyte, with every kind of white space and with bytes that are no text."""

import base64
import json
import os
import random

chance = random.Random(os.environ["MUSTER_SEED"])
BLANKS = [b" ", b"\t", b"\n", b"\v", b"\f", b"\r", b"  ", b" \n"]
for _ in range(int(os.environ["MUSTER_CASES"])):
    words = [chance.randbytes(chance.randint(1, 12)) for _ in range(1000)]
    text = b"".join(chance.choice(words) + chance.choice(BLANKS) for _ in range(chance.randint(1, 100_000)))
    print(json.dumps({"stdinBase64": base64.b64encode(text).decode()}))
