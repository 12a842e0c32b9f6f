"""Fetches the crates that a Rust repository's tests need on this machine, and pins them.

Reads JSON from stdin: `target`, the directory for Cargo's home and for `Cargo.lock`, if the repository has none, and `environment`,
additional variables. Prints JSON: `pinned` and `problem`.
"""

import glob
import json
import os
import shutil
import sys
import tomllib
from typing import Any

from muster_preparation.gate import open_gate
from muster_preparation.installing import answer, run_manager

DEPENDENCIES = ("dependencies", "dev-dependencies", "build-dependencies", "target", "workspace")
DIRECTORIES = {"bin": "src/bin", "test": "tests", "bench": "benches", "example": "examples"}


def main() -> None:
    """Fetches the crates, and reports them. Cargo unpacks them when it needs them."""
    asked = json.load(sys.stdin)
    target = asked["target"]
    os.makedirs(target, exist_ok=True)
    place, needed = "/tmp/place", False
    for path in sorted(glob.glob("**/Cargo.toml", recursive=True)):
        with open(path, "rb") as file:
            manifest = tomllib.load(file)
        needed = needed or any(manifest.get(kind) for kind in DEPENDENCIES)
        for each in (path, *(os.path.join(os.path.dirname(path), name) for name in _list_targets(manifest))):
            os.makedirs(os.path.dirname(f"{place}/{each}"), exist_ok=True)
            with open(f"{place}/{each}", "a", encoding="utf-8"):
                pass
        shutil.copy(path, f"{place}/{path}")
    if not needed:
        answer([])
        return
    if os.path.isfile("Cargo.lock"):
        shutil.copy("Cargo.lock", place)
    home = f"{target}/.dependencies"
    environment = {**open_gate(), "CARGO_HOME": home, **asked["environment"]}
    problem = run_manager(["cargo", "fetch", "--quiet", "--target", f"{os.uname().machine}-unknown-linux-gnu"], environment, place)
    if problem is not None:
        answer([], problem)
        return
    shutil.rmtree(f"{home}/registry/src", ignore_errors=True)
    if not os.path.isfile("Cargo.lock"):
        shutil.copy(f"{place}/Cargo.lock", f"{target}/Cargo.lock")
    crates = glob.glob(f"{home}/registry/cache/*/*.crate")
    answer([os.path.basename(path).removesuffix(".crate") for path in crates])


def _list_targets(manifest: dict[str, Any]) -> list[str]:
    """Lists source files that must exist for Cargo to read the manifest. Their content has no effect on the crates that are fetched."""
    if "package" not in manifest:
        return []
    paths = [manifest.get("lib", {}).get("path"), manifest["package"].get("build")]
    for kind, directory in DIRECTORIES.items():
        paths += [each.get("path", f"{directory}/{each.get('name')}.rs") for each in manifest.get(kind, [])]
    plain = [os.path.normpath(path) for path in paths if isinstance(path, str)]
    return ["src/lib.rs", "build.rs", *(path for path in plain if not path.startswith(("/", "..")))]


if __name__ == "__main__":
    main()
