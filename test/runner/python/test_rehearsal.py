"""Episodes that are played for no evaluation before sandboxes are forked."""

import gymnasium
import pytest

from muster_runner import rehearsal
from muster_runner.digest import compute_digest


def test_a_rehearsal_leaves_no_environment_registered_and_nothing_loaded(capfd: pytest.CaptureFixture[str]) -> None:
    before = set(gymnasium.registry)
    rehearsal.rehearse()
    assert set(gymnasium.registry) == before
    assert capfd.readouterr() == ("", "")


def test_a_failed_rehearsal_reports_what_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object, **_keywords: object) -> None:
        raise ValueError("no such hand")

    monkeypatch.setattr(rehearsal.Corridor, "step", broken)
    with pytest.raises(RuntimeError, match=r"answered \['ready', 'loaded', 'begin', 'failed'\]"):
        rehearsal.rehearse()
    assert rehearsal.NAME not in gymnasium.registry


def test_a_rehearsal_verifies_its_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "compute_digest", lambda path: compute_digest(path)[:-1] + "x")
    with pytest.raises(RuntimeError, match="the checkpoint's digest is"):
        rehearsal.rehearse()
