"""Turns a network's outputs into an action."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from muster_runner.json_fields import FieldError, Object, as_choice, only, required
from muster_runner.policies.policy import Array, Dice
from muster_runner.refusal import PolicyRefusal

# Outputs [n] and log standard deviations [n], if the network has them → an action for the environment.
ActionHead = Callable[[Array, Array | None], Any]
SQUASHES = ("tanh", "clip", "none")


@dataclass(frozen=True)
class Discrete:
    """The outputs are logits, one for each action. For several choices, the logits of one follow those of the other."""


@dataclass(frozen=True)
class Continuous:
    """The outputs are the mean of a normal distribution, before `squash` brings it into the action space's bounds."""

    squash: Literal["tanh", "clip", "none"]


ActionKind = Discrete | Continuous


def parse_action(value: Object, where: str) -> ActionKind:
    """Parses the meaning of outputs. @raises FieldError"""
    only(value, ("kind", "squash"), where)
    kind = as_choice(required(value, "kind", where, '"discrete" or "continuous"'), f"{where}.kind", ("discrete", "continuous"))
    if kind == "discrete":
        return Discrete()
    squash = as_choice(required(value, "squash", where, " or ".join(f'"{squash}"' for squash in SQUASHES)), f"{where}.squash", SQUASHES)
    for known in ("tanh", "clip", "none"):
        if squash == known:
            return Continuous(known)
    raise FieldError(f"{where}.squash is {squash}")


def find_usual_action(space: spaces.Space[Any]) -> ActionKind:
    """Returns the meaning of outputs when the checkpoint does not state one."""
    return Discrete() if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)) else Continuous("clip")


def count_outputs(kind: ActionKind, space: spaces.Space[Any]) -> int:
    """Returns the number of outputs that a network needs for the action space.

    @raises PolicyRefusal when the space has no actions of this kind.
    """
    if isinstance(kind, Discrete) and isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(kind, Discrete) and isinstance(space, spaces.MultiDiscrete):
        return int(space.nvec.sum())
    if isinstance(kind, Continuous) and isinstance(space, spaces.Box):
        if kind.squash == "tanh" and not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            raise PolicyRefusal(f'squash "tanh" scales to the bounds of the action space, and {space} has none: use "none"')
        return int(np.prod(space.shape))
    given = "discrete" if isinstance(kind, Discrete) else "continuous"
    raise PolicyRefusal(
        f"the policy's actions are {given}, the environment takes {space}; "
        "spaces other than Discrete, MultiDiscrete and Box need a checkpoint with code of its own"
    )


def make_action_head(kind: ActionKind, space: spaces.Space[Any], deterministic: bool, dice: Dice) -> ActionHead:
    """Makes the function from outputs to actions. @raises PolicyRefusal when the space has no actions of this kind."""
    count_outputs(kind, space)
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return _make_best(start) if deterministic else _make_drawn(start, dice)
    if isinstance(space, spaces.MultiDiscrete):
        return _make_several(space, deterministic, dice)
    if isinstance(kind, Continuous) and isinstance(space, spaces.Box):
        bounded = make_bounding(kind, space, space.shape)
        return _make_mean(bounded) if deterministic else _make_normal(bounded, dice)
    raise PolicyRefusal(f"the environment takes {space}, expected Discrete, MultiDiscrete or Box")


def _make_best(start: int) -> ActionHead:
    def head(output: Array, _: Array | None) -> int:
        return int(output.argmax()) + start

    return head


def _make_drawn(start: int, dice: Dice) -> ActionHead:
    def head(output: Array, _: Array | None) -> int:
        weights = np.exp(output - output.max(), dtype=np.float64)
        cumulative = weights.cumsum()
        drawn = dice.generator.random() * cumulative[-1]
        # Rounding can make the product as large as the total.
        return min(int(cumulative.searchsorted(drawn, side="right")), len(cumulative) - 1) + start

    return head


def _make_several(space: spaces.MultiDiscrete, deterministic: bool, dice: Dice) -> ActionHead:
    shape, dtype, starts = space.shape, space.dtype, space.start
    choose = _make_best(0) if deterministic else _make_drawn(0, dice)
    ends = space.nvec.reshape(-1).cumsum()

    def head(output: Array, _: Array | None) -> Array:
        chosen = [choose(logits, None) for logits in np.split(output, ends[:-1])]
        return (np.array(chosen).reshape(shape) + starts).astype(dtype)

    return head


def _make_mean(bounded: Callable[[Array], Array]) -> ActionHead:
    def head(output: Array, _: Array | None) -> Array:
        return bounded(output)

    return head


def _make_normal(bounded: Callable[[Array], Array], dice: Dice) -> ActionHead:
    def head(output: Array, log_std: Array | None) -> Array:
        if log_std is None:
            raise ValueError("the policy gives no log_std, so no stochastic action can be drawn")
        noise = dice.generator.standard_normal(len(output)).astype(output.dtype)
        return bounded(output + np.exp(log_std) * noise)

    return head


def make_bounding(kind: Continuous, space: spaces.Box, shape: tuple[int, ...]) -> Callable[[Array], Array]:
    """Makes the function from outputs [out] or [n, out] to a new array at each step, with the space's dtype: the environment may keep it.

    @param shape: the space's own, or (-1, …) for many rows.
    """
    low, high, dtype = space.low, space.high, space.dtype
    low_flat, high_flat = low.reshape(-1), high.reshape(-1)
    span = high_flat - low_flat

    def tanh(output: Array) -> Array:
        scaled: Array = low_flat + (np.tanh(output) + 1) / 2 * span
        # Rounding may exceed the bounds by one unit in the last place.
        return scaled.clip(low_flat, high_flat).astype(dtype).reshape(shape)

    def clip(output: Array) -> Array:
        return output.clip(low_flat, high_flat).astype(dtype).reshape(shape)

    def none(output: Array) -> Array:
        return output.astype(dtype).reshape(shape)

    return {"tanh": tanh, "clip": clip, "none": none}[kind.squash]
