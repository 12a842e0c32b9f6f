"""The one way out of a simulated container: a port of its loopback leads to a socket of the node. Then becomes the container's command."""

import os
import socket
import sys
import threading

_PIECE_BYTES = 1 << 16


def pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(_PIECE_BYTES):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # One end that breaks takes the other with it.
        for end in (source, target):
            end.close()


def serve(listener: socket.socket, path: str) -> None:
    while True:
        inside, _ = listener.accept()
        outside = socket.socket(socket.AF_UNIX)
        outside.connect(path)
        for ends in ((inside, outside), (outside, inside)):
            threading.Thread(target=pump, args=ends, daemon=True).start()


if __name__ == "__main__":
    port, path, *command = sys.argv[1:]
    if port == "serve":
        serve(socket.socket(fileno=int(command[0])), path)
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    if os.fork() == 0:
        # The container's environment is not for every program in it to read.
        listener.set_inheritable(True)
        words = [sys.executable, "-I", "-S", __file__, "serve", path, str(listener.fileno())]
        os.execve(sys.executable, words, {})
    os.execvp(command[0], command)
