"""Checkpoints as a training run leaves them: bf16 tensors of normally distributed numbers in a file of safetensors.

training_run.py make PATH BYTES TENSORS SEED    writes the first one
training_run.py step FROM TO SHARE SEED         a SHARE of all numbers, at random, are other ones
training_run.py adapt FROM TO TENSORS SEED      all numbers of so many tensors are other ones
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint16]
CHUNK = 1 << 24


def make(path: str, size: int, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    words = size // 2 // count
    offsets = [2 * words * i for i in range(count + 1)]
    header = {f"layer.{i}.weight": {"dtype": "BF16", "shape": [words], "data_offsets": offsets[i : i + 2]} for i in range(count)}
    text = json.dumps(header).encode()
    # The format pads the header, so that tensors begin at a multiple of eight bytes.
    text += b" " * (-len(text) % 8)
    with Path(path).open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for begin in range(0, words * count, CHUNK):
            file.write(normal(random, min(CHUNK, words * count - begin)).tobytes())


def normal(random: np.random.Generator, count: int) -> Words:
    """Returns numbers of a layer's usual scale as bf16, which is the upper half of a float32."""
    numbers = random.standard_normal(count, np.float32) * np.float32(0.02)
    return (numbers.view(np.uint32) >> 16).astype(np.uint16)


def opened(source: str) -> tuple[bytearray, Words, int]:
    """Returns all bytes, the numbers in them, and the number of tensors."""
    data = bytearray(Path(source).read_bytes())
    begin = 8 + int.from_bytes(data[:8], "little")
    return data, np.frombuffer(data, np.uint16, offset=begin), len(json.loads(data[8:begin]))


def step(source: str, target: str, share: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    data, words, _count = opened(source)
    for begin in range(0, len(words), CHUNK):
        part = words[begin : begin + CHUNK]
        changed = np.flatnonzero(random.random(len(part), np.float32) < share)
        part[changed] = normal(random, len(changed))
    Path(target).write_bytes(data)


def adapt(source: str, target: str, tensors: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    data, words, count = opened(source)
    each = len(words) // count
    for tensor in random.choice(count, tensors, replace=False):
        words[tensor * each : (tensor + 1) * each] = normal(random, each)
    Path(target).write_bytes(data)


if __name__ == "__main__":
    _program, command, *rest = sys.argv
    commands: dict[str, Callable[[], None]] = {
        "make": lambda: make(rest[0], int(rest[1]), int(rest[2]), int(rest[3])),
        "step": lambda: step(rest[0], rest[1], float(rest[2]), int(rest[3])),
        "adapt": lambda: adapt(rest[0], rest[1], int(rest[2]), int(rest[3])),
    }
    commands[command]()
