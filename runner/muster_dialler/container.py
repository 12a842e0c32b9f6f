"""The life of a container that dials back: it dials, runs the command that it receives, and waits for its end."""

import json
import os
import random
import signal
import ssl
import sys
import threading
import time
from dataclasses import replace
from typing import NoReturn

from muster_dialler.command import EXIT_NOT_FOUND, Command
from muster_dialler.connection import Connection, LostError, RefusedError, dial
from muster_dialler.messages import Channel, Order
from muster_dialler.reaper import Reaper
from muster_dialler.session import Session, await_order
from muster_dialler.settings import Settings, SettingsError, read_settings
from muster_runner.json_fields import FieldError
from muster_zygote.linux import make
from muster_zygote.privileges import hide_memory

EXIT_USAGE = 64
EXIT_REFUSED = 69
EXIT_LOST = 75
_EXIT_KILLED = 128 + signal.SIGKILL

# Seconds for which an address that does not answer is tried again. The network of a new pod may take a moment to work, and so may a Muster
# that many pods dial at once.
_DIAL_SECONDS = 60.0
# Seconds for which an address that refuses connections is tried again. A Kubernetes service takes a moment to route to a Muster that has
# just started. When a Muster is killed, its pods live on for this time.
_REFUSED_SECONDS = 15.0
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 3.0


def run() -> None:
    """Runs the container's life. Never returns: the container ends on request, when Muster is gone, or after a command that was killed.

    The command runs as the same user. It cannot read this process, which has the token, and cannot kill it, because it is the container's
    first process.
    """
    make(hide_memory())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    try:
        settings = read_settings(os.environ)
    except SettingsError as error:
        leave(EXIT_USAGE, str(error))
    _attend(settings, Reaper())
    while True:
        signal.pause()


def say(text: str) -> None:
    """Writes to the container's log. Kubernetes reports the last lines as the reason of the container's end."""
    print(f"muster-dialler: {text}", file=sys.stderr, flush=True)


def leave(code: int, text: str) -> NoReturn:
    """Ends the container and everything that runs in it."""
    say(text)
    os._exit(code)


def _attend(settings: Settings, reaper: Reaper) -> None:
    """Serves one connection, from dialling to its end."""
    connection = _dial_patiently(settings)
    try:
        order = await_order(connection)
    except (LostError, FieldError) as error:
        leave(EXIT_LOST, str(error))
    if order.next_token is not None:
        following = replace(settings, token=order.next_token)
        threading.Thread(target=_attend, args=(following, reaper), daemon=True).start()
    try:
        code = _serve(connection, order, reaper)
    except (LostError, FieldError) as error:
        # When further commands may follow, only this command is given up.
        if order.next_token is None:
            leave(EXIT_LOST, str(error))
        return
    finally:
        connection.close()
    if order.next_token is None and code == _EXIT_KILLED:
        # Kubernetes reports at the container's end whether the memory limit killed the command.
        leave(_EXIT_KILLED, "the program was killed")


def _serve(connection: Connection, order: Order, reaper: Reaper) -> int:
    try:
        command = Command(order.command, reaper)
    except OSError as error:
        connection.send(bytes((Channel.STATUS,)) + json.dumps({"failed": str(error)}).encode())
        connection.finish()
        connection.exchange((), (), 1)
        return EXIT_NOT_FOUND
    try:
        return Session(connection, command).run()
    finally:
        command.kill()
        command.close()


def _dial_patiently(settings: Settings) -> Connection:
    begin = time.monotonic()
    heard = begin
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            return dial(settings)
        except (RefusedError, ssl.SSLCertVerificationError) as error:
            leave(EXIT_REFUSED, f"Muster cannot be reached: {error}")
        except OSError as error:
            now = time.monotonic()
            if not isinstance(error, ConnectionRefusedError):
                heard = now
            if now - begin > _DIAL_SECONDS or now - heard > _REFUSED_SECONDS:
                leave(EXIT_REFUSED, f"Muster cannot be reached: {error}")
        # Random pauses keep containers that started together from dialling again together.
        time.sleep(pause * (0.5 + random.random()))
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
