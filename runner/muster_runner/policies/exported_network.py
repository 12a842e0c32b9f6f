"""Policies whose network another library computes: ONNX and TorchScript models."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from muster_runner.failure import describe
from muster_runner.json_fields import FieldError, Object, as_object, only
from muster_runner.policies.action_head import (
    ActionKind,
    Continuous,
    count_outputs,
    find_usual_action,
    make_action_head,
    parse_action,
)
from muster_runner.policies.checkpoint import Fit
from muster_runner.policies.exported_rows import Run, explain_one_by_one, run_one_by_one, run_together
from muster_runner.policies.network_policy import NetworkPolicy
from muster_runner.policies.network_rows import NetworkRows
from muster_runner.policies.observation_input import Normalisation, count_inputs, make_observation_input, parse_normalisation
from muster_runner.policies.policy import Array, Dice, Policy
from muster_runner.policies.recurrence import ONE_ROW, Memory, NoMemory, Recurrence
from muster_runner.policies.rows_head import make_rows_head
from muster_runner.policies.rows_input import RowsInput
from muster_runner.policies.rows_policy import RowsPolicy
from muster_runner.refusal import PolicyRefusal


@dataclass(frozen=True)
class Description:
    """The optional metadata of a model: the meaning of its outputs, and statistics of its observations."""

    action: ActionKind | None = None
    normalisation: Normalisation | None = None


def parse_description(value: Object) -> Description:
    """Parses the metadata. @raises FieldError"""
    only(value, ("action", "observation"), "muster")
    action = value.get("action")
    observation = value.get("observation")
    return Description(
        action=None if action is None else parse_action(as_object(action, "muster.action"), "muster.action"),
        normalisation=None
        if observation is None
        else parse_normalisation(as_object(observation, "muster.observation"), "muster.observation"),
    )


@dataclass(frozen=True)
class ExportedNetwork:
    # A Recurrence if the model keeps a state from step to step.
    model: Run | Recurrence
    dtype: Any
    description: Description
    # The dimensions after the batch. A dimension is None if the model takes any size; the whole is None if the model does not state them.
    input_shape: tuple[int | None, ...] | None
    # Whether the model states that it takes one observation at a time.
    takes_one: bool

    def fit(self, fit: Fit, /) -> Policy:
        """Makes a policy for single observations. @raises PolicyRefusal"""
        kind, shape = self._check(fit)
        encode = make_observation_input(fit.observation_space, self.dtype, self.description.normalisation)
        memory = self._make_memory(1)
        run = memory.run

        def forward(observation: Any) -> tuple[Array, Array | None]:
            outputs = run(ONE_ROW, encode(observation).reshape(shape))
            return outputs[0].reshape(-1), outputs[1].reshape(-1) if len(outputs) > 1 else None

        dice = Dice()
        head = make_action_head(kind, fit.action_space, fit.deterministic, dice)
        return NetworkPolicy(forward, head, dice, fit.deterministic, memory.forget)

    def fit_rows(self, fit: Fit, rows: int, /) -> RowsPolicy:
        """Makes a policy for many rows. @raises PolicyRefusal"""
        kind, (_one, *shape) = self._check(fit)
        encode = RowsInput(fit.observation_space, self.dtype, self.description.normalisation, rows)
        head = make_rows_head(kind, fit.action_space, fit.deterministic, rows)
        memory = self._make_memory(rows)
        reason = explain_one_by_one(self._begin(), self.takes_one, tuple(shape), self.dtype)
        if reason is None:
            return NetworkRows(encode, run_together(memory.run, tuple(shape)), head, forget=memory.forget)
        warnings = (f"{reason}: rows are played one by one",)
        return NetworkRows(encode, run_one_by_one(memory.run, tuple(shape)), head, warnings, memory.forget)

    def _make_memory(self, rows: int) -> Memory | NoMemory:
        return Memory(self.model, rows) if isinstance(self.model, Recurrence) else NoMemory(self.model)

    def _begin(self) -> Run:
        """Returns the function that runs the model on the first observation of an episode."""
        return self.model.begin if isinstance(self.model, Recurrence) else self.model

    def _check(self, fit: Fit) -> tuple[ActionKind, tuple[int, ...]]:
        """Returns the meaning of the outputs, and the shape of one observation with its batch dimension. @raises PolicyRefusal"""
        kind = self.description.action or find_usual_action(fit.action_space)
        expected = count_outputs(kind, fit.action_space)
        self._check_bytes(fit.observation_space)
        shape = (1, *self._choose_shape(fit))
        self._try_out(np.zeros(shape, self.dtype), kind, fit, expected)
        return kind, shape

    def _check_bytes(self, space: spaces.Space[Any]) -> None:
        """Refuses a space whose values do not fit into bytes, because converting them would truncate them silently."""
        if self.dtype is not np.uint8:
            return
        if not isinstance(space, spaces.Box) or space.dtype != np.uint8:
            raise PolicyRefusal(f"the model takes uint8, and the environment gives {space}, expected a Box of uint8")
        if self.description.normalisation is not None:
            raise PolicyRefusal("the model takes uint8, which cannot be normalised before: let the model do it")

    def _choose_shape(self, fit: Fit) -> tuple[int, ...]:
        """Returns the input's shape: that of the observation if the model takes as many dimensions, else flat."""
        size = count_inputs(fit.observation_space)
        shape = fit.observation_space.shape
        wanted = self.input_shape
        if wanted is None:
            return (size,)
        if len(wanted) == 1:
            if wanted[0] not in (None, size):
                raise PolicyRefusal(f"the model takes {wanted[0]} numbers, the environment gives {size}")
            return (size,)
        if shape is None or len(shape) != len(wanted) or any(w not in (None, s) for w, s in zip(wanted, shape, strict=True)):
            shown = tuple("any" if dimension is None else dimension for dimension in wanted)
            raise PolicyRefusal(f"the model takes observations of shape {shown}, the environment gives {shape}")
        return tuple(shape)

    def _try_out(self, zeros: Array, kind: ActionKind, fit: Fit, expected: int) -> None:
        """Runs the model once, because the sizes of its outputs are known only afterwards."""
        try:
            outputs = self._run_outputs(zeros)
        except PolicyRefusal:
            raise
        except Exception as error:
            raise PolicyRefusal(f"the model fails on an observation of shape {zeros.shape}: {describe(error)}") from error
        if not outputs or outputs[0].size != expected:
            gives = outputs[0].size if outputs else 0
            raise PolicyRefusal(f"the model gives {gives} outputs, the action space {fit.action_space} needs {expected}")
        if isinstance(kind, Continuous) and len(outputs) > 1 and outputs[1].size != expected:
            raise PolicyRefusal(f"the model gives {outputs[1].size} log standard deviations for {expected} outputs")
        if isinstance(kind, Continuous) and not fit.deterministic and len(outputs) < 2:
            raise PolicyRefusal('stochastic actions need a second output "log_std", and the model has none')

    def _run_outputs(self, zeros: Array) -> list[Array]:
        given = self._begin()(zeros)
        return given[: len(given) - len(self.model.initial)] if isinstance(self.model, Recurrence) else given


def read_description(read: Callable[[], Object | None], name: str) -> Description:
    """Reads the metadata of a model. @raises PolicyRefusal naming the file."""
    try:
        value = read()
        return Description() if value is None else parse_description(value)
    except FieldError as error:
        raise PolicyRefusal(f"{name}: {error}") from error
