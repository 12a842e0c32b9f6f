"""The runner's arguments."""

import pytest

from muster_runner.exit_codes import EXIT_USAGE
from muster_runner.start import Arguments, parse_arguments, start


@pytest.mark.parametrize(
    ("arguments", "modules"),
    [([], []), (["--import", "json"], ["json"]), (["--import", "json", "--import", "os.path"], ["json", "os.path"])],
)
def test_modules_are_imported_in_the_order_in_which_they_are_named(arguments: list[str], modules: list[str]) -> None:
    assert parse_arguments(arguments) == Arguments(modules)


def test_a_program_receives_the_descriptor_of_its_line_to_the_other_program() -> None:
    assert parse_arguments(["--import", "json", "--policy-line", "3"]) == Arguments(["json"], policy_line=3)
    assert parse_arguments(["--serve-policy", "4"]) == Arguments([], serve_policy=4)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--import"],
        ["json"],
        ["--import", "json", "os"],
        ["--imports", "json"],
        ["--policy-line", "three"],
        ["--policy-line", "3", "--serve-policy", "4"],
    ],
)
def test_wrong_arguments_print_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert start(arguments) == EXIT_USAGE
    assert capsys.readouterr().err.startswith("usage: runner [--import MODULE]")
