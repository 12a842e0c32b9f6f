"""Chooses the reader for a checkpoint."""

from collections.abc import Callable
from pathlib import Path

from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.policies.checkpoint_directory import AgentFiles, read_description
from muster_runner.refusal import PolicyRefusal


def read_checkpoint(path: Path) -> Checkpoint:
    """Reads a checkpoint. @raises PolicyRefusal"""
    if not path.is_dir():
        return _choose_reader(path)(path)
    found = read_description(path)
    if isinstance(found, Path):
        return _choose_reader(found)(found)
    if isinstance(found, AgentFiles):
        from muster_runner.policies.agent_policies import AgentCheckpoints

        return AgentCheckpoints({agent: _choose_reader(file)(file) for agent, file in found.files.items()})
    return found


def _choose_reader(path: Path) -> Callable[[Path], Checkpoint]:
    # A library is imported only for a checkpoint that needs it, because imports cost memory and time in every sandbox.
    match path.suffix:
        case ".safetensors":
            from muster_runner.policies.safetensors_file import read_safetensors

            return read_safetensors
        case ".onnx":
            from muster_runner.policies.onnx_model import read_onnx

            return read_onnx
        case ".keras":
            from muster_runner.policies.keras_model import read_keras

            return read_keras
        case ".zip":
            from muster_runner.policies.sb3_model import read_sb3

            return read_sb3
        case ".pth":
            from muster_runner.policies.torch_state_dict import read_state_dict

            return read_state_dict
        case ".pt" | ".ts":
            from muster_runner.policies.torch_state_dict import is_state_dict, read_state_dict

            if is_state_dict(path):
                return read_state_dict
            from muster_runner.policies.torchscript_model import read_torchscript

            return read_torchscript
        case _:
            raise PolicyRefusal(
                f"{path.name} is of an unknown kind, expected .safetensors, .onnx, .pt, .ts, .pth, .keras, .zip "
                "or a directory with muster.json"
            )
