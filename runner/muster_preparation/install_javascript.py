"""Installs what a JavaScript repository's tests need with npm, without running any script of a package.

Reads JSON from stdin: `target`, in which `node_modules` is made, and `environment`, additional variables. Prints JSON: `pinned` and
`problem`.
"""

import json
import os
import re
import shutil
import sys

from muster_preparation.gate import open_gate
from muster_preparation.installing import answer, run_manager

LOCKS = ("package-lock.json", "npm-shrinkwrap.json")
# Tools that analyse code, build releases or help to commit. Tests do not use them. With their dependencies they are most of an
# installation.
TOOLS = re.compile(
    r"@babel/cli$|(@[\w-]+/)?(eslint|neostandard|standard$|tsd$|tstyche|prettier|stylelint|typedoc|husky|lint-staged|commitlint|changelog|standard-version|release-it|semantic-release|np$|tsup|"
    r"unbuild|rollup|webpack|microbundle|size-limit|bundlesize|benchmark|mitata|tinybench|cross-env|rimraf|automd|oxlint|oxfmt|biome|xo$|nyc$|c8$)"
)
FLAGS = ["--ignore-scripts", "--no-bin-links", "--no-audit", "--no-fund", "--loglevel=error", "--cache=/tmp/npm"]


def main() -> None:
    """Installs the packages, and reports them."""
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
    developed = manifest.get("devDependencies") or {}
    manifest["devDependencies"] = {name: version for name, version in developed.items() if not TOOLS.match(name)}
    with open(f"{place}/package.json", "w", encoding="utf-8") as file:
        json.dump({key: manifest[key] for key in kept if key in manifest}, file)
    locks = [name for name in LOCKS if os.path.isfile(name)]
    for name in locks:
        shutil.copy(name, place)
    environment = {**open_gate(), **asked["environment"]}
    problem = run_manager(["npm", "install", *FLAGS], environment, place)
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
    for directory, _, names in os.walk(modules):
        for name in names:
            if name.endswith((".map", ".md")):
                os.unlink(os.path.join(directory, name))
    if os.path.isdir(modules):
        shutil.move(modules, f"{target}/node_modules")
    answer(pinned)


if __name__ == "__main__":
    main()
