"""What an image has done before anything is forked from it."""

import pytest

from muster_runner import rehearsal
from muster_zygote import image


@pytest.mark.parametrize(("has_safetensors", "rehearsed"), [(True, ["rehearsed"]), (False, [])])
def test_an_interpreter_without_safetensors_does_without_the_rehearsal(
    has_safetensors: bool, rehearsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(rehearsal, "rehearse", lambda: seen.append("rehearsed"))
    monkeypatch.setattr(image, "find_spec", lambda name: object() if has_safetensors or name != "safetensors" else None)
    image.import_and_rehearse(("json", "muster_runner.session"))
    assert seen == rehearsed


def test_a_program_that_is_not_the_runner_is_not_rehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "rehearse", lambda: pytest.fail("it was rehearsed"))
    image.import_and_rehearse(("json",))
