"""Imports the candidate's modules into the tests, as if they were installed there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from muster_boundary.remote import RemoteModule
from muster_boundary.trusted import Asker, CandidateGone


class _Loader(Loader):
    def __init__(self, tests: Asker) -> None:
        self._tests = tests

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = self._tests.ask("import", spec.name)
        if isinstance(module, RemoteModule):
            return module
        raise CandidateGone(f"the candidate's process gave no module for {spec.name}")

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: the module has been executed already."""


class CandidateFinder(MetaPathFinder):
    """Finds the candidate's modules and those in its packages, before installed modules of the same name."""

    def __init__(self, tests: Asker, modules: Sequence[str]) -> None:
        self._loader = _Loader(tests)
        self._tops = {module.split(".")[0] for module in modules}

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002
        """Takes every module for a package, because only the candidate knows which ones are."""
        if fullname.split(".")[0] not in self._tops:
            return None
        return ModuleSpec(fullname, self._loader, origin="the candidate", is_package=True)

    def install(self) -> None:
        """Has imports search here first."""
        sys.meta_path.insert(0, self)
