"""A TorchScript model."""

from pathlib import Path
from typing import Any

import numpy as np

from muster_runner.json_fields import parse_object
from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.policies.exported_network import ExportedNetwork, described
from muster_runner.policies.policy import Array
from muster_runner.policies.torch_library import import_torch
from muster_runner.refusal import PolicyRefusal

METADATA_FILE = "muster.json"


def read_torchscript(path: Path) -> Checkpoint:
    """@raises PolicyRefusal"""
    torch = import_torch(path, "a TorchScript model")
    # The library fills in the text of the extra files that it is asked for and finds.
    extra: dict[str, Any] = {METADATA_FILE: ""}
    try:
        model = torch.jit.load(str(path), map_location="cpu", _extra_files=extra)
    except (RuntimeError, ValueError) as error:
        raise PolicyRefusal(f"{path.name} is no intact TorchScript model: {error}") from error
    model.eval()
    text = extra[METADATA_FILE]
    # Without parameters there is nothing that asks for another type than torch's usual one.
    double = any(parameter.dtype == torch.float64 for parameter in model.parameters())
    return ExportedNetwork(
        run=_runner(torch, model),
        dtype=np.float64 if double else np.float32,
        description=described(lambda: parse_object(text, METADATA_FILE) if text else None, path.name),
        input_shape=None,
        takes_one=False,
    )


def _runner(torch: Any, model: Any) -> Any:
    def run(observation: Array) -> list[Array]:
        with torch.no_grad():
            result = model(torch.from_numpy(observation))
        return [part.detach().numpy() for part in (result if isinstance(result, tuple) else (result,))]

    return run
