"""Writes a small convolutional policy for the images of bench/environments/image.py, as ONNX: python bench/policies/convolution.py PATH

Its weights are random, because its cost does not depend on them. It takes bytes, and any number of images at once.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = 48
CHANNELS = (16, 32)
ACTIONS = 3


def make(path: Path) -> None:
    random = np.random.default_rng(0)
    first, second = CHANNELS
    flat = second * (SIDE // 8) ** 2
    constants = {
        "w0": random.normal(0, 0.1, (first, 1, 8, 8)).astype(np.float32),
        "w1": random.normal(0, 0.1, (second, first, 4, 4)).astype(np.float32),
        "w2": random.normal(0, 0.1, (flat, 128)).astype(np.float32),
        "w3": random.normal(0, 0.1, (128, ACTIONS)).astype(np.float32),
        "scale": np.float32(1 / 255),
    }
    nodes = [
        helper.make_node("Cast", ["observation"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["numbers", "scale"], ["scaled"]),
        helper.make_node("Transpose", ["scaled"], ["image"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["image", "w0"], ["c0"], strides=[4, 4], pads=[2, 2, 2, 2]),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Flatten", ["r1"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w2"], ["h"]),
        helper.make_node("Relu", ["h"], ["r2"]),
        helper.make_node("MatMul", ["r2", "w3"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "convolution",
        [helper.make_tensor_value_info("observation", TensorProto.UINT8, ["batch", SIDE, SIDE, 1])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", ACTIONS])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
