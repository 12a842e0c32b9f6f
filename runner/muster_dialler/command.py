"""Runs a command with pipes as its standard streams. Reading and writing them never blocks this process."""

import fcntl
import os
import signal
import struct
import subprocess
import termios

from muster_dialler.messages import Channel
from muster_dialler.reaper import Reaper
from muster_dialler.settings import build_program_environment

# The exit code that reports a command that cannot be started, as in a shell.
EXIT_NOT_FOUND = 127


class Command:
    """The command runs as soon as the object exists."""

    def __init__(self, words: list[str], reaper: Reaper) -> None:
        """Starts the command. @raises OSError when there is no such program."""
        # Reaches end of file when the command has ended.
        self.ended, self._end = os.pipe()
        self.code: int | None = None
        self._child = reaper.start(lambda: _start(words), self._on_end)
        assert self._child.stdin is not None and self._child.stdout is not None and self._child.stderr is not None
        self.stdin = self._child.stdin.fileno()
        self.outputs = {Channel.STDOUT: self._child.stdout.fileno(), Channel.STDERR: self._child.stderr.fileno()}
        for descriptor in (self.stdin, *self.outputs.values()):
            os.set_blocking(descriptor, False)

    def kill(self) -> None:
        """Kills the command and what it started. A process that has left its process group ends with the container."""
        if self.code is None:
            os.killpg(self._child.pid, signal.SIGKILL)

    def close_input(self) -> None:
        if self._child.stdin is not None:
            self._child.stdin.close()

    def close(self) -> None:
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            if stream is not None:
                stream.close()
        os.close(self.ended)

    def _on_end(self, code: int) -> None:
        self.code = self._child.returncode = code
        os.close(self._end)


def count_unread(descriptor: int) -> int:
    """Returns the number of unread bytes in a pipe."""
    (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))
    return int(count)


def _start(words: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=build_program_environment(),
        # The command gets a session of its own, so that signals to its process group do not reach this process.
        start_new_session=True,
    )
