"""A resources server of NeMo Gym: its sessions are episodes of the server's arena, its tools the arena's, its rewards Muster's verdicts.

    # app.py, the entry point of the resources server
    from muster.nemo_gym import MusterResourcesServer
    if __name__ == "__main__":
        MusterResourcesServer.run_webserver()

    # rows of the dataset, for an agent of NeMo Gym
    with Client() as client:
        for row in make_rows(client, ["fix-bug-in-sort-function"], agent="muster_simple_agent"): …

MUSTER_URL and MUSTER_TOKEN name the server. A session is in the process that began it, so the server has one worker. A session that an
agent has left is given up when nothing was asked of it for `idle_seconds`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseSeedSessionRequest,
    BaseSeedSessionResponse,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.server_utils import SESSION_ID_KEY
from pydantic import ConfigDict, Field, PrivateAttr

from muster.task_play import NoVerdict, TaskPlay, describe_tasks
from muster_client import AsyncClient, Client
from muster_client.arguments import suggests_keywords

_AGENT = "nemo-gym"


class MusterSeedRequest(BaseSeedSessionRequest):
    model_config = ConfigDict(extra="allow")
    task: str


class MusterVerifyRequest(BaseVerifyRequest):
    model_config = ConfigDict(extra="allow")


class MusterVerifyResponse(BaseVerifyResponse):
    model_config = ConfigDict(extra="allow")


class MusterResourcesServerConfig(BaseResourcesServerConfig):
    most_sessions: int = Field(10_000, ge=1)
    """The largest number of open sessions."""
    idle_seconds: float = Field(7200, gt=0)
    """Seconds without a request after which a session counts as idle. A model must answer in less."""


@dataclass(slots=True)
class _Session:
    play: TaskPlay
    used: float


class MusterResourcesServer(SimpleResourcesServer):
    config: MusterResourcesServerConfig
    _sessions: dict[str, _Session] = PrivateAttr(default_factory=dict)
    _beginning: int = PrivateAttr(default=0)
    _clock: Callable[[], float] = PrivateAttr(default=time.monotonic)
    """Returns seconds."""

    def setup_webserver(self) -> FastAPI:
        app = super().setup_webserver()
        # These routes follow those of NeMo Gym itself. Any other path names a tool.
        app.post("/{tool}")(self.call_tool)
        return app

    async def seed_session(self, body: MusterSeedRequest, request: Request) -> BaseSeedSessionResponse:
        """Begins an episode. Answers 503 when there are `most_sessions`, none of which has been idle for long enough."""
        name = request.session[SESSION_ID_KEY]
        async with AsyncClient() as client:
            await self._give_up(client, name)
            most = self.config.most_sessions
            if len(self._sessions) + self._beginning >= most:
                raise HTTPException(503, f"there are {most} sessions; end some with POST /verify, or raise most_sessions of the server")
            self._beginning += 1
            try:
                play, _ = await TaskPlay.begin(client, body.task, agent=_AGENT)
            finally:
                self._beginning -= 1
            self._sessions[name] = _Session(play, self._clock())
        return BaseSeedSessionResponse()

    async def call_tool(self, tool: str, request: Request) -> Response:
        """Answers with the text that the model reads."""
        play, arguments = self._find(request), (await request.body()).decode()
        async with AsyncClient() as client:
            return Response(await play.through(client).call(tool, arguments), media_type="text/plain")

    async def verify(self, body: MusterVerifyRequest, request: Request) -> MusterVerifyResponse:
        """Grades the episode. Answers 503 when there is no verdict: the episode then has no reward, which must not count as 0."""
        play = self._find(request)
        try:
            async with AsyncClient() as client:
                reward = await play.through(client).grade()
        except NoVerdict as error:
            self._sessions.pop(request.session[SESSION_ID_KEY], None)
            raise HTTPException(503, str(error)) from error
        self._sessions.pop(request.session[SESSION_ID_KEY], None)
        return MusterVerifyResponse(**body.model_dump(), reward=reward, episode=play.episode)

    def _find(self, request: Request) -> TaskPlay:
        session = self._sessions.get(request.session[SESSION_ID_KEY])
        if session is None:
            raise HTTPException(409, "this session has no episode, or was idle for too long; POST /seed_session with a task begins one")
        session.used = self._clock()
        return session.play

    async def _give_up(self, client: AsyncClient, name: str) -> None:
        """Ends the workspaces of the session's episode, and of idle sessions."""
        oldest = self._clock() - self.config.idle_seconds
        left = [each for each, session in self._sessions.items() if session.used <= oldest or each == name]
        for session in [self._sessions.pop(each) for each in left]:
            await client.arena.cancel(session.play.episode)


@suggests_keywords
def make_rows(client: Client, tasks: list[str], agent: str) -> list[dict[str, Any]]:
    """Builds a row of the dataset for each task. @param agent: the name of the agent of NeMo Gym that acts. Raises as the client does."""
    return [
        {
            "responses_create_params": {
                "input": [{"role": "user", "content": described.instruction}],
                "tools": [{"type": "function", "strict": False, **tool["function"]} for tool in described.tools],
            },
            "agent_ref": {"type": "responses_api_agents", "name": agent},
            "task": described.task,
        }
        for described in describe_tasks(client, tasks, agent=_AGENT)
    ]
