"""Which programs can leave nothing behind in an interpreter, by what they are made of."""

from pathlib import Path

import pytest
from repeated_runs import leaves_nothing

HARMLESS = [
    "import json, sys\nprint(json.dumps(sorted(json.load(sys.stdin))))",
    "import sys\nfor line in sys.stdin.buffer.read().split():\n    sys.stdout.buffer.write(line)",
    "import math as m, sys\nfrom collections import Counter\nprint(m.fsum([1]), Counter('a').most_common(), file=sys.stderr)",
    "import string\nprint(string.digits.index('3'))",
    "import functools\n@functools.lru_cache(maxsize=None)\ndef f(n, *rest, key=None, **others):\n    return n and f(n - 1)\nprint(f(3))",
    "def main():\n    import numpy as np\n    print(np.sort(np.array([1])).tolist())\nif __name__ == '__main__':\n    main()",
    "try:\n    print(int(input()))\nexcept ValueError as error:\n    raise SystemExit(str(error)) from None",
    "grid = [[0] * 3 for _ in range(3)]\ngrid[0][1] += 1\ncount: int = 0\nprint(f'{grid!r} {count:3}', *grid, sep='')",
]
HARMFUL = [
    "import os\nprint(os.getcwd())",
    "import random\nprint(random.random())",
    "import helper",
    "import json.decoder",
    "from json import *",
    "from . import json",
    "from sys import stdout",
    "import json\njson.loads = None",
    "import json\nalias = json",
    "import json\njson.decoder.BACKSLASH['x'] = 'y'",
    "import json\nprint(json.detect_encoding)",
    "import json as j\nj = 2",
    "import json\ndef f(json):\n    return json.decoder",
    "import json\nprint([json for json in (1,)])",
    "import sys\nsys.setrecursionlimit(9)",
    "import sys\nprint(sys.modules)",
    "import sys\nprint(sys.argv.copy)",
    "import numpy\nnumpy.random.seed(1)",
    "import numpy\nnumpy.seterr(all='raise')",
    "import string\nstring.digits = ''",
    "open('left', 'w')",
    "print(__builtins__)",
    "print(().__class__)",
    "def f():\n    yield\nprint(f().gi_frame)",
    "getattr(1, 'x')",
    "exec('')",
    "class A:\n    pass",
    "with x:\n    pass",
    "def f(x):\n    x.kept = 1",
    "x = [1]\ndel x[0]",
    "async def f():\n    pass",
    "print('a'",
    "\0",
]


def decide(directory: Path, source: str) -> bool:
    program = directory / "program.py"
    program.write_text(source)
    return leaves_nothing(str(program))


@pytest.mark.parametrize("source", HARMLESS)
def test_a_program_of_only_listed_parts_is_harmless(tmp_path: Path, source: str) -> None:
    assert decide(tmp_path, source)


@pytest.mark.parametrize("source", HARMFUL)
def test_any_other_program_has_a_process_for_each_run(tmp_path: Path, source: str) -> None:
    assert not decide(tmp_path, source)


def test_a_missing_program_has_a_process_for_each_run(tmp_path: Path) -> None:
    assert not leaves_nothing(str(tmp_path / "program.py"))
