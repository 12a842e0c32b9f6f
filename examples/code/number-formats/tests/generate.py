"""A case for each of the conversions."""

import json
import os
import random
import sys

sys.path.insert(0, "/tests")

from formats import DIGITS, to_base, to_roman

chance = random.Random(os.environ["MUSTER_SEED"])
assert int(os.environ["MUSTER_CASES"]) == 4
small = [chance.randint(1, 3999) for _ in range(60)]
large = [(chance.randrange(2 ** chance.randint(1, 100)), chance.randint(2, len(DIGITS))) for _ in range(60)]
lines = {
    "roman": [f"roman {number}" for number in small],
    "unroman": [f"unroman {to_roman(number)}" for number in small],
    "base": [f"base {number} {base}" for number, base in large],
    "unbase": [f"unbase {to_base(number, base)} {base}" for number, base in large],
}
for name, given in lines.items():
    print(json.dumps({"name": name, "stdin": "".join(f"{line}\n" for line in given)}))
