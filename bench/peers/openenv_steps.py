"""Sends steps that do nothing to environments of OpenEnv's own server, one after the other on each connection. Prints steps a second as
JSON.
"""

import argparse
import asyncio
import json
import multiprocessing
import socket
import time
from typing import Any

import uvicorn
import websockets
from fastapi import FastAPI
from openenv.core.env_server.http_server import HTTPEnvServer
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State


class NoopAction(Action):
    """Does nothing."""


class NoopEnvironment(Environment):
    """Answers at once."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, *_: Any, **__: Any) -> Observation:
        return Observation(done=False, reward=None)

    def step(self, *_: Any, **__: Any) -> Observation:
        return Observation(done=False, reward=None)

    @property
    def state(self) -> State:
        return State()


def serve(port: int, sessions: int) -> None:
    app = FastAPI()
    HTTPEnvServer(NoopEnvironment, NoopAction, Observation, max_concurrent_envs=sessions).register_routes(app)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical")


async def play(port: int, sessions: int, seconds: float) -> float:
    connections = [await connect(port) for _ in range(sessions)]
    for connection in connections:
        await ask(connection, {"type": "reset", "data": {}})
    begun = time.monotonic()
    end = begun + seconds

    async def step(connection: Any) -> int:
        steps = 0
        while time.monotonic() < end:
            await ask(connection, {"type": "step", "data": {}})
            steps += 1
        return steps

    steps = sum(await asyncio.gather(*(step(connection) for connection in connections)))
    return steps / (time.monotonic() - begun)


async def connect(port: int) -> Any:
    """Connects, as soon as the server listens."""
    for _ in range(600):
        try:
            return await websockets.connect(f"ws://127.0.0.1:{port}/ws")
        except OSError:
            await asyncio.sleep(0.1)
    raise TimeoutError("the server did not listen within a minute")


async def ask(connection: Any, message: dict[str, Any]) -> None:
    await connection.send(json.dumps(message))
    answer = json.loads(await connection.recv())
    if answer["type"] != "observation":
        raise RuntimeError(f"expected an observation, got {answer}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5)
    given = parser.parse_args()
    at = free_port()
    server = multiprocessing.Process(target=serve, args=(at, given.sessions), daemon=True)
    server.start()
    try:
        rate = asyncio.run(play(at, given.sessions, given.seconds))
    finally:
        server.kill()
    print(json.dumps({"stepsPerSecond": rate, "episodesPerSecond": 0}))
