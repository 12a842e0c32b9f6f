"""Playing a task on `muster serve` itself, with both clients."""

import asyncio
import os
import shutil
from collections.abc import Iterator

import pytest

from muster.trl import MusterEnvironment, environment_reward
from muster_client import AsyncClient, Client, Retry
from tests.real_server import REPOSITORY, RealServer

CAN_SERVE = "CI" in os.environ or ((REPOSITORY / "node_modules").exists() and shutil.which("bwrap") is not None)
pytestmark = pytest.mark.skipif(not CAN_SERVE, reason="no node_modules or no bubblewrap: see scripts/setup.mjs")

TASK = "fix-bug-in-sort-function"
SOLUTION = (REPOSITORY / "examples" / "code" / TASK / "solution" / "sorting.py").read_text()
PATIENT = Retry(patience_seconds=60)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with RealServer(tmp_path_factory.mktemp("muster")) as server:
        yield server


def test_an_episode_can_be_played_forked_compared_and_graded(server: RealServer) -> None:
    with Client(server.url, retry=PATIENT) as muster:
        episode = muster.arena.start(TASK, agent="sync")
        assert "sort_records" in episode.observation
        assert {"run", "submit"} <= {tool["name"] for tool in episode.tools}
        step = muster.arena.step(episode.id, 1, {"action": "write_file", "file": "sorting.py", "content": SOLUTION})
        assert (step.number, step.data["kind"], step.done) == (1, "written", False)
        # Sent again it is the same step.
        assert muster.arena.step(episode.id, 1, {"action": "write_file", "file": "sorting.py", "content": SOLUTION}) == step
        (fork,) = muster.arena.fork(episode.id, at=0, agent="branch")
        assert (fork.agent, fork.steps, fork.raw["origin"]) == ("branch", 0, {"episode": episode.id, "step": 0})
        diff = muster.arena.diff(episode.id)
        assert diff.changes == {"/app/sorting.py": "changed"}
        assert "+++ b/app/sorting.py" in diff.patch
        assert muster.arena.step(episode.id, 2, {"action": "submit"}).done
        assert muster.arena.cancel(fork.id).outcome == "void"
        reward = muster.arena.reward(episode.id)
        assert (reward.reward, reward.tests_passed, reward.total_tests) == (1.0, 12, 12)
        assert [found.id for found in muster.arena.list(agent="sync", state="closed", least_reward=1)] == [episode.id]


def test_environments_of_trl_have_actions_as_tools_and_are_graded_once_submitted_or_not(server: RealServer) -> None:
    with Client(server.url, retry=PATIENT) as muster:
        solved, idle = MusterEnvironment(muster), MusterEnvironment(muster)
        assert environment_reward([solved]) == [None]
        assert "sort_records" in solved.reset(task=TASK, prompt="whatever else a row has")
        idle.reset(task=TASK)
        assert "sorting.py" in solved.run("ls")
        solved.write_file("sorting.py", SOLUTION)
        assert solved.read_file("sorting.py").count(SOLUTION) == 1
        assert "exactly as it is in the file" in solved.edit_file("sorting.py", "no such text", "")
        solved.submit()
        with pytest.raises(ValueError, match="takes no more actions"):
            solved.run("ls")
        rewards = environment_reward([solved, idle])
        assert rewards[0] is not None and rewards[1] is not None and rewards[0] > rewards[1]
        assert environment_reward([solved, idle]) == rewards
        left = MusterEnvironment(muster, agent="left")
        left.reset(task=TASK)
        left.reset(task=TASK)
        assert [(each.state, each.outcome) for each in muster.arena.list(agent="left")] == [("open", None), ("closed", "void")]


def test_an_asyncio_client_continues_an_episode_after_the_server_was_killed(server: RealServer) -> None:
    async def play() -> None:
        async with AsyncClient(server.url, retry=PATIENT) as muster:
            episode = await muster.arena.start(TASK, agent="async")
            await muster.arena.step(episode.id, 1, {"action": "write_file", "file": "note", "content": "kept"})
            server.kill_and_start_anew()
            seen = await muster.arena.step(episode.id, 2, {"action": "run", "command": "cat note"})
            assert seen.data["stdout"]["text"] == "kept"
            assert seen.notice is not None
            (fork,) = await muster.arena.fork(episode.id)
            assert (fork.steps, (await muster.arena.get(fork.id)).state) == (2, "open")
            assert (await muster.arena.diff(episode.id, start=1)).changes == {}
            assert (await muster.arena.cancel(episode.id)).state == "closed"
            assert [found.id async for found in muster.arena.list(agent="async", state="open")] == [fork.id]

    asyncio.run(play())
