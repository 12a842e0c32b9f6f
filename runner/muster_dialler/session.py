"""Carries one command over one connection. Neither side sends more of a stream than the other has granted, so buffers are bounded."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress

from muster_dialler.command import Command, count_unread
from muster_dialler.connection import Connection, LostError
from muster_dialler.messages import Channel, Order, credit_message, parse_credit, parse_order
from muster_runner.json_fields import FieldError

# Bytes of input that Muster may send before they are written to the command.
_WINDOW_BYTES = 1 << 19
_PIECE_BYTES = 1 << 15
# While more bytes than this are unsent, no output is read.
_UNSENT_MAX_BYTES = 1 << 17
# Muster pings every five seconds. After this many seconds of silence the connection counts as lost.
_SILENCE_SECONDS = 60.0
# Seconds between the exit status and the end of the connection.
_FAREWELL_SECONDS = 10.0


def await_order(connection: Connection) -> Order:
    """Waits for the command that this connection is for. @raises LostError, FieldError"""
    while True:
        for message in connection.messages():
            return parse_order(message)
        connection.exchange((), (), _SILENCE_SECONDS)


class Session:
    """The streams of a command, and its exit status."""

    def __init__(self, connection: Connection, command: Command) -> None:
        self._connection = connection
        self._command = command
        self._input = bytearray()
        self._is_input_ending = False
        self._is_input_open = True
        # Bytes that Muster may still send, and bytes that were written to the command since the last credit.
        self._window = _WINDOW_BYTES
        self._taken = 0
        # Bytes of each stream that may still be sent.
        self._credit = {Channel.STDOUT: 0, Channel.STDERR: 0}
        # For each unfinished stream: None while the command runs, then the number of bytes that are still sent.
        self._open: dict[Channel, int | None] = {Channel.STDOUT: None, Channel.STDERR: None}
        self._has_ended = False

    def run(self) -> int:
        """Serves the command. @returns its exit code, when Muster has received it. @raises LostError, FieldError"""
        self._connection.send(credit_message(Channel.STDIN, _WINDOW_BYTES))
        while not self._has_ended or self._open:
            for message in self._connection.messages():
                self._take(message)
            self._write_input()
            for channel in tuple(self._open):
                self._read_output(channel)
            if not self._has_ended and self._command.code is not None:
                self._on_end()
            elif not self._has_ended or self._open:
                self._connection.exchange(self._list_readable(), self._list_writable(), _SILENCE_SECONDS)
        return self._end()

    def _list_readable(self) -> Iterator[int]:
        if not self._has_ended:
            yield self._command.ended
        for channel in self._open:
            if self._measure_room(channel) > 0:
                yield self._command.outputs[channel]

    def _list_writable(self) -> Iterator[int]:
        if self._input and self._is_input_open:
            yield self._command.stdin

    def _take(self, message: bytes) -> None:
        channel, payload = message[0], message[1:]
        if channel == Channel.STDIN:
            self._window -= len(payload)
            if self._window < 0:
                raise FieldError("more input than was requested")
            self._input += payload
        elif channel == Channel.CREDIT:
            stream, count = parse_credit(payload)
            if stream not in self._credit:
                raise FieldError(f"credit for stream {stream}")
            self._credit[Channel(stream)] += count
        elif channel == Channel.CLOSE:
            self._is_input_ending = True
        else:
            raise FieldError(f"a message of the unknown kind {channel}")

    def _write_input(self) -> None:
        if self._input and self._is_input_open:
            try:
                self._on_input_written(os.write(self._command.stdin, self._input[:_WINDOW_BYTES]))
            except BlockingIOError:
                pass
            except BrokenPipeError:
                self._close_input()
        if not self._is_input_open:
            # The program has closed its input, which must not hold up its output.
            self._on_input_written(len(self._input))
        elif self._is_input_ending and not self._input:
            self._close_input()

    def _on_input_written(self, count: int) -> None:
        del self._input[:count]
        self._taken += count
        if self._taken < _WINDOW_BYTES // 2:
            return
        self._connection.send(credit_message(Channel.STDIN, self._taken))
        self._window += self._taken
        self._taken = 0

    def _close_input(self) -> None:
        self._is_input_open = False
        self._command.close_input()

    def _measure_room(self, channel: Channel) -> int:
        if self._connection.unsent >= _UNSENT_MAX_BYTES:
            return 0
        wanted = self._open[channel]
        most = min(self._credit[channel], _PIECE_BYTES)
        return most if wanted is None else min(most, wanted)

    def _read_output(self, channel: Channel) -> None:
        room = self._measure_room(channel)
        if room > 0:
            with suppress(BlockingIOError):
                data = os.read(self._command.outputs[channel], room)
                if not data:
                    del self._open[channel]
                    return
                self._connection.send(bytes((channel,)) + data)
                self._credit[channel] -= len(data)
                self._count(channel, len(data))
        if self._open[channel] == 0:
            del self._open[channel]

    def _count(self, channel: Channel, length: int) -> None:
        wanted = self._open[channel]
        if wanted is not None:
            self._open[channel] = wanted - length

    def _on_end(self) -> None:
        """Limits the output to what is in the pipes now. Later output belongs to another process, which may never end."""
        self._has_ended = True
        for channel in self._open:
            self._open[channel] = count_unread(self._command.outputs[channel])

    def _end(self) -> int:
        code = self._command.code
        assert code is not None
        self._connection.send(bytes((Channel.STATUS,)) + json.dumps({"exited": code}).encode())
        self._connection.finish()
        with suppress(LostError):
            while True:
                self._connection.exchange((), (), _FAREWELL_SECONDS)
        return code
