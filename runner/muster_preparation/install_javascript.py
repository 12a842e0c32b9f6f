"""Install what a JavaScript repository's tests need with npm, without any script of a package.

Reads JSON from stdin: `target`, where `node_modules` is made, and `environment`, more variables.
Prints JSON: `pinned` and `problem`.
"""

import json
import os
import shutil
import sys

from muster_preparation.gate import open_gate
from muster_preparation.installing import answer, run_manager

LOCKS = ("package-lock.json", "npm-shrinkwrap.json")
FLAGS = ["--ignore-scripts", "--no-bin-links", "--no-audit", "--no-fund", "--loglevel=error", "--cache=/tmp/npm"]


def main() -> None:
    """Install, and say what."""
    asked = json.load(sys.stdin)
    target = asked["target"]
    os.makedirs(target, exist_ok=True)
    with open("package.json", encoding="utf-8") as file:
        manifest = json.load(file)
    if not any(manifest.get(kind) for kind in ("dependencies", "devDependencies", "optionalDependencies")):
        answer([])
        return
    place = "/tmp/place"
    os.makedirs(place)
    kept = ("name", "version", "dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides")
    with open(f"{place}/package.json", "w", encoding="utf-8") as file:
        json.dump({key: manifest[key] for key in kept if key in manifest}, file)
    locks = [name for name in LOCKS if os.path.isfile(name)]
    for name in locks:
        shutil.copy(name, place)
    environment = {**open_gate(), **asked["environment"]}
    problem = run_manager(["npm", "ci" if locks else "install", *FLAGS], environment, place)
    if problem is not None:
        answer([], problem)
        return
    modules = f"{place}/node_modules"
    pinned = []
    if os.path.isfile(f"{modules}/.package-lock.json"):
        with open(f"{modules}/.package-lock.json", encoding="utf-8") as file:
            packages = json.load(file)["packages"]
        pinned = [f"{path.split('node_modules/')[-1]}@{entry.get('version', '')}" for path, entry in packages.items()]
        os.unlink(f"{modules}/.package-lock.json")
    if os.path.isdir(modules):
        shutil.move(modules, f"{target}/node_modules")
    answer(pinned)


if __name__ == "__main__":
    main()
