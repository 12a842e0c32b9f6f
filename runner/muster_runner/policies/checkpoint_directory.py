"""Reads a checkpoint directory: `muster.json` names the policy, unless the directory has exactly one file of weights."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from muster_runner.frames import EntryPoint
from muster_runner.json_fields import FieldError, as_object, as_text, only, parse_object, required
from muster_runner.policies.carried_policy import CarriedPolicy
from muster_runner.refusal import PolicyRefusal

DESCRIPTION_FILE = "muster.json"
# Suffixes of files that hold a policy.
SUFFIXES = (".safetensors", ".onnx", ".pt", ".ts", ".pth", ".keras", ".zip")
# The largest number of files that a message lists.
MOST_NAMED = 8


@dataclass(frozen=True)
class AgentFiles:
    """The files of a game's agents. Keys may be patterns of names; the first that matches an agent counts."""

    files: Mapping[str, Path]


def read_description(directory: Path) -> Path | CarriedPolicy | AgentFiles:
    """Returns the file in the directory that holds the policy, the files of several agents' policies, or the code that makes it.

    @raises PolicyRefusal
    """
    try:
        text = (directory / DESCRIPTION_FILE).read_bytes()
    except FileNotFoundError:
        return _find_only_weights(directory)
    except OSError as error:
        raise PolicyRefusal(f"{DESCRIPTION_FILE} cannot be read: {error}") from error
    try:
        document = parse_object(text, DESCRIPTION_FILE)
        only(document, ("policy",), DESCRIPTION_FILE)
        policy = required(document, "policy", DESCRIPTION_FILE)
        if not isinstance(policy, dict):
            expected = '{"file": "NAME"}, {"agents": …} or {"entry": "module:function"}'
            raise FieldError(f"policy is {json.dumps(policy)[:80]}, expected {expected}")
        if "file" in policy:
            only(policy, ("file",), "policy")
            return _resolve_file(directory, as_text(policy["file"], "policy.file"), "policy.file")
        if "agents" in policy:
            only(policy, ("agents",), "policy")
            named = as_object(policy["agents"], "policy.agents")
            return AgentFiles({agent: _resolve_agent_file(directory, agent, file) for agent, file in named.items()})
        only(policy, ("entry", "kwargs"), "policy")
        kwargs = as_object(policy.get("kwargs", {}), "policy.kwargs")
        return CarriedPolicy(EntryPoint(as_text(required(policy, "entry", "policy"), "policy.entry"), kwargs), directory)
    except FieldError as error:
        raise PolicyRefusal(f"{DESCRIPTION_FILE}: {error}") from error


def _find_only_weights(directory: Path) -> Path:
    found = sorted(path for path in directory.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    if len(found) == 1:
        return found[0]
    if not found and any(directory.rglob("episodes.ndjson")):
        raise PolicyRefusal("the directory holds results that --out of muster eval or compare kept; give the checkpoint that they are of")
    if not found:
        raise PolicyRefusal(f"the checkpoint directory has neither a {DESCRIPTION_FILE} nor a file of weights ({', '.join(SUFFIXES)})")
    there = ", ".join(str(path.relative_to(directory)) for path in found[:MOST_NAMED])
    raise PolicyRefusal(
        f"the checkpoint directory has {len(found)} files of weights and no {DESCRIPTION_FILE} that says which one is the policy: {there}; "
        f"give one of the files as the checkpoint, or write {DESCRIPTION_FILE}"
    )


def _resolve_agent_file(directory: Path, agent: str, file: Any) -> Path:
    field = f"policy.agents.{agent}"
    return _resolve_file(directory, as_text(file, field), field)


def _resolve_file(directory: Path, name: str, field: str) -> Path:
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise FieldError(f'{field} is "{name}", expected a path inside the checkpoint directory')
    path = directory / relative
    if not path.is_file():
        raise FieldError(f'{field} is "{name}", and the checkpoint holds no such file')
    return path
