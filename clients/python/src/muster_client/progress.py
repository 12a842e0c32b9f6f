"""Shows the progress of an evaluation."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Literal

from tqdm.auto import tqdm

from muster_client.errors import InvalidArgument
from muster_client.evaluation import Event, Running

Progress = Literal["auto", "bar", "off"] | Callable[[Running], None]
"""`auto` shows a bar in terminals and notebooks, and nothing elsewhere. A function gets the figures as they arrive."""

Watch = Callable[[Event], None]


def watching(progress: Progress, name: str) -> AbstractContextManager[Watch]:
    """Returns a context manager whose function takes events as they arrive."""
    if callable(progress):
        return nullcontext(_make_watch(progress))
    if progress not in ("auto", "bar", "off"):
        raise InvalidArgument(f'progress: expected "auto", "bar", "off" or a function, got {progress!r}')
    if progress == "bar" or (progress == "auto" and (sys.stderr.isatty() or _is_notebook())):
        return _bar(name)
    return nullcontext(lambda _event: None)


def line(running: Running) -> str:
    """Formats the figures beside the bar: `mean 241.9 ± 10 (to 5)`."""
    if running.kind == "comparison":
        decided = [candidate.get("verdict") for candidate in running.raw.get("candidates", []) if candidate.get("verdict")]
        return f"{len(decided)} of {len(running.raw.get('candidates', []))} decided"
    if running.mean is None:
        return ""
    width = "" if running.half_width is None else f" ± {running.half_width:.3g}"
    target = "" if running.target is None else f" (to {running.target:.3g})"
    return f"mean {running.mean:.4g}{width}{target}"


def _make_watch(take: Callable[[Running], None]) -> Watch:
    def watch(event: Event) -> None:
        if (running := event.running) is not None:
            take(running)

    return watch


@contextmanager
def _bar(name: str) -> Iterator[Watch]:
    with tqdm(desc=name, unit="ep", dynamic_ncols=True) as bar:

        def show(running: Running) -> None:
            left = running.seconds_left
            bar.total = None if left is None else running.episodes + round(left * running.episodes_per_second)
            bar.n = running.episodes
            bar.set_postfix_str(line(running))

        yield _make_watch(show)
        bar.total = bar.n


def _is_notebook() -> bool:
    shell = sys.modules.get("IPython")
    get_ipython = getattr(shell, "get_ipython", None)
    return type(get_ipython()).__name__ == "ZMQInteractiveShell" if get_ipython else False
