"""Changes the weights: a warm-up on programs that answer nothing, then GRPO (Shao et al. 2024, arXiv:2402.03300)."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from examples.agentic.problems import Part, instruct, solve
from examples.agentic.transformer import Transformer
from examples.agentic.words import DIGITS, END, NAMES, ROLES, SIGNS, SUBMIT, encode
from examples.training.adam import Adam
from examples.training.mlp import Array

WARM_UPDATES = 800
WARM_RATE = 3e-3
RATE = 1e-3
EPOCHS = 4
ENTROPY = 0.01
LOWEST_RATIO, HIGHEST_RATIO = 0.8, 1.28
"""The bounds of the ratio of probabilities, new to old. The upper bound is wider (Yu et al. 2025, arXiv:2503.14476), so that rare tokens
may become common.
"""

Conversation = tuple[list[int], list[int]]
"""Token ids, and a mask that is 1 for the tokens that the model samples."""


@dataclass(frozen=True)
class Sample:
    """A segment of a trajectory, as a stream of groups has it."""

    ids: list[int]
    loss_mask: list[int]
    log_probabilities: list[float]
    advantage: float


def warm_up(model: Transformer, seed: int) -> float:
    """Trains on drawn programs that ignore their instruction, to show how programs are written, and on repeating what was read. @returns
    the last loss.
    """
    draw = random.Random(seed)
    return imitate(model, lambda: [(_draw_conversation if at % 2 else _draw_echo)(draw) for at in range(32)], WARM_UPDATES)


def imitate(model: Transformer, draw_batch: Callable[[], list[Conversation]], updates: int) -> float:
    """Trains the model to answer as in the conversations. @returns the last loss."""
    optimiser = Adam(model.parameters)
    loss = 0.0
    for update in range(updates):
        batch = draw_batch()
        ids, mask = _pad([ids for ids, _ in batch]), _pad([mask for _, mask in batch]).astype(np.float32)
        log_probabilities, tape = model.forward(ids)
        weights = -mask[:, 1:] / mask.sum()
        loss = float((_taken(log_probabilities, ids) * weights).sum())
        optimiser.step(model.backward(tape, _at_taken(log_probabilities, ids, weights)), WARM_RATE * (1 - update / updates))
    return loss


def _draw_parts(draw: random.Random) -> tuple[Part, ...]:
    return tuple((draw.choice([*SIGNS]), draw.choice(DIGITS)) for _ in NAMES)


def _draw_conversation(draw: random.Random) -> Conversation:
    def program() -> list[str]:
        return " ; ".join(solve(_draw_parts(draw))).split()

    asked = ["write", *instruct(_draw_parts(draw)).split()[1:]]
    said = [word for name in NAMES for word in (name, draw.choice(["right", "wrong"]))]
    second = program() if draw.random() < 0.5 else [SUBMIT]
    return compose((asked, program()), (said, second))


def _draw_echo(draw: random.Random) -> Conversation:
    parts = _draw_parts(draw)
    asked = ["say", *instruct(parts).split()[1:]]
    return compose((asked, " ; ".join(f"x {word} {digit}" for word, digit in parts).split()))


def compose(*turns: tuple[list[str], list[str]]) -> Conversation:
    """Builds a conversation. @param turns: pairs of what the model reads and what it answers."""
    words: list[str] = []
    mask: list[int] = []
    for number, (read, said) in enumerate(turns):
        before = [ROLES["tool" if number else "user"], *read, ROLES["assistant"]]
        words += [*before, *said, END]
        mask += [0] * len(before) + [1] * (len(said) + 1)
    return encode(words), mask


class Learner:
    """GRPO with the ratio bounded, on the advantages that come with the groups, and a bonus for entropy."""

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self._optimiser = Adam(model.parameters)

    def update(self, samples: list[Sample]) -> float:
        """Updates the weights. @returns the share of tokens whose ratio was bounded at the end."""
        ids, mask = _pad([each.ids for each in samples]), _pad([each.loss_mask for each in samples])[:, 1:].astype(np.float32)
        old = _pad([each.log_probabilities for each in samples])[:, 1:]
        advantages = np.array([[each.advantage] for each in samples])
        share, bounded = mask / mask.sum(), 0.0
        for _ in range(EPOCHS):
            log_probabilities, tape = self.model.forward(ids)
            ratios = np.exp(np.where(mask > 0, _taken(log_probabilities, ids) - old, 0))
            is_free = np.where(advantages > 0, ratios < HIGHEST_RATIO, ratios > LOWEST_RATIO)
            bounded = float((share * ~is_free).sum())
            gradient = _at_taken(log_probabilities, ids, -share * ratios * advantages * is_free)
            # The gradient of −entropy, Σ p log p, with respect to log p.
            here = log_probabilities[:, :-1]
            gradient[:, :-1] += ENTROPY * share[..., None] * np.exp(here) * (here + 1)
            self._optimiser.step(self.model.backward(tape, gradient), RATE)
        return bounded


def recompute(model: Transformer, ids: list[int]) -> list[float]:
    """Returns log-probabilities of all tokens but the first, from their ids alone."""
    given = np.array([ids])
    return [float(value) for value in _taken(model.forward(given)[0], given)[0]]


def _pad(rows: list[list[int]] | list[list[float]]) -> Array:
    longest = max(len(row) for row in rows)
    return np.array([[*row, *[0] * (longest - len(row))] for row in rows])


def _taken(log_probabilities: Array, ids: Array) -> Array:
    """Returns the log-probabilities of the tokens that come next, [batch, time − 1]."""
    taken: Array = np.take_along_axis(log_probabilities[:, :-1], ids[:, 1:, None], axis=2)[..., 0]
    return taken


def _at_taken(log_probabilities: Array, ids: Array, weights: Array) -> Array:
    """Returns the gradient of Σ weight · log-probability of the next token."""
    gradient = np.zeros_like(log_probabilities)
    np.put_along_axis(gradient[:, :-1], ids[:, 1:, None], weights[..., None].astype(np.float32), axis=2)
    return gradient
