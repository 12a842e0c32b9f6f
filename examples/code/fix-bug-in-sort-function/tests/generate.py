"""Lists of records with many equal keys, of random lengths."""

import json
import os
import random

chance = random.Random(os.environ["MUSTER_SEED"])
for _ in range(int(os.environ["MUSTER_CASES"])):
    keys = chance.randint(2, 9)
    records = [(chance.randrange(keys), f"r{chance.randrange(10**6)}") for _ in range(chance.randint(20, 60))]
    print(json.dumps({"stdin": json.dumps(records)}))
