"""The policies of a game's agents: one checkpoint for all of them, or one for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from muster_runner.fitted_policies import is_same_space
from muster_runner.games import AgentSpaces
from muster_runner.policies.checkpoint import Checkpoint, Fit
from muster_runner.policies.policy import Policy
from muster_runner.policies.rows_policy import RowFaults, RowsPolicy
from muster_runner.refusal import PolicyRefusal

EACH = 'with a policy for each agent, a directory with muster.json {"policy": {"agents": {"NAME": "FILE"}}}'


@dataclass(frozen=True)
class AgentCheckpoints:
    """A checkpoint for each agent, by names or patterns of names."""

    by_agent: Mapping[str, Checkpoint]

    def of(self, agent: str) -> Checkpoint:
        """Returns the checkpoint of an agent. @raises PolicyRefusal when there is none."""
        for pattern, checkpoint in self.by_agent.items():
            if fnmatchcase(agent, pattern):
                return checkpoint
        raise PolicyRefusal(f'the checkpoint has no policy for the agent "{agent}", only for {", ".join(self.by_agent)}')

    def fit(self, _: Fit, /) -> Policy:
        raise self._create_refusal()

    def fit_rows(self, _: Fit, __: int, /) -> RowsPolicy:
        raise self._create_refusal()

    def _create_refusal(self) -> PolicyRefusal:
        named = ", ".join(self.by_agent)
        return PolicyRefusal(f"the checkpoint has policies for the agents {named}, expected a game of several agents and policy: together")


@dataclass(frozen=True)
class Side:
    """Agents that share a policy. Each is one of its rows."""

    agents: Sequence[str]
    policy: RowsPolicy


class AgentsPolicy:
    """Acts for all agents that still play, with one forward pass for those that share a policy."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self._sides = sides

    def reset(self, seed: int, /) -> None:
        seeds = iter(np.random.SeedSequence(seed).generate_state(sum(len(side.agents) for side in self._sides)).tolist())
        for side in self._sides:
            side.policy.begin_block(seed)
            for row in range(len(side.agents)):
                side.policy.reset_row(row, next(seeds))

    def act(self, observation: Any, /) -> dict[str, Any]:
        actions: dict[str, Any] = {}
        for side in self._sides:
            there = [row for row, agent in enumerate(side.agents) if agent in observation]
            if not there:
                continue
            agents = [side.agents[row] for row in there]
            try:
                chosen = side.policy.act_rows(np.array(there), [observation[agent] for agent in agents])
            except RowFaults as faults:
                raise next(iter(faults.errors.values())) from None
            actions.update(zip(agents, chosen, strict=True))
        return actions


def fit_agents(checkpoint: Checkpoint, fit: Fit) -> AgentsPolicy:
    """@param fit: with the spaces of all agents, by name. @raises PolicyRefusal naming the agent that the checkpoint does not fit."""
    observations, actions = fit.observation_space, fit.action_space
    assert isinstance(observations, AgentSpaces) and isinstance(actions, AgentSpaces)
    sides: list[tuple[Checkpoint, Fit, list[str]]] = []
    for agent in observations.spaces:
        own = checkpoint.of(agent) if isinstance(checkpoint, AgentCheckpoints) else checkpoint
        wanted = Fit(observations[agent], actions[agent], fit.deterministic)
        for one, known, agents in sides:
            if one is own and _have_same_spaces(known, wanted):
                agents.append(agent)
                break
        else:
            sides.append((own, wanted, [agent]))
    return AgentsPolicy([Side(agents, _fit(own, wanted, agents)) for own, wanted, agents in sides])


def _have_same_spaces(one: Fit, other: Fit) -> bool:
    return is_same_space(one.observation_space, other.observation_space) and is_same_space(one.action_space, other.action_space)


def _fit(checkpoint: Checkpoint, fit: Fit, agents: Sequence[str]) -> RowsPolicy:
    try:
        return checkpoint.fit_rows(fit, len(agents))
    except PolicyRefusal as refusal:
        raise PolicyRefusal(f'{refusal} (agent "{agents[0]}"); agents with other spaces are played {EACH}') from refusal
