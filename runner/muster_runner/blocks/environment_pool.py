"""Keeps the environments of rows that are played side by side from episode to episode."""

from collections.abc import Sequence

from muster_runner.environments import Environment, EnvironmentMaker, close_environment
from muster_runner.random_state import undisturbed_generators


class EnvironmentPool:
    """Unused environments of each task. Any of them can serve any row, because the seed alone decides what it plays."""

    def __init__(self, makers: Sequence[EnvironmentMaker], kept: int) -> None:
        """@param kept: the largest number of unused environments, of all tasks together."""
        self._makers = makers
        self._idle: list[list[Environment]] = [[] for _ in makers]
        self._room = kept

    def take(self, task: int) -> Environment:
        """Returns an unused environment, or makes one. @raises whatever the environment's code raises when it is made."""
        if self._idle[task]:
            self._room += 1
            return self._idle[task].pop()
        # Making an environment seeds the global generators, which other rows may use. Earlier blocks decide whether one has to be made, and
        # must not decide what other rows draw.
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
