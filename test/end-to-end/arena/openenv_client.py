"""Plays a task with the client of openenv-core. Arguments: the address, then actions as JSON. Prints a line of JSON for each answer."""

import asyncio
import json
import sys
from typing import Any

from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.generic_client import GenericEnvClient
from openenv.core.mcp_client import MCPToolClient


def say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def play(address: str, actions: list[dict[str, Any]]) -> None:
    """The loop of a trainer: reset, steps until done, the reward with the last."""
    with GenericEnvClient(base_url=address).sync() as env:
        begun = env.reset(seed=7, episode_id="mine", agent="openenv-test", a_column_of_the_data_set="x")
        say(observation=begun.observation, reward=begun.reward, done=begun.done)
        for action in actions:
            try:
                result = env.step(action)
                say(observation=result.observation, reward=result.reward, done=result.done)
            except RuntimeError as error:
                say(error=str(error))
        say(state=env.state())


def call_tools(address: str, actions: list[dict[str, Any]]) -> None:
    """The same with the client for tools."""
    with MCPToolClient(base_url=address).sync() as env:
        env.reset()
        say(tools=[tool.name for tool in env.list_tools()])
        for action in actions:
            name = str(action.pop("action"))
            result = env.step(CallToolAction(tool_name=name, arguments=action))
            error = result.observation.error
            say(result=result.observation.result, error=error and error.error_type, reward=result.reward, done=result.done)


async def call_without_connection(address: str, actions: list[dict[str, Any]]) -> None:
    """The client for tools in its production mode: JSON-RPC over HTTP."""
    env = MCPToolClient(base_url=address)
    env.use_production_mode = True
    say(tools=[tool.name for tool in await env.list_tools()])
    for action in actions:
        name = str(action.pop("action"))
        say(result=await env.call_tool(name, **action))
    await env.close()


mode, url, *given = sys.argv[1:]
actions = [json.loads(each) for each in given]
if mode == "production":
    asyncio.run(call_without_connection(url, actions))
else:
    {"play": play, "tools": call_tools}[mode](url, actions)
