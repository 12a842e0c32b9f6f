"""Answers requests of its own, in a process from which workspaces are forked.

The interpreter writes into code what it computes at first use, such as how it specialises each instruction. After a rehearsal, workspaces
share that; otherwise each writes it to pages of its own.
"""

import json
import os

from muster_workspace.channel import Channel
from muster_workspace.fields import Frame
from muster_workspace.places import open_base, remove
from muster_workspace.session import serve

# The interpreter specialises a function after eight calls.
_ROUNDS = 9
_DIRECTORY = "rehearsal"
_BOUNDS = {"files": 100, "bytes": 1 << 20}


def rehearse(base: str) -> None:
    """Rehearses all requests that come before an agent's first command, and its changes of files.

    No command is run, because its end would end this process's own children. `base` is a directory in which a file may be made; it stays
    empty, because the smallest workspace has room for one page. Raises RuntimeError when a request is refused.
    """
    asked = [frame for _ in range(_ROUNDS) for frame in _list_requests(f"{base}/{_DIRECTORY}")]
    source, sink = os.memfd_create("asked"), os.memfd_create("answered")
    directory = open_base(base)
    try:
        os.pwrite(source, b"".join(json.dumps(frame).encode() + b"\n" for frame in asked), 0)
        serve(Channel(source, sink), (base,), None)
        answered = [json.loads(line) for line in os.pread(sink, os.fstat(sink).st_size, 0).splitlines()]
    finally:
        remove(_DIRECTORY, directory)
        for descriptor in (source, sink, directory):
            os.close(descriptor)
    refused = [frame for frame in answered if frame["type"] == "refused"]
    if refused or len({frame["request"] for frame in answered[1:]}) != asked[-1]["request"]:
        raise RuntimeError(f"the rehearsal of a workspace was answered with {refused[:3] or 'too little'}")


def _list_requests(place: str) -> list[Frame]:
    path = f"{place}/file"
    return [
        {"type": "put", "request": 1, "path": path, "mode": 0o644, "first": True, "last": True, "data": ""},
        {"type": "arrange", "request": 2, "directories": [f"{place}/directory"], "links": [], "targets": []},
        {"type": "snapshot", "request": 3, "paths": [place], "baseline": True, **_BOUNDS},
        {"type": "input", "request": 4, "data": ""},
        {"type": "change", "request": 4, "paths": [path], "sizes": [0], "removed": []},
        {"type": "snapshot", "request": 5, "paths": [place], "baseline": False, **_BOUNDS},
        {"type": "list", "request": 6, "path": place, "depth": 2, "most": 10},
        {"type": "read", "request": 7, "path": path, "most": 1 << 20},
    ]
