"""What Muster sends, as examples."""

from typing import Any

BASELINE = "sha256:" + "b" * 64
SUBJECT = "sha256:" + "a" * 64
INTERVAL = {"low": 480.3, "high": 500.0, "confidence": 0.95, "method": "hedged-betting", "guarantee": "at every sample size"}


def problem(status: int, code: str, detail: str, **errors: str) -> dict[str, Any]:
    document: dict[str, Any] = {"type": "about:blank", "title": "", "status": status, "code": code, "detail": detail}
    listed = [{"field": field.replace("__", "."), "detail": text} for field, text in errors.items()]
    return document | ({"errors": listed} if errors else {})


def summary(**changes: Any) -> dict[str, Any]:
    official = {
        "suite": {"name": "cartpole", "digest": "sha256:" + "5" * 64},
        "checkpoint": {"digest": SUBJECT},
        "episodes": 240,
        "resolved": 239,
        "unresolved": 1,
        "endedBy": "rule",
        "mean": 498,
        "biasReducedMean": 497.5,
        "variance": 12.5,
        "standardError": 0.23,
        "interval": INTERVAL,
        "targetHalfWidth": 10,
        "success": None,
        "warnings": ["one episode was lost"],
    }
    document = {"schema": "muster.summary/1", "official": official, "ended": "rule", "partial": False, "warnings": ["slow"], "run": {}}
    return document | changes


def comparison(verdict: str = "promote") -> dict[str, Any]:
    candidate = {
        "name": SUBJECT,
        "verdict": verdict,
        "decidedAt": 40,
        "pairs": 64,
        "mean": 498.0,
        "baselineMean": 241.4,
        "difference": 256.6,
        "biasReducedDifference": 240.5,
        "interval": INTERVAL,
        "warnings": [],
    }
    official = {
        "suite": {"name": "cartpole", "digest": "sha256:" + "5" * 64},
        "baseline": {"digest": BASELINE},
        "episodes": 128,
        "margin": 0,
        "candidates": [candidate],
        "warnings": [],
    }
    document = {"schema": "muster.comparison/1", "official": official, "verdict": verdict, "ended": "verdicts", "partial": False}
    return document | {"warnings": [], "run": {}}


def evaluation(id: str, state: str = "finished", **changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": id,
        "kind": "evaluation",
        "state": state,
        "principal": "local",
        "suite": "cartpole",
        "checkpoints": [{"part": "subject", "uri": "upload", "digest": SUBJECT}],
        "run": "ppo-1",
        "version": 4096,
        "labels": {"team": "walking"},
        "priority": 0,
        "createdAt": "2026-01-01T00:00:00.000Z",
        "startedAt": "2026-01-01T00:00:01.000Z",
        "endedAt": "2026-01-01T00:00:05.000Z",
        "cancelRequestedAt": None,
        "running": None,
        "failure": None,
        "links": {"self": f"/v1/evaluations/{id}", "events": "", "episodes": ""},
        "summary": summary() if state == "finished" else None,
    }
    return document | changes


def figures(episodes: int) -> dict[str, Any]:
    return {
        "kind": "evaluation",
        "episodes": episodes,
        "mean": 490.5,
        "halfWidth": 20.25,
        "target": 10,
        "outcomes": episodes,
        "inFlight": 4,
        "episodesPerSecond": 100.0,
        "seconds": 1.5,
        "secondsLeft": 2.0,
    }


def event(sequence: int, type: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"sequence": sequence, "type": type, "at": "2026-01-01T00:00:02.000Z", "data": data}


def events_of(_id: str, last: str = "finished") -> list[dict[str, Any]]:
    """Waiting, running, three times progress, over."""
    progress = [event(3 + at, "progress", figures(80 * (at + 1))) for at in range(3)]
    return [event(1, "state", {"state": "waiting"}), event(2, "state", {"state": "running"}), *progress, event(6, "state", {"state": last})]


def episode(index: int, outcome: dict[str, Any] | None = None) -> dict[str, Any]:
    played = {"kind": "completed", "return": 500, "length": 500, "metrics": {"angle": 0.25}}
    return {
        "index": index,
        "task": "cartpole",
        "environmentSeed": 1000 + index,
        "policySeed": 2000 + index,
        "checkpoint": SUBJECT,
        "outcome": outcome or played,
        "seconds": 0.5,
    }
