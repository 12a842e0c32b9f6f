"""Two lists of random lengths."""

import json
import os
import random

chance = random.Random(os.environ["MUSTER_SEED"])
for _ in range(int(os.environ["MUSTER_CASES"])):
    lists = [[chance.randint(-1000, 1000) for _ in range(chance.randint(1500, 3000))] for _ in range(2)]
    print(json.dumps({"stdin": json.dumps(lists)}))
