"""Gets the next piece while the last one is being used."""

import threading
from collections.abc import Generator
from contextlib import closing
from queue import SimpleQueue


def read_ahead(pieces: Generator[memoryview]) -> Generator[memoryview]:
    """The same pieces, each read in a thread of its own while the one before it is looked at.

    The thread is one piece ahead and no more, so the maker of the pieces needs two buffers for them, used in turn. It has ended when this
    iterator has, or was closed. Where no thread can be had, the pieces come as they would without it.

    What is left of it is address space, which the C library keeps for the memory of a further thread: 64 MiB, and twice that for a moment.
    Where address space is what a sandbox's memory is limited by, that is none to spare: it is for an image, which all sandboxes wait for.

    @raises whatever the pieces raise.
    """
    ready: SimpleQueue[memoryview | BaseException | None] = SimpleQueue()
    room = threading.Semaphore(0)
    is_over = False

    def read() -> None:
        try:
            with closing(pieces):
                for piece in pieces:
                    ready.put(piece)
                    room.acquire()
                    if is_over:
                        break
            ready.put(None)
        except BaseException as error:
            ready.put(error)

    thread = threading.Thread(target=read)
    try:
        thread.start()
    except RuntimeError:
        # There are as many processes as its limit allows.
        yield from pieces
        return
    try:
        while (piece := ready.get()) is not None:
            if isinstance(piece, BaseException):
                raise piece
            room.release()
            yield piece
    finally:
        is_over = True
        room.release()
        thread.join()
