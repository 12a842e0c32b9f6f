"""Plays tasks with the client of openenv-core, one order after the other.

An order is a line of JSON on standard input: mode, address and actions. The answer is a line of JSON on standard output: what was said,
and the error that ended it or null. The library takes two seconds of a processor to import, which all orders share.
"""

import asyncio
import json
import sys
from typing import Any

from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.generic_client import GenericEnvClient
from openenv.core.mcp_client import MCPToolClient

said: list[dict[str, Any]] = []


def say(**fields: Any) -> None:
    said.append(fields)


def play(address: str, actions: list[dict[str, Any]]) -> None:
    """Runs a trainer's loop: a reset, then steps until the last, which has the reward."""
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
    """Runs the same loop with the client for tools."""
    with MCPToolClient(base_url=address).sync() as env:
        env.reset()
        say(tools=[tool.name for tool in env.list_tools()])
        for action in actions:
            name = str(action.pop("action"))
            result = env.step(CallToolAction(tool_name=name, arguments=action))
            error = result.observation.error
            say(result=result.observation.result, error=error and error.error_type, reward=result.reward, done=result.done)


async def call_without_connection(address: str, actions: list[dict[str, Any]]) -> None:
    """Calls tools with the client in its production mode: JSON-RPC over HTTP."""
    env = MCPToolClient(base_url=address)
    env.use_production_mode = True
    say(tools=[tool.name for tool in await env.list_tools()])
    for action in actions:
        name = str(action.pop("action"))
        say(result=await env.call_tool(name, **action))
    await env.close()


def carry_out(mode: str, address: str, actions: list[dict[str, Any]]) -> None:
    match mode:
        case "play":
            play(address, actions)
        case "tools":
            call_tools(address, actions)
        case "production":
            asyncio.run(call_without_connection(address, actions))


for line in sys.stdin:
    said.clear()
    failure = None
    try:
        carry_out(**json.loads(line))
    except Exception as error:
        failure = repr(error)
    print(json.dumps({"said": said, "failure": failure}), flush=True)
