"""Graphs in which a shortest way has many edges; each verdict has its own."""

import json
import os
import random

chance = random.Random(os.environ["MUSTER_SEED"])
for _ in range(int(os.environ["MUSTER_CASES"])):
    nodes = chance.choice([5, 40, 400, 2000])
    names = [0, *chance.sample(range(1, nodes), nodes - 1)]
    edges = [(names[at], names[at + 1], chance.randint(0, 3)) for at in range(nodes * 9 // 10 - 1)]
    edges += [(chance.randrange(nodes), chance.choice(names[: nodes * 9 // 10]), chance.randint(0, 10 * nodes)) for _ in range(4 * nodes)]
    chance.shuffle(edges)
    lines = "".join(f"{start} {end} {length}\n" for start, end, length in edges)
    print(json.dumps({"stdin": f"{nodes} {len(edges)}\n{lines}"}))
