"""Learns that child processes have ended."""

import os
import resource
import signal
import socket
from collections.abc import Iterator

from muster_zygote.envelope import Message


def wake_on_child() -> socket.socket:
    """Returns a socket that becomes readable whenever a child has ended."""
    woken, waker = socket.socketpair()
    woken.setblocking(False)
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return woken


def reap_children() -> Iterator[tuple[int, int, resource.struct_rusage]]:
    """Reaps the children that have ended. Yields process id, status, and the resources that each has used."""
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status, usage


def build_end_message(sandbox: str, status: int, usage: resource.struct_rusage) -> Message:
    """Builds the message to Muster about the end of a sandbox's program."""
    seconds = usage.ru_utime + usage.ru_stime
    ended: Message = {"type": "ended", "sandbox": sandbox, "cpu_seconds": seconds, "peak_memory_bytes": usage.ru_maxrss * 1024}
    if os.WIFSIGNALED(status):
        return {**ended, "signal": os.WTERMSIG(status)}
    return {**ended, "code": os.WEXITSTATUS(status)}
