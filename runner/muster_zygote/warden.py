"""Keeps the sandboxes of one template: builds their walls, has images fork programs behind them, and reports their ends to Muster.

A sandbox has these states. *building*: its first process puts up the walls. *waiting*: the walls stand, its image is not ready yet.
*forked*: its image has the order to fork the program. A sandbox ends when its program ends, when Muster orders it, or when something fails.
Then the first process is killed, and the kernel kills all others with it. When the first process is gone and the image has reported how the
program ended, nothing is left. The warden reports the end to Muster, and forgets the sandbox.
"""

import contextlib
import os
import selectors
import signal
import socket

from muster_runner.json_fields import Object, as_choice, as_list, as_object, as_text
from muster_runner.shared_memory import share_memory
from muster_zygote.children import reap_children, wake_on_child
from muster_zygote.entrance import open_entrance
from muster_zygote.envelope import MAX_BYTES, Message, Outbox, close_all, fits, receive
from muster_zygote.image import Image
from muster_zygote.orders import Orders
from muster_zygote.records import TAKEN_AWAY, ImageLink, Sandbox, build_fork_message, correct_end
from muster_zygote.settings import Settings
from muster_zygote.site import STREAMS, open_site
from muster_zygote.walls import WallBuilder

BASE_IMAGE = ""


class Warden:
    def __init__(self, settings: Settings, orders: Orders) -> None:
        self._settings = settings
        self._orders = orders
        self._sandboxes: dict[str, Sandbox] = {}
        self._by_pid: dict[int, str] = {}
        self._images: dict[str, ImageLink] = {}
        self._selector = selectors.DefaultSelector()
        self._walls = WallBuilder(settings)

    def run(self) -> None:
        """Serves orders. Returns when Muster has closed the input."""
        channel = self._link(BASE_IMAGE)
        if os.fork() == 0:
            Image(channel, self._settings).prepare_base()
        channel.close()
        # If first processes are forks, the garbage collector would write to pages that they share, and so copy them.
        share_memory()
        woken = wake_on_child()
        self._selector.register(self._orders.descriptor, selectors.EVENT_READ, lambda: self._obey_all(self._orders.arrived()))
        self._selector.register(self._walls.descriptor, selectors.EVENT_READ, self._read_walls)
        self._selector.register(woken, selectors.EVENT_READ, lambda: woken.recv(4096))
        while not self._orders.ended:
            for key, events in self._selector.select():
                if isinstance(key.data, str):
                    self._converse(key.data, events)
                else:
                    key.data()
            self._reap()

    def _link(self, key: str) -> socket.socket:
        """Registers an image. @returns the image's end of its channel."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._images[key] = ImageLink(Outbox(ours))
        self._selector.register(ours, selectors.EVENT_READ, key)
        return theirs

    def _obey_all(self, orders: list[Object]) -> None:
        for order in orders:
            match as_choice(order["type"], "type", ("fork", "kill", "image", "retire")):
                case "fork":
                    self._build_ordered(order)
                case "kill":
                    self._kill(as_text(order["sandbox"], "sandbox"))
                case "image":
                    self._make_image(order)
                case "retire":
                    self._retire(as_text(order["image"], "image"))

    def _build_ordered(self, order: Object) -> None:
        """Carries out an order to build. An order for two joined sandboxes gives each one end of a socket pair."""
        if "beside" not in order:
            self._build(order, [])
            return
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        for each, end in zip((order, as_object(order["beside"], "beside")), ends, strict=True):
            self._build(each, [end.detach()])

    def _build(self, order: Object, lines: list[int]) -> None:
        """@param lines: the descriptor of the program's line to another program, if it has one. The sandbox owns it from here on."""
        name, image, token = (as_text(order[field], field) for field in ("sandbox", "image", "token"))
        command = [as_text(word, "command") for word in as_list(order["command"], "command")]
        if not fits(build_fork_message(name, command, bool(lines))):
            close_all(lines)
            self._orders.send({"type": "failed", "sandbox": name, "message": f"its command is too long: {MAX_BYTES} bytes are the limit"})
            return
        descriptors: list[int] = []
        try:
            descriptors = open_site(name, token, self._settings.cgroups)
            pid, serial = self._walls.start(name)
        except OSError as error:
            close_all([*descriptors, *lines])
            self._orders.send({"type": "failed", "sandbox": name, "message": str(error)})
            return
        descriptors[len(STREAMS) : len(STREAMS)] = lines
        if image in self._images:
            self._images[image].sandboxes += 1
        self._sandboxes[name] = Sandbox(name, image, command, pid, os.pidfd_open(pid), serial, descriptors, bool(lines))
        self._by_pid[pid] = name

    def _read_walls(self) -> None:
        for name, problem in self._walls.read_reports():
            sandbox = self._sandboxes[name]
            if sandbox.killed or sandbox.state != "building":
                continue
            image = self._images.get(sandbox.image)
            if problem is not None or image is None:
                self._end(sandbox, {"type": "failed", "message": problem or f"there is no image {sandbox.image!r}"})
            elif image.ready:
                self._fork_program(sandbox, image)
            else:
                sandbox.state = "waiting"
                image.waiting.append(sandbox.name)

    def _fork_program(self, sandbox: Sandbox, image: ImageLink) -> None:
        try:
            entrance = open_entrance(sandbox.pid, self._settings)
        except OSError as error:
            self._end(sandbox, correct_end(sandbox, {"type": "failed", "message": str(error)}))
            return
        sandbox.state, sandbox.occupied = "forked", True
        descriptors, sandbox.descriptors = sandbox.descriptors, []
        image.outbox.put(build_fork_message(sandbox.name, sandbox.command, sandbox.has_line), [*entrance, *descriptors])
        self._flush(sandbox.image, image)

    def _flush(self, key: str, image: ImageLink) -> None:
        """Sends as much as the channel takes, and waits for it to take the rest."""
        events = selectors.EVENT_READ
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            # A failed flush is ignored: reading the channel shows that the image is gone.
            if not image.outbox.flush():
                events |= selectors.EVENT_WRITE
        self._selector.modify(image.outbox.channel, events, key)
        self._drop_if_idle(key, image)

    def _converse(self, key: str, events: int) -> None:
        image = self._images[key]
        if events & selectors.EVENT_WRITE:
            self._flush(key, image)
        if not events & selectors.EVENT_READ:
            return
        received = receive(image.outbox.channel)
        if received is None:
            self._lose_image(key, "it ended")
            return
        message, _descriptors = received
        match message["type"]:
            case "ready":
                self._on_image_ready(key, image, message["policies"])
            case "unfit":
                self._lose_image(key, message["message"], message["lasting"])
            case "started":
                self._orders.send(message)
            case "failed":
                self._end(self._sandboxes[message["sandbox"]], message)
            case "ended" | "unforked":
                sandbox = self._sandboxes[message["sandbox"]]
                sandbox.occupied = False
                self._end(sandbox, correct_end(sandbox, message))
                self._forget_if_gone(sandbox)

    def _on_image_ready(self, key: str, image: ImageLink, policies: list[Message]) -> None:
        image.ready = True
        self._orders.send({"type": "image-ready", "image": key, "policies": policies})
        waiting, image.waiting = image.waiting, []
        for name in waiting:
            sandbox = self._sandboxes.get(name)
            if sandbox is not None and not sandbox.killed:
                self._fork_program(sandbox, image)

    def _lose_image(self, key: str, problem: str, lasting: bool = False) -> None:
        """Ends the image's programs with it, because only the image could report how they end."""
        image = self._images.pop(key)
        self._selector.unregister(image.outbox.channel)
        image.outbox.close()
        self._orders.send({"type": "image-lost", "image": key, "message": problem, "lasting": lasting})
        for sandbox in list(self._sandboxes.values()):
            if sandbox.image == key:
                sandbox.occupied = False
                self._end(sandbox, {"type": "lost", "message": f"its zygote has ended: {problem}"})
                self._forget_if_gone(sandbox)

    def _make_image(self, order: Object) -> None:
        """Has the parent image fork another image, after all orders that the parent got before."""
        key, parent_key = as_text(order["image"], "image"), as_text(order["parent"], "parent")
        parent = self._images.get(parent_key)
        if parent is None:
            self._orders.send({"type": "image-lost", "image": key, "message": "its parent image has ended"})
            return
        work = {"policies": as_list(order["policies"], "policies"), "code": as_list(order["code"], "code")}
        parent.outbox.put({"type": "fork-image", **work}, [self._link(key).detach()])
        self._flush(parent_key, parent)

    def _retire(self, key: str) -> None:
        image = self._images.get(key)
        if image is not None:
            image.retired = True
            self._drop_if_idle(key, image)

    def _drop_if_idle(self, key: str, image: ImageLink) -> None:
        if image.retired and image.sandboxes == 0 and image.outbox.is_empty:
            self._lose_image(key, "it is not needed any more")

    def _kill(self, name: str) -> None:
        sandbox = self._sandboxes.get(name)
        if sandbox is not None:
            self._end(sandbox, {"type": "ended", "signal": int(signal.SIGKILL)})

    def _end(self, sandbox: Sandbox, end: Message) -> None:
        """Reports the first reason for the end, with the resources that the program has used."""
        sandbox.end = {**end, **(sandbox.end or {})}
        if sandbox.killed:
            return
        sandbox.killed = True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(sandbox.pidfd, signal.SIGKILL)

    def _reap(self) -> None:
        for pid, _status, _usage in reap_children():
            name = self._by_pid.pop(pid, None)
            if name is not None:
                sandbox = self._sandboxes[name]
                sandbox.walls_gone = True
                if sandbox.state == "building":
                    # It may have reported the reason before it ended.
                    self._read_walls()
                self._end(sandbox, TAKEN_AWAY)
                self._forget_if_gone(sandbox)

    def _forget_if_gone(self, sandbox: Sandbox) -> None:
        if sandbox.occupied or not sandbox.walls_gone:
            return
        del self._sandboxes[sandbox.name]
        self._walls.forget(sandbox.serial)
        close_all([sandbox.pidfd, *sandbox.descriptors])
        self._orders.send({**(sandbox.end or {}), "sandbox": sandbox.name})
        image = self._images.get(sandbox.image)
        if image is not None:
            image.sandboxes -= 1
            self._drop_if_idle(sandbox.image, image)
