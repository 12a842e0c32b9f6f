"""An agent of forty lines that mends fix-bug-in-sort-function on a Muster server: `python agent.py [URL]`, with MUSTER_TOKEN if needed."""

import json
import os
import sys
from typing import Any
from urllib.request import Request, urlopen

SERVER = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7677"
MENDED = """    pivot = records[len(records) // 2]
    same = [record for record in records if record[0] == pivot[0]]
"""


def call(method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Calls the server."""
    headers = {"content-type": "application/json"} if body else {}
    if token := os.environ.get("MUSTER_TOKEN"):
        headers["authorization"] = f"Bearer {token}"
    data = json.dumps(body).encode() if body else None
    with urlopen(Request(SERVER + path, data, headers, method=method)) as answer:
        result: dict[str, Any] = json.load(answer)
        return result


started = call("POST", "/v1/episodes", {"task": "fix-bug-in-sort-function", "agent": "forty-lines"})
print(started["observation"]["text"])
steps = 0


def act(action: str, **fields: Any) -> str:
    """Takes a step. Its number makes it safe to send again."""
    global steps
    steps += 1
    answer = call("POST", started["links"]["steps"], {"step": steps, "action": action, **fields})
    return str(answer["observation"]["text"])


print(act("run", command="cat sorting.py"))
print(act("edit_file", file="sorting.py", old="    pivot = records[len(records) // 2]\n", new=MENDED))
print(act("edit_file", file="sorting.py", old="(smaller), pivot, *", new="(smaller), *same, *"))
print(act("run", command="python3", stdin='import sorting; print(sorting.sort_records([(2, "a"), (1, "b"), (2, "c")]))'))
act("submit")
reward = call("GET", f"{started['links']['reward']}?wait=60")
print(f"reward {reward['reward']}: {reward['tests_passed']} of {reward['total_tests']} cases pass")
