"""Episodes that are played for no evaluation before sandboxes are forked."""

import gymnasium
import pytest

from muster_runner import rehearsal
from muster_runner.digest import compute_digest


def test_leaves_no_environment_registered_and_nothing_loaded(capfd: pytest.CaptureFixture[str]) -> None:
    before = set(gymnasium.registry)
    rehearsal.rehearse()
    assert set(gymnasium.registry) == before
    assert capfd.readouterr() == ("", "")


def test_says_what_went_otherwise_than_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object, **_keywords: object) -> None:
        raise ValueError("no such hand")

    monkeypatch.setattr(rehearsal.Corridor, "step", broken)
    with pytest.raises(RuntimeError, match=r"answered \['ready', 'loaded', 'begin', 'failed'\]"):
        rehearsal.rehearse()
    assert rehearsal.NAME not in gymnasium.registry


def test_goes_through_a_checkpoint_that_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "compute_digest", lambda path: compute_digest(path)[:-1] + "x")
    with pytest.raises(RuntimeError, match="the checkpoint's digest is"):
        rehearsal.rehearse()
