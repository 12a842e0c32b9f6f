"""Writes an MLP of any width that keeps CartPole's pole up: python bench/policies/balancing_mlp.py PATH UNITS

One unit of each layer carries the rule that balances. The other units are noise, which the network computes all the same. So it costs what
a trained network of this size costs, and episodes last as long as those of a good policy.
"""

import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

# Weights of position, speed, angle and angular speed. A push to the side to which the pole falls keeps it up.
RULE = (0.1, 0.5, 1.0, 1.0)


def make(path: Path, units: int) -> None:
    random = np.random.default_rng(0)
    tensors = {
        "l0.weight": random.normal(0, 0.01, (units, 4)),
        "l1.weight": random.normal(0, 0.001, (units, units)),
        "l2.weight": np.zeros((2, units)),
        **{f"l{i}.bias": np.zeros(size) for i, size in enumerate((units, units, 2))},
    }
    tensors["l0.weight"][0] = RULE
    tensors["l1.weight"][0, 0] = 5.0
    tensors["l2.weight"][:, 0] = (-1.0, 1.0)
    architecture = {
        "format": "muster-mlp/1",
        "layers": ["l0", "l1", "l2"],
        "activation": "tanh",
        "action": {"kind": "discrete"},
        "normalise": False,
    }
    save_file({name: tensor.astype(np.float32) for name, tensor in tensors.items()}, path, {"muster": json.dumps(architecture)})


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]))
