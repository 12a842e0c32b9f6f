"""How an exception is told to a person."""

import traceback
from pathlib import Path

from muster_runner.frames import shorten

OWN_FILES = Path(__file__).parent


def describe(error: BaseException) -> str:
    """One line with what was raised, then where; frames of the runner itself are left out."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not Path(frame.filename).is_relative_to(OWN_FILES)]
    summary = traceback.format_exception_only(error)[-1].strip()
    place = "".join(traceback.format_list(frames)).rstrip()
    return shorten(f"{summary}\n{place}" if place else summary)
