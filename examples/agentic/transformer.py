"""A causal transformer of a hundred thousand weights, with its gradient, written out in NumPy."""

from dataclasses import dataclass, field

import numpy as np

from examples.training.mlp import Array

WIDTH = 64
HEADS = 4
LAYERS = 2
EPSILON = np.float32(1e-6)


@dataclass
class Cache:
    """Keys and values of the tokens so far, [layer][batch, head, time, width of a head], which make sampling cheap."""

    keys: list[Array] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)


@dataclass
class Tape:
    """The values of a forward pass that `backward` needs."""

    ids: Array
    layers: list[tuple[Array, ...]] = field(default_factory=list)
    last: tuple[Array, ...] = ()


@dataclass
class Transformer:
    """Root-mean-square norms before attention and perceptron, learned positions, and one matrix for the words that go in and come out."""

    words: Array
    positions: Array
    layers: list[list[Array]]

    @staticmethod
    def initialise(vocabulary: int, length: int, rng: np.random.Generator) -> "Transformer":
        """@param length: tokens of the longest sequence."""

        def draw(rows: int, columns: int, spread: float) -> Array:
            return (rng.standard_normal((rows, columns)) * spread).astype(np.float32)

        inner, outer = WIDTH**-0.5, (2 * LAYERS * WIDTH) ** -0.5
        layers = [
            [draw(WIDTH, 3 * WIDTH, inner), draw(WIDTH, WIDTH, outer), draw(WIDTH, 4 * WIDTH, inner), draw(4 * WIDTH, WIDTH, outer / 2)]
            for _ in range(LAYERS)
        ]
        return Transformer(draw(vocabulary, WIDTH, inner), draw(length, WIDTH, inner), layers)

    def copy(self) -> "Transformer":
        return Transformer(self.words.copy(), self.positions.copy(), [[weight.copy() for weight in layer] for layer in self.layers])

    @property
    def parameters(self) -> list[Array]:
        return [self.words, self.positions, *(weight for layer in self.layers for weight in layer)]

    def forward(self, ids: Array, cache: Cache | None = None) -> tuple[Array, Tape]:
        """Maps [batch, time] to log-probabilities of the next token, [batch, time, vocabulary], and a tape. With a cache, `ids` continue
        its tokens.
        """
        begin = cache.keys[0].shape[2] if cache and cache.keys else 0
        tape = Tape(ids)
        hidden = self.words[ids] + self.positions[begin : begin + ids.shape[1]]
        for number, layer in enumerate(self.layers):
            hidden = self._layer(number, layer, hidden, tape, cache)
        normed, root = _norm(hidden)
        log_probabilities = _log_softmax(normed @ self.words.T)
        tape.last = (normed, root, log_probabilities)
        return log_probabilities, tape

    def _layer(self, number: int, layer: list[Array], hidden: Array, tape: Tape, cache: Cache | None) -> Array:
        entering, leaving, widening, narrowing = layer
        normed, root = _norm(hidden)
        query, key, value = _split(normed @ entering)
        if cache is not None:
            if len(cache.keys) > number:
                key = np.concatenate([cache.keys[number], key], axis=2)
                value = np.concatenate([cache.values[number], value], axis=2)
            cache.keys[number:], cache.values[number:] = [key, *cache.keys[number + 1 :]], [value, *cache.values[number + 1 :]]
        times, seen = query.shape[2], key.shape[2]
        scores = query @ key.transpose(0, 1, 3, 2) * np.float32((WIDTH // HEADS) ** -0.5)
        future = np.triu(np.full((times, seen), -1e9, np.float32), seen - times + 1)
        attention = np.exp(_log_softmax(scores + future))
        mixed = (attention @ value).transpose(0, 2, 1, 3).reshape(hidden.shape)
        middle = hidden + mixed @ leaving
        normed_middle, root_middle = _norm(middle)
        wide = np.maximum(normed_middle @ widening, 0)
        tape.layers.append((normed, root, query, key, value, attention, mixed, normed_middle, root_middle, wide))
        left: Array = middle + wide @ narrowing
        return left

    def backward(self, tape: Tape, gradient: Array) -> list[Array]:
        """Returns gradients in the order of `parameters`, given the loss's gradient at the log-probabilities. The forward pass must have
        had no cache.
        """
        normed, root, log_probabilities = tape.last
        at_logits = gradient - np.exp(log_probabilities) * gradient.sum(axis=-1, keepdims=True)
        words = _outer(at_logits, normed)
        hidden = _norm_gradient(normed, root, at_logits @ self.words)
        gradients: list[Array] = []
        for layer, kept in zip(reversed(self.layers), reversed(tape.layers), strict=True):
            hidden, own = _layer_gradient(layer, kept, hidden)
            gradients = own + gradients
        np.add.at(words, tape.ids, hidden)
        positions = np.zeros_like(self.positions)
        positions[: hidden.shape[1]] = hidden.sum(axis=0)
        return [words, positions, *gradients]


def _layer_gradient(layer: list[Array], kept: tuple[Array, ...], gradient: Array) -> tuple[Array, list[Array]]:
    entering, leaving, widening, narrowing = layer
    normed, root, query, key, value, attention, mixed, normed_middle, root_middle, wide = kept
    at_wide = gradient @ narrowing.T * (wide > 0)
    middle = gradient + _norm_gradient(normed_middle, root_middle, at_wide @ widening.T)
    at_mixed = (middle @ leaving.T).reshape(*gradient.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)
    at_attention = at_mixed @ value.transpose(0, 1, 3, 2)
    at_scores = attention * (at_attention - (attention * at_attention).sum(axis=-1, keepdims=True))
    at_scores *= np.float32((WIDTH // HEADS) ** -0.5)
    backs = (at_scores @ key, at_scores.transpose(0, 1, 3, 2) @ query, attention.transpose(0, 1, 3, 2) @ at_mixed)
    at_entering = np.stack(backs, axis=2).transpose(0, 3, 2, 1, 4).reshape(*gradient.shape[:2], 3 * WIDTH)
    hidden = middle + _norm_gradient(normed, root, at_entering @ entering.T)
    own = [_outer(normed, at_entering), _outer(mixed, middle), _outer(normed_middle, at_wide), _outer(wide, gradient)]
    return hidden, own


def _split(joined: Array) -> tuple[Array, Array, Array]:
    """Splits [batch, time, 3 · width] into queries, keys and values, each [batch, head, time, width of a head]."""
    query, key, value = joined.reshape(*joined.shape[:2], 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
    return query, key, value


def _outer(inputs: Array, outputs: Array) -> Array:
    """Returns Σ over batch and time of inputs ⊗ outputs: the gradient of a matrix between the two."""
    summed: Array = inputs.reshape(-1, inputs.shape[-1]).T @ outputs.reshape(-1, outputs.shape[-1])
    return summed


def _norm(hidden: Array) -> tuple[Array, Array]:
    root = np.sqrt(np.mean(hidden * hidden, axis=-1, keepdims=True) + EPSILON)
    return hidden / root, root


def _norm_gradient(normed: Array, root: Array, gradient: Array) -> Array:
    through: Array = (gradient - normed * np.mean(normed * gradient, axis=-1, keepdims=True)) / root
    return through


def _log_softmax(scores: Array) -> Array:
    shifted = scores - scores.max(axis=-1, keepdims=True)
    normed: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normed
