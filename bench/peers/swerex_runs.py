"""Runs `true` in sessions of SWE-ReX's local runtime, one after the other in each. Prints runs a second as JSON."""

import argparse
import asyncio
import json
import time

from swerex.runtime.abstract import BashAction, CreateBashSessionRequest
from swerex.runtime.local import LocalRuntime

# The default of one second is too short on a machine that also has a hundred workspaces.
_START_SECONDS = 60


async def main(sessions: int, seconds: float) -> None:
    runtime = LocalRuntime()
    names = [f"session-{i}" for i in range(sessions)]
    for name in names:
        await runtime.create_session(CreateBashSessionRequest(session=name, startup_timeout=_START_SECONDS))
    end = time.monotonic() + seconds

    async def play(name: str) -> int:
        runs = 0
        while time.monotonic() < end:
            await runtime.run_in_session(BashAction(session=name, command="true"))
            runs += 1
        return runs

    begun = time.monotonic()
    runs = sum(await asyncio.gather(*(play(name) for name in names)))
    elapsed = time.monotonic() - begun
    await runtime.close()
    print(json.dumps({"stepsPerSecond": runs / elapsed, "episodesPerSecond": 0}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5)
    given = parser.parse_args()
    asyncio.run(main(given.sessions, given.seconds))
