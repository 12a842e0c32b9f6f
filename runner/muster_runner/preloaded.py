"""Checkpoints that were loaded before this process was forked, and are shared with all others that were forked from the same one."""

from pathlib import Path

from muster_runner.policies.checkpoint import Checkpoint

_preloaded: dict[str, Checkpoint] = {}


def preload(path: str, digest: str) -> None:
    """@raises PolicyRefusal when it is not what it is called, or cannot be read."""
    from muster_runner.loading import verified
    from muster_runner.policies.read_checkpoint import read_checkpoint

    verified(Path(path), digest)
    _preloaded[digest] = read_checkpoint(Path(path))


def find_preloaded(digest: str) -> Checkpoint | None:
    return _preloaded.get(digest)
