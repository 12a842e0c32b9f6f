"""A trajectory as Muster keeps it, in two segments."""

import json
from pathlib import Path
from typing import Any

AT = "2026-01-01T00:00:00.000Z"
USAGE = {"promptTokens": 3, "completionTokens": 2, "cachedTokens": 0}


def turn(position: int, tokens: dict[str, int], name: str, observation: str) -> dict[str, Any]:
    call = f"call-{position}"
    return {
        "message": {"content": "I look.", "reasoning": f"thought {position}"},
        "toolCalls": [{"id": call, "name": name, "arguments": '{"command": "ls"}' if name == "run" else ""}],
        "observations": [{"toolCall": call, "text": observation}],
        "finishReason": "tool_calls",
        "tokens": tokens,
        "policyVersion": 3,
        "usage": USAGE,
        "startedAt": AT,
        "endedAt": AT,
    }


RECORD: dict[str, Any] = {
    "format": 1,
    "trajectory": "3f2a-0",
    "task": "test/answer",
    "taskDigest": "sha256:1",
    "group": "ro-1.0",
    "rep": 0,
    "seed": 5,
    "taskSeed": 7,
    "agent": "sha256:2",
    "model": "org/policy",
    "tools": [
        {"name": "run", "description": "runs a command", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}
    ],
    "prompt": [{"role": "system", "content": "Work."}, {"role": "user", "content": "Mend it."}],
    # A template that leaves earlier reasoning out: the second turn begins a segment.
    "turns": [
        turn(0, {"segment": 0, "prompt": 3, "completion": 2}, "run", "exit code 0"),
        turn(1, {"segment": 1, "prompt": 4, "completion": 2}, "submit", "Submitted."),
    ],
    "segments": [
        {"ids": [5, 6, 7, 8, 9], "lossMask": [0, 0, 0, 1, 1], "logprobs": [0, 0, 0, -0.5, -0.25], "versions": [-1, -1, -1, 3, 3]},
        {
            "ids": [5, 6, 8, 10, 11, 9],
            "lossMask": [0, 0, 0, 0, 1, 1],
            "logprobs": [0, 0, 0, 0, -1, -0.125],
            "versions": [-1, -1, -1, -1, 3, 3],
        },
    ],
    "reward": 0.5,
    "components": {"gate": 1, "correctness": 0.5},
    "verdict": "",
    "status": "completed",
    "stopReason": "submitted",
    "timings": {"startedAt": AT, "endedAt": AT, "modelSeconds": 1, "actionSeconds": 1},
    "usage": USAGE,
}


def keep_record(directory: Path) -> Path:
    """A directory as of `muster eval --out`."""
    place = directory / "trajectories" / "test__answer"
    place.mkdir(parents=True)
    (place / "3f2a-0.json").write_text(json.dumps(RECORD))
    return directory
