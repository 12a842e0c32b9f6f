"""Environments for rows that are played side by side, kept from episode to episode."""

from collections.abc import Sequence

from muster_runner.environments import Environment, EnvironmentMaker, close_environment
from muster_runner.random_state import undisturbed_generators


class EnvironmentPool:
    """Any of a task's environments serves any row: what it plays follows from the seed alone."""

    def __init__(self, makers: Sequence[EnvironmentMaker], kept: int) -> None:
        """@param kept: most unused environments that are kept, of all tasks together."""
        self._makers = makers
        self._idle: list[list[Environment]] = [[] for _ in makers]
        self._room = kept

    def take(self, task: int) -> Environment:
        """@raises whatever the environment's code raises when one has to be made."""
        if self._idle[task]:
            self._room += 1
            return self._idle[task].pop()
        # Making one seeds the generators that other rows may use; whether one has to be made depends on earlier blocks.
        with undisturbed_generators():
            return self._makers[task].make()

    def give(self, task: int, environment: Environment) -> None:
        if self._room == 0:
            close_environment(environment)
            return
        self._room -= 1
        self._idle[task].append(environment)

    def close(self) -> None:
        for environments in self._idle:
            self._room += len(environments)
            while environments:
                close_environment(environments.pop())
