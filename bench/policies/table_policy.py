"""A policy whose weights are a large table: an observation picks one row, which a linear layer turns into two logits.

Playing touches little of it, so what many sandboxes need is that it is there, not that the memory is fast.

  table_policy.py make PATH BYTES   writes it as an ONNX file of about so many bytes, which is not in the page cache afterwards
  table_policy.py read PATH         tells how many seconds it takes to read a file once that is not in the page cache
"""

import os
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


def read(path: str) -> None:
    forget(path)
    start = time.perf_counter()
    with Path(path).open("rb", buffering=0) as file:
        while file.read(CHUNK_BYTES):
            pass
    print(time.perf_counter() - start)
    forget(path)


def forget(path: str) -> None:
    """Writes it to the disk and takes it out of the page cache."""
    with Path(path).open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    _program, command, path, *rest = sys.argv
    commands: dict[str, Callable[[], None]] = {"make": lambda: make(path, int(rest[0])), "read": lambda: read(path)}
    commands[command]()
