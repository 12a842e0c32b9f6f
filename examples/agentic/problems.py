"""Generates tasks: two functions of x in words, which the agent writes as expressions, tries, and mends."""

import itertools
import json
import random
from pathlib import Path

from examples.agentic.words import DIGITS, NAMES, SEPARATOR, SIGNS

Part = tuple[str, str]
"""A word of the operation, and a digit."""
SHOWN = 4
HIDDEN = (-7, 0, 5, 11)

TASK = """schema_version = "1.4"
artifacts = ["first", "second"]
[task]
name = "agentic/{name}"
[environment]
network_mode = "no-network"
"""
MUSTER = """[workspace]
root = "host"
[execute]
kind = "cases"
command = ["/usr/bin/python3", "-I", "/driver/main.py"]
driver = "driver"
stored = "cases.jsonl"
repeated = 0
[compare]
mode = "canonical"
form = "lines"
[score]
correctness = "share"
[[arena.tools]]
name = "attempt"
description = "writes the expressions, separated by ;, and says which are right for an example"
command = ["/usr/bin/python3", "-I", "/app/attempt.py"]
arguments = { program = { description = "x + 1 ; x * 2" } }
"""
DRIVER = """import sys
from pathlib import Path
expression = compile(Path(sys.argv[1]).read_text(), sys.argv[1], "eval")
for line in sys.stdin:
    print(eval(expression, {"x": int(line)}))
"""
ATTEMPT = """import json, sys
from pathlib import Path
shown = json.loads(Path("/app/shown.json").read_text())
parts = json.load(sys.stdin)["program"].split(" ; ")
for at, (name, want) in enumerate(shown["values"].items()):
    text = parts[at] if at < len(parts) else ""
    Path("/app", name).write_text(text)
    try:
        is_right = eval(text, {"x": shown["x"]}) == want
    except Exception:
        is_right = False
    print(name, "right" if is_right else "wrong")
"""


def instruct(parts: tuple[Part, ...]) -> str:
    lines = (f"{name} : x {word} {digit} {SEPARATOR}" for name, (word, digit) in zip(NAMES, parts, strict=True))
    return " ".join(["write", *lines])


def solve(parts: tuple[Part, ...]) -> list[str]:
    return [f"x {SIGNS[word]} {digit}" for word, digit in parts]


def write_tasks(directory: Path, count: int, seed: int) -> list[str]:
    """Writes a task's directory for each of `count` problems. @returns their names, in random order."""
    single = list(itertools.product(SIGNS, DIGITS))
    problems = random.Random(seed).sample(list(itertools.product(single, repeat=len(NAMES))), count)
    return [_write_task(directory, parts) for parts in problems]


def _write_task(directory: Path, parts: tuple[Part, ...]) -> str:
    name = "-".join(word + digit for word, digit in parts)
    solution = dict(zip(NAMES, solve(parts), strict=True))
    shown = {"x": SHOWN, "values": {part: eval(text, {"x": SHOWN}) for part, text in solution.items()}}
    cases = [_case(part, text) for part, text in solution.items()]
    files = {
        "task.toml": TASK.format(name=name),
        "muster.toml": MUSTER,
        "instruction.md": instruct(parts),
        "environment/attempt.py": ATTEMPT,
        "environment/shown.json": json.dumps(shown),
        "tests/driver/main.py": DRIVER,
        "tests/cases.jsonl": "".join(f"{json.dumps(case)}\n" for case in cases),
        **{f"solution/{part}": text for part, text in solution.items()},
        # A program that crashes prints no error, so a reward of `"ERROR" not in output` would be 1.
        **{f"cheats/crashes/{part}": "1 // 0" for part in solution},
    }
    for path, text in files.items():
        file = directory / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return name


def _case(part: str, text: str) -> dict[str, object]:
    expected = "".join(f"{eval(text, {'x': x})}\n" for x in HIDDEN)
    return {"name": part, "arguments": [part], "stdin": "".join(f"{x}\n" for x in HIDDEN), "expected": expected}
