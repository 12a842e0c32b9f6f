"""Random expressions, one in six of them broken by taking a character away or putting one in."""

import json
import os
import random

chance = random.Random(os.environ["MUSTER_SEED"])


def expression(depth: int) -> str:
    kind = chance.randrange(8) if depth > 0 else 0
    if kind < 2:
        return str(chance.randint(0, 30))
    if kind == 2:
        return f"-{expression(depth - 1)}"
    if kind == 3:
        return f"({expression(depth - 1)})"
    if kind == 4:
        return f"({expression(depth - 1)})**{chance.choice(['', '-'])}{chance.randint(0, 3)}"
    space = " " * chance.randrange(2)
    return f"{expression(depth - 1)}{space}{chance.choice('+-*/')}{space}{expression(depth - 1)}"


def line() -> str:
    text = expression(4)
    if chance.randrange(6) > 0:
        return text
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(["", ")", "(", "*", "/", "x", "."]) + text[at + chance.randrange(2) :]


for _ in range(int(os.environ["MUSTER_CASES"])):
    print(json.dumps({"stdin": "".join(f"{line()}\n" for _ in range(40))}))
