"""
Computes the advantages of groups by NumPy, from the published formulas, and writes them with their inputs to
test/agents/rollouts/golden/advantages.json:

    .venv/bin/python scripts/golden/rollout_values.py
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
GOLDEN_FILE = ROOT / "test/agents/rollouts/golden/advantages.json"

Member = tuple[float | None, float | None, bool]
"""Core, reward, masked."""

GROUPS: dict[str, list[Member]] = {
    "plain": [(1.0, 1.0, False), (0.0, 0.0, False), (0.0, 0.0, False), (1.0, 1.0, False), (0.5, 0.5, False)],
    "a masked reward is no part of the mean": [(1.0, 1.0, False), (0.0, 0.0, False), (0.0, 0.0, True), (0.0, 0.0, True)],
    "a void member is no part of n": [(1.0, 1.0, False), (0.25, 0.25, False), (0.0, 0.0, False), (None, None, False)],
    "half of it is void": [(1.0, 1.0, False), (0.0, 0.0, False), (None, None, False), (None, None, False)],
    "shaping differs, the core does not": [(1.0, 1.02, False), (1.0, 0.97, False), (1.0, 1.0, False)],
    "shaped, with signal": [(1.0, 1.02, False), (0.0, -0.03, False), (1.0, 0.99, False)],
    "one member": [(0.75, 0.8, False)],
    "one member is left": [(0.75, 0.8, False), (None, None, False), (0.1, 0.1, True)],
    "none is left": [(None, None, False), (0.4, 0.4, True)],
    "large and nearly equal": [(1e6 + 1, 1e6 + 1, False), (1e6, 1e6, False), (1e6 + 2, 1e6 + 2, False)],
}


def advantages(rewards: list[float], kind: str, ddof: int) -> list[float]:
    values = np.asarray(rewards)
    if len(values) == 1:
        return [float(values[0])]
    centred = values - values.mean()
    n = len(values)
    computed = {
        "grpo": centred / (values.std(ddof=ddof) + 1e-6),
        "dr-grpo": centred,
        "rloo": values - (values.sum() - values) / (n - 1),
        "raw": values,
    }[kind]
    return [float(value) for value in computed]


def golden_case(name: str, members: list[Member], kind: str, ddof: int) -> dict[str, Any]:
    counted = [(core, reward) for core, reward, masked in members if core is not None and reward is not None and not masked]
    computed = iter(advantages([reward for _, reward in counted], kind, ddof)) if counted else iter(())
    listed = [next(computed) if core is not None and not masked else None for core, _, masked in members]
    cores = {core for core, _ in counted}
    filtered = None if len(counted) == 1 or len(cores) > 1 else "zero-variance" if counted else "no-reward"
    return {
        "name": name,
        "terms": {"kind": kind, "ddof": ddof} if kind == "grpo" else {"kind": kind},
        "members": [{"core": core, "reward": reward, "isMasked": masked} for core, reward, masked in members],
        "advantages": listed,
        "size": len(counted),
        "filtered": filtered,
    }


def golden_values() -> list[dict[str, Any]]:
    kinds = [("grpo", 0), ("grpo", 1), ("dr-grpo", 0), ("rloo", 0), ("raw", 0)]
    return [golden_case(name, members, kind, ddof) for name, members in GROUPS.items() for kind, ddof in kinds]


if __name__ == "__main__":
    GOLDEN_FILE.write_text(json.dumps(golden_values()), encoding="utf-8")
    subprocess.run([ROOT / "node_modules/.bin/prettier", "--write", GOLDEN_FILE], check=True)
