"""Plays a tournament: every policy on every side of a game, against every other one.

from muster.tournament import standings, tournament

matches = list(tournament({"old": "old.safetensors", "new": "new.onnx"}, "game.yaml", sides=("player_0", "player_1")))
print(standings(matches))
"""

import json
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Unpack

from muster.embedded import resolve_suite, shared
from muster_client import InvalidArgument, SuiteLike, Summary
from muster_client.client import Client
from muster_client.submission import EvaluationOptions


@dataclass(frozen=True, slots=True)
class Match:
    players: dict[str, str]
    """Names of policies, by the side that they play."""
    summary: Summary

    @property
    def returns(self) -> dict[str, float]:
        """Returns each side's mean return, from the suite's metrics `return_SIDE`."""
        means = {metric["name"]: metric["mean"] for metric in self.summary.official["metrics"]}
        absent = [f"return_{side}" for side in self.players if means.get(f"return_{side}") is None]
        if absent:
            raise InvalidArgument(f"suite: expected the metrics {', '.join(absent)}, which are returns of agents; name them in `metrics`")
        return {side: float(means[f"return_{side}"]) for side in self.players}


def tournament(
    policies: Mapping[str, str | os.PathLike[str]],
    suite: SuiteLike,
    *,
    sides: Sequence[str],
    client: Client | None = None,
    **options: Unpack[EvaluationOptions],
) -> Iterator[Match]:
    """Yields one match after the other. Each is evaluated when it is requested.

    @param policies: files by a name of the caller's, at least as many as there are sides.
    @param suite: a suite whose environment is a game (docs/suites.md).
    @param sides: agents of the game, each played by one policy.
    @param client: a client of another server; by default this process's own server plays.
    Raises InvalidArgument for fewer policies than sides or a missing file, and the errors of `Client.evaluate`.
    """
    if not 2 <= len(sides) <= len(policies):
        raise InvalidArgument(f"policies: expected at least one for each of two sides or more, got {len(policies)} for {len(sides)}")
    for name, path in policies.items():
        if not Path(path).is_file():
            raise InvalidArgument(f"policies: expected the file of {name!r}, and there is none at {path}")
    return _matches(policies, suite, tuple(sides), client, options)


def standings(matches: Sequence[Match]) -> dict[str, float]:
    """Returns each policy's mean return over its matches, the best first."""
    returns: dict[str, list[float]] = {}
    for match in matches:
        for side, value in match.returns.items():
            returns.setdefault(match.players[side], []).append(value)
    means = {name: statistics.fmean(several) for name, several in returns.items()}
    return dict(sorted(means.items(), key=lambda item: -item[1]))


def _matches(
    policies: Mapping[str, str | os.PathLike[str]],
    suite: SuiteLike,
    sides: tuple[str, ...],
    client: Client | None,
    options: EvaluationOptions,
) -> Iterator[Match]:
    for chosen in permutations(policies, len(sides)):
        players = dict(zip(sides, chosen, strict=True))
        with tempfile.TemporaryDirectory() as directory:
            files = {side: f"{place}{Path(policies[name]).suffix}" for place, (side, name) in enumerate(players.items())}
            for side, file in files.items():
                shutil.copyfile(policies[players[side]], Path(directory) / file)
            (Path(directory) / "muster.json").write_text(json.dumps({"policy": {"agents": files}}))
            if client is None:
                with shared().client() as own:
                    summary = own.evaluate(directory, resolve_suite(suite), progress="off", **options)
            else:
                summary = client.evaluate(directory, suite, progress="off", **options)
        yield Match(players, summary)
