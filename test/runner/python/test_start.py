"""The runner's arguments."""

import pytest

from muster_runner.start import EXIT_USAGE, modules_to_import, start


@pytest.mark.parametrize(
    ("arguments", "modules"),
    [([], []), (["--import", "json"], ["json"]), (["--import", "json", "--import", "os.path"], ["json", "os.path"])],
)
def test_modules_are_imported_in_the_order_in_which_they_are_named(arguments: list[str], modules: list[str]) -> None:
    assert modules_to_import(arguments) == modules


@pytest.mark.parametrize("arguments", [["--help"], ["--import"], ["json"], ["--import", "json", "os"], ["--imports", "json"]])
def test_other_arguments_are_told_how_it_is_used(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert start(arguments) == EXIT_USAGE
    assert capsys.readouterr().err.startswith("usage: runner [--import MODULE]")
