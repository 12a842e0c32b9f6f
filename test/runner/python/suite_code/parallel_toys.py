"""A game as PettingZoo's parallel environments have them, without PettingZoo."""

from typing import Any

import numpy as np
from gymnasium import spaces

ByAgent = dict[str, Any]


class Race:
    """Each agent's reward is its action. The agents leave one after the other, the first of them after the first step."""

    def __init__(self, runners: int = 2, walkers: int = 0, cut: bool = False) -> None:
        self.possible_agents = [*(f"runner_{i}" for i in range(runners)), *(f"walker_{i}" for i in range(walkers))]
        self._cut = cut

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(-np.inf, np.inf, (1 if agent.startswith("runner") else 2,), np.float32)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(3)

    def reset(self, seed: int | None = None, options: ByAgent | None = None) -> tuple[ByAgent, ByAgent]:
        self.agents = list(self.possible_agents)
        return self._observed(), {agent: {} for agent in self.agents}

    def step(self, actions: ByAgent) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        assert sorted(actions) == sorted(self.agents), "an action for each agent that is there, and for no other"
        there, first = self.agents, self.agents[0]
        over = {agent: agent == first for agent in there}
        no = dict.fromkeys(there, False)
        observed, rewards = self._observed(), {agent: float(actions[agent]) for agent in there}
        self.agents = there[1:]
        return observed, rewards, no if self._cut else over, over if self._cut else no, {agent: {} for agent in there}

    def close(self) -> None:
        pass

    def _observed(self) -> ByAgent:
        return {agent: np.ones(self.observation_space(agent).shape or (), np.float32) for agent in self.agents}


class InTurn(Race):
    """As an environment looks in which the agents act one after the other."""

    def agent_iter(self) -> None:
        pass
