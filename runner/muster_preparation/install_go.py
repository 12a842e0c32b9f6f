"""Downloads the modules that a Go repository's tests need, in the form of the module cache.

Reads JSON from stdin: `target`, the cache, and `environment`, additional variables. Prints JSON: `pinned` and `problem`.
"""

import json
import os
import shutil
import sys

from muster_preparation.gate import open_gate
from muster_preparation.installing import answer, run_manager

PATH = "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"


def main() -> None:
    """Downloads the modules, and reports them. Only the downloads are kept: Go unpacks them when it needs them."""
    asked = json.load(sys.stdin)
    target = asked["target"]
    os.makedirs(target, exist_ok=True)
    with open("go.mod", encoding="utf-8") as file:
        if "require" not in file.read():
            answer([])
            return
    os.environ["PATH"] = PATH
    settings = {"GOMODCACHE": "/tmp/modules", "GOCACHE": "/tmp/cache", "GOTOOLCHAIN": "local", "GOSUMDB": "off"}
    settings["GOFLAGS"] = "-modcacherw -mod=mod"
    problem = run_manager(["go", "mod", "download"], {**open_gate(), "PATH": PATH, **settings, **asked["environment"]}, os.getcwd())
    if problem is not None:
        answer([], problem)
        return
    downloads = "/tmp/modules/cache/download"
    pinned = []
    for directory, _, names in os.walk(downloads):
        module = os.path.relpath(directory, downloads).removesuffix("/@v")
        pinned += [f"{module}@{name.removesuffix('.zip')}" for name in names if name.endswith(".zip")]
        for name in names:
            if name.endswith((".lock", ".partial")):
                os.unlink(os.path.join(directory, name))
    if os.path.isdir(downloads):
        os.makedirs(f"{target}/cache", exist_ok=True)
        shutil.move(downloads, f"{target}/cache/download")
    answer(pinned)


if __name__ == "__main__":
    main()
