"""A taskset of verifiers (v1): tasks of the server's arena, whose tools any harness with MCP calls, and Muster's verdicts as rewards.

    # my_tasks.py, anywhere that verifiers finds it: `vf-eval my-tasks --env.taskset.tasks '["fix-bug-in-sort-function"]' …`
    from muster.verifiers import MusterTaskset
    __all__ = ["MusterTaskset"]

MUSTER_URL and MUSTER_TOKEN name the server.
"""

from collections.abc import Iterator
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, TextContent, Tool
from pydantic import Field
from verifiers.v1.mcp import SharedToolsetConfig, Toolset
from verifiers.v1.runtimes import Runtime
from verifiers.v1.state import State
from verifiers.v1.task import Task, TaskConfig, TaskData
from verifiers.v1.taskset import Taskset, TasksetConfig
from verifiers.v1.trace import Trace
from verifiers.v1.utils.decorators import reward

from muster.task_play import TaskPlay, describe_tasks
from muster_client import AsyncClient, Client

_AGENT = "verifiers"


class MusterTasksetConfig(TasksetConfig):
    tasks: list[str]
    """Names of tasks of the server's arena."""
    tools: SharedToolsetConfig = SharedToolsetConfig()


class MusterTaskData(TaskData):
    task: str


class MusterState(State):
    """The state of one rollout, which its task and the server of its tools share."""

    episode: str = ""
    steps: int = 0
    is_over: bool = False
    tools: list[dict[str, Any]] = Field(default_factory=list)

    def play(self, client: AsyncClient) -> TaskPlay:
        return TaskPlay(client, self.episode, self.steps, self.is_over)


class MusterToolset(Toolset[SharedToolsetConfig, MusterState]):
    """The actions of the arena and the tools of the task, by their own names."""

    TOOL_PREFIX = None

    def register(self, mcp: MCPServer) -> None:
        # The protocol's handlers call these methods, because the tools differ from rollout to rollout.
        server: Any = mcp
        server.list_tools = self._with_state(self.list_tools)
        server.call_tool = self._with_state(self.call_tool)

    async def list_tools(self) -> list[Tool]:
        return [Tool(name=tool["name"], description=tool["description"], input_schema=tool["parameters"]) for tool in self.state.tools]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context | None = None) -> CallToolResult:  # noqa: ARG002
        async with AsyncClient() as client:
            play = self.state.play(client)
            said = await play.call(name, arguments)
            self.state.steps, self.state.is_over = play.steps, play.is_over
        return CallToolResult(content=[TextContent(type="text", text=said)])


class MusterTask(Task[MusterTaskData, MusterState, TaskConfig]):
    async def setup(self, trace: Trace, runtime: Runtime) -> None:  # noqa: ARG002
        async with AsyncClient() as client:
            play, started = await TaskPlay.begin(client, self.data.task, agent=_AGENT)
        trace.state.episode, trace.state.tools = play.episode, started.tools

    @reward(weight=1.0)  # type: ignore[untyped-decorator]
    async def muster(self, trace: Trace) -> float:
        """Grades the workspace. An episode without a verdict raises NoVerdict, so its trace has an error and no reward."""
        async with AsyncClient() as client:
            return float(await trace.state.play(client).grade())


class MusterTaskset(Taskset[MusterTask, MusterTasksetConfig]):
    @classmethod
    def toolsets(cls, config: MusterTasksetConfig) -> list[Toolset]:
        return [MusterToolset(config.tools)]

    def load(self) -> Iterator[MusterTask]:
        with Client() as client:
            described = describe_tasks(client, self.config.tasks, agent=_AGENT)
        for task in described:
            yield MusterTask(MusterTaskData(name=task.task, prompt=task.instruction, task=task.task), self.config.task)


if __name__ == "__main__":
    MusterToolset.run()
