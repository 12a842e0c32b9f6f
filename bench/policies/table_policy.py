"""A policy whose weights are a large table: an observation picks one row, which a linear layer turns into two logits.

Playing touches little of it, so what many sandboxes need is that it is there, not that the memory is fast.

  table_policy.py make PATH BYTES   writes it as an ONNX file of about so many bytes, which is not in the page cache afterwards
  table_policy.py read PATH         tells how many seconds it takes to read a file once that is not in the page cache
  table_policy.py digest PATH       the same for reading and hashing it
  table_policy.py load PATH WARM TIMES
      tells the median of the processor's seconds that the runner's code takes to load it and act once, so often one after the other
      in a process that has loaded another one, WARM, before; the file is in the page cache
"""

import hashlib
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COLUMNS = 1024
CHUNK_BYTES = 1 << 20


def make(path: str, size: int) -> None:
    rows = max(2, size // (4 * COLUMNS))
    random = np.random.default_rng(0)
    constants = {
        "table": random.random((rows, COLUMNS), np.float32),
        "weights": random.standard_normal((COLUMNS, 2), np.float32),
        "scale": np.float32(10_000),
        "rows": np.int64(rows),
    }
    nodes = [
        helper.make_node("ReduceSum", ["observation"], ["sum"], keepdims=0),
        helper.make_node("Mul", ["sum", "scale"], ["scaled"]),
        helper.make_node("Cast", ["scaled"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Mod", ["whole", "rows"], ["row"]),
        helper.make_node("Gather", ["table", "row"], ["embedding"]),
        helper.make_node("MatMul", ["embedding", "weights"], ["both"]),
        helper.make_node("Unsqueeze", ["both", "first"], ["logits"]),
    ]
    constants["first"] = np.array([0], np.int64)
    graph = helper.make_graph(
        nodes,
        "table",
        [helper.make_tensor_value_info("observation", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, path)
    forget(path)


def read(path: str, use: Callable[[bytes], None] = lambda _chunk: None) -> None:
    forget(path)
    start = time.perf_counter()
    with Path(path).open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            use(chunk)
    print(time.perf_counter() - start)
    forget(path)


def load(path: str, warm: str, times: int) -> None:
    # The other commands need nothing of the runner.
    from gymnasium import spaces

    from muster_runner.policies.checkpoint import Fit
    from muster_runner.policies.read_checkpoint import read_checkpoint

    with Path(path).open("rb", buffering=0) as file:
        while file.read(CHUNK_BYTES):
            pass
    fit = Fit(spaces.Box(-np.inf, np.inf, (4,), np.float32), spaces.Discrete(2), deterministic=True)

    def act(path: str) -> None:
        policy = read_checkpoint(Path(path)).fit(fit)
        policy.reset(0)
        policy.act(np.ones(4, np.float32))

    act(warm)
    seconds: list[float] = []
    for _ in range(times):
        before = time.process_time()
        act(path)
        seconds.append(time.process_time() - before)
    print(statistics.median(seconds))
    forget(path)


def forget(path: str) -> None:
    """Writes the file to the disk and removes it from the page cache."""
    with Path(path).open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    _program, command, path, *rest = sys.argv
    commands: dict[str, Callable[[], None]] = {
        "make": lambda: make(path, int(rest[0])),
        "read": lambda: read(path),
        "digest": lambda: read(path, hashlib.sha256().update),
        "load": lambda: load(path, rest[0], int(rest[1])),
    }
    commands[command]()
