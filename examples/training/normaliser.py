"""Normalises observations by the mean and the variance of those seen so far."""

from dataclasses import dataclass

import numpy as np

from examples.training.mlp import Array

CLIP = 10.0
EPSILON = 1e-8


@dataclass
class Normaliser:
    """Mean and variance of each component of the observation: [size] each."""

    mean: Array
    variance: Array
    count: float = 0.0

    @staticmethod
    def initialise(size: int) -> "Normaliser":
        return Normaliser(np.zeros(size, np.float32), np.ones(size, np.float32))

    def apply(self, observations: Array) -> Array:
        scaled = (observations - self.mean) / np.sqrt(self.variance + np.float32(EPSILON))
        return np.clip(scaled, -CLIP, CLIP)

    def update(self, batch: Array) -> None:
        """Merges [batch, size] by the pairwise formula of Chan, Golub and LeVeque (1979)."""
        added = len(batch)
        total = self.count + added
        shift = batch.mean(axis=0) - self.mean
        spread = self.variance * self.count + batch.var(axis=0) * added + shift**2 * (self.count * added / total)
        self.mean = (self.mean + shift * (added / total)).astype(np.float32)
        self.variance = (spread / total).astype(np.float32)
        self.count = total
