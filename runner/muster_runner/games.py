"""Adapts games of several agents, such as PettingZoo's parallel environments. One play of a game is one episode."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import gymnasium
from gymnasium import spaces

from muster_runner.carried_code import CodeError
from muster_runner.environment_answers import read_reward
from muster_runner.failure import describe_installation

ONE_GAME = "a game of several agents is played with mode: single; its agents are a batch already"
RETURN_OF = "return_{}"
"""The name of a metric for each agent: the sum of its rewards."""


def make_pettingzoo(module: str, kwargs: dict[str, Any]) -> "Game":
    """Makes a game. @param module: below `pettingzoo`, such as `sisl.pursuit_v5`. @raises CodeError when it does not exist, or has no
    parallel form.
    """
    name = f"pettingzoo.{module}"
    try:
        made = import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        remedy = f"PettingZoo is needed, in a version that has it: {describe_installation('pettingzoo')}"
        raise CodeError(f"there is no module {error.name!r}; {remedy}") from error
    factory = getattr(made, "parallel_env", None)
    if factory is None:
        raise CodeError(f"{name} has no parallel_env: only environments in which the agents act at the same time can be played")
    return Game(factory(**kwargs))


class AgentSpaces(spaces.Dict):
    """The spaces of a game's agents, by name: their observations or their actions."""


class Game(gymnasium.Env[Any, Any]):
    """A game as an environment. Observations and actions are dictionaries by agent, for the agents that still play.

    The reward is the sum of all agents' rewards, or of those that `Scored` names. `info` has each agent's sum of rewards so far.
    """

    def __init__(self, parallel: Any) -> None:
        """Wraps a parallel environment. @raises CodeError when the agents act one after the other."""
        if hasattr(parallel, "agent_iter"):
            raise CodeError(f"the agents of {parallel} act one after the other, expected a parallel environment (parallel_env)")
        self._parallel = parallel
        self.metadata = getattr(parallel, "metadata", {})
        self.agents: tuple[str, ...] = tuple(parallel.possible_agents)
        self.scored: frozenset[str] = frozenset(self.agents)
        self.observation_space = AgentSpaces({agent: parallel.observation_space(agent) for agent in self.agents})
        self.action_space = AgentSpaces({agent: parallel.action_space(agent) for agent in self.agents})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._returns = dict.fromkeys(self.agents, 0.0)
        observations, _ = self._parallel.reset(seed=seed, options=options)
        return self._pick_present(observations), {}

    def step(self, actions: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observations, rewards, _, truncated, _ = self._parallel.step(dict(actions))
        rewards = {agent: read_reward(reward) for agent, reward in rewards.items()}
        for agent, reward in rewards.items():
            self._returns[agent] += reward
        is_over = not self._parallel.agents
        # If one agent was truncated, the game did not end by its own rules.
        is_cut = is_over and any(truncated.values())
        reward = sum((rewards[agent] for agent in self.agents if agent in self.scored and agent in rewards), 0.0)
        info = {RETURN_OF.format(agent): total for agent, total in self._returns.items()}
        return self._pick_present(observations), reward, is_over and not is_cut, is_cut, info

    def close(self) -> None:
        self._parallel.close()

    def _pick_present(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        return {agent: observations[agent] for agent in self.agents if agent in self._parallel.agents}


class Scored(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A wrapper for suites: the return counts the rewards of the named agents alone."""

    def __init__(self, environment: gymnasium.Env[Any, Any], agents: list[str]) -> None:
        super().__init__(environment)
        game = environment.unwrapped
        if not isinstance(game, Game):
            raise ValueError(f"{type(game).__name__} has one agent; Scored is for games of several")
        unknown = [agent for agent in agents if agent not in game.agents]
        if unknown or not agents:
            named = repr(unknown[0]) if unknown else "no agent"
            raise ValueError(f"agents names {named}, expected one or more of {', '.join(game.agents)}")
        game.scored = frozenset(agents)
