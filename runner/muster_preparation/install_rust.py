"""Fetch the crates that a Rust repository's tests need, and pin them.

Reads JSON from stdin: `target`, below which Cargo's home and, where there is none, `Cargo.lock` are put, and `environment`, more
variables. Prints JSON: `pinned` and `problem`.
"""

import json
import os
import shutil
import sys
import tomllib
from typing import Any

from muster_preparation.gate import open_gate
from muster_preparation.installing import answer, run_manager


def main() -> None:
    """Vendor the crates, and say which."""
    asked = json.load(sys.stdin)
    target = asked["target"]
    os.makedirs(target, exist_ok=True)
    with open("Cargo.toml", "rb") as file:
        manifest = tomllib.load(file)
    needed = any(manifest.get(kind) for kind in ("dependencies", "dev-dependencies", "build-dependencies", "target"))
    if not needed:
        answer([])
        return
    place = "/tmp/place"
    for path in _targets(manifest):
        os.makedirs(os.path.dirname(f"{place}/{path}"), exist_ok=True)
        with open(f"{place}/{path}", "w", encoding="utf-8"):
            pass
    for name in ("Cargo.toml", "Cargo.lock"):
        if os.path.isfile(name):
            shutil.copy(name, place)
    home = f"{target}/.dependencies"
    environment = {**open_gate(), "CARGO_HOME": "/tmp/cargo", **asked["environment"]}
    problem = run_manager(["cargo", "vendor", "--quiet", f"{home}/vendor"], environment, place)
    if problem is not None:
        answer([], problem)
        return
    with open(f"{home}/config.toml", "w", encoding="utf-8") as file:
        file.write('[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = ".dependencies/vendor"\n')
    if not os.path.isfile("Cargo.lock"):
        shutil.copy(f"{place}/Cargo.lock", f"{target}/Cargo.lock")
    with open(f"{place}/Cargo.lock", "rb") as file:
        packages = tomllib.load(file).get("package", [])
    answer([f"{each['name']}@{each['version']}" for each in packages if "source" in each])


def _targets(manifest: dict[str, Any]) -> list[str]:
    """Files that have to be there for the manifest to be read; what is in them has no part in what is fetched."""
    named = [manifest.get("lib", {}), *(each for kind in ("bin", "test", "bench", "example") for each in manifest.get(kind, []))]
    paths = [each["path"] for each in named if isinstance(each.get("path"), str)]
    plain = [os.path.normpath(path) for path in paths]
    return ["src/lib.rs", "build.rs", *(path for path in plain if not path.startswith(("/", "..")))]


if __name__ == "__main__":
    main()
