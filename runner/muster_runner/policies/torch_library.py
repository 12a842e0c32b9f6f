"""Imports PyTorch, only for a checkpoint that needs it, because that takes a second."""

from pathlib import Path
from typing import Any

from muster_runner.failure import describe_installation
from muster_runner.refusal import PolicyRefusal


def import_torch(path: Path, kind: str) -> Any:
    """Imports PyTorch. @raises PolicyRefusal saying what the file is and how it can be played."""
    try:
        import torch
    except ImportError as error:
        raise PolicyRefusal(
            f"{path.name} is {kind}, and the Python of this sandbox has no torch ({error}): "
            f"{describe_installation('torch')}, or export the policy to ONNX or safetensors"
        ) from error
    torch.set_num_threads(1)
    return torch
