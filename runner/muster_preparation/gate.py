"""Gives package managers in a sandbox their way out: relays a local port to the gate in front of the registries."""

import os
import socket
import threading

GATE = "/muster/registries/gate.sock"
PORT = 8118


def open_gate() -> dict[str, str]:
    """Starts to listen, and returns the environment variables that lead package managers to the port."""
    listener = socket.create_server(("127.0.0.1", PORT))
    threading.Thread(target=_forward, args=(listener,), daemon=True).start()
    proxy = f"http://127.0.0.1:{PORT}"
    names = ("HTTPS_PROXY", "https_proxy", "npm_config_https_proxy", "CARGO_HTTP_PROXY")
    return {**os.environ, **dict.fromkeys(names, proxy), "HOME": "/tmp"}


def _forward(listener: socket.socket) -> None:
    while True:
        near, _ = listener.accept()
        far = socket.socket(socket.AF_UNIX)
        far.connect(GATE)
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=_carry, args=(source, target), daemon=True).start()


def _carry(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
