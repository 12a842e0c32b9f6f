"""Requests that are answered before workspaces are forked."""

from pathlib import Path

import pytest

from muster_workspace import files, rehearsal, session


def test_answers_every_request_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").write_text("kept")
    # No byte may be written to a file: the smallest workspace has no room for two of them.
    monkeypatch.setattr(files.Incoming, "_write", lambda _self, data: written.append(data))
    written: list[bytes] = []
    rehearsal.rehearse(str(tmp_path))
    assert [each.name for each in tmp_path.iterdir()] == ["other"]
    assert set(written) == {b""}


def test_says_what_was_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(28, "no space left", "file")

    monkeypatch.setattr(session.Incoming, "put", full)
    with pytest.raises(RuntimeError, match="no space left"):
        rehearsal.rehearse(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
