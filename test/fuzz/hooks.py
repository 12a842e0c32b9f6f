"""What schemathesis learns of a server that it fuzzes: names of things that exist, so that requests get past the look-up.

A part of the cases is left as it was drawn. `FUZZ_KNOWN` holds, as JSON, what the server knows: see fuzzed-server.ts.
"""

import json
import os
from typing import Any
from urllib.parse import quote

import schemathesis

KNOWN = json.loads(os.environ["FUZZ_KNOWN"])
MOST_EPISODES = 20
MOST_SANDBOXES = 3
# Of a query as it is sent. Node answers a request with longer headers before any route sees it.
MOST_QUERY = 12_000


@schemathesis.hook
def filter_case(_context: Any, case: Any) -> bool:
    """Leaves out what no route would see."""
    return len(quote(str(case.query or ""))) < MOST_QUERY


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: dict[str, Any]) -> None:
    """Only what the document allows is changed: what it does not allow is to be refused as it is."""
    is_negative = case.meta is not None and case.meta.generation.mode.is_negative
    if case.operation.path == "/v1/pools/{name}" and isinstance(case.body, dict):
        case.body = _few_sandboxes(case.body)
    if is_negative or _is_left([case.operation.path, case.path_parameters, case.query]):
        return
    given = KNOWN["paths"].get(case.operation.path.removeprefix("/v1").split("/")[1], {})
    if case.path_parameters:
        case.path_parameters = {name: given.get(name, value) for name, value in case.path_parameters.items()}
    if case.query and "wait" in case.query:
        case.query["wait"] = "0"
    if case.operation.path in ("/v1/evaluations", "/v1/comparisons") and isinstance(case.body, dict):
        case.body = _playable(case.operation.path, case.body)
    if case.operation.path in ("/v1/episodes", "/episodes") and isinstance(case.body, dict):
        case.body = {**case.body, "task" if "task" in case.body else "task_id": KNOWN["task"]}
    if case.operation.path.endswith("/fork") and isinstance(case.body, dict):
        case.body = {"n": 1}


def _is_left(drawn: object) -> bool:
    """One case in three, the same ones each time."""
    return len(json.dumps(drawn, default=str)) % 3 == 0


def _playable(path: str, body: dict[str, Any]) -> dict[str, Any]:
    known = {**body, "suite": KNOWN["suite"]}
    for part in ("checkpoint", "baseline"):
        if part in body:
            known[part] = {**body[part], **KNOWN["checkpoint"]}
            known[part].pop("sha256", None)
    if "candidates" in body:
        known["candidates"] = [KNOWN["checkpoint"] for _ in body["candidates"][:3]]
    if path == "/v1/evaluations" and "baseline" not in body:
        known["stop"] = {"rule": "fixed", "episodes": MOST_EPISODES}
    elif path == "/v1/comparisons":
        known["budgetEpisodes"] = MOST_EPISODES
    known.pop("webhook", None)
    return known


def _few_sandboxes(body: dict[str, Any]) -> dict[str, Any]:
    """The machine is to survive it."""
    return {name: value % (MOST_SANDBOXES + 1) if type(value) is int and value > 0 else value for name, value in body.items()}
