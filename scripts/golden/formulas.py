"""What no library computes: the published formulas in NumPy, written as they stand there, without regard to speed."""

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

Values = NDArray[np.float64]


def adjusted_interval(values: Values, low: float, high: float, confidence: float) -> tuple[float, float]:
    """A t interval after z²/2 pseudo-values are put on each bound; on the unit scale in between, and cut off at the bounds."""
    unit = (values - low) / (high - low)
    z = stats.norm.ppf((1 + confidence) / 2)
    n = len(unit)
    pseudo = z * z / 2
    total = n + z * z
    centre = (unit.sum() + pseudo) / total
    squares = ((unit - centre) ** 2).sum() + pseudo * centre**2 + pseudo * (1 - centre) ** 2
    half_width = stats.t.ppf((1 + confidence) / 2, n - 1) * math.sqrt(squares) / total
    ends = np.clip([centre - half_width, centre + half_width], 0, 1)
    return float(low + (high - low) * ends[0]), float(low + (high - low) * ends[1])


def probability_of_improvement(tasks: list[tuple[Values, Values]]) -> Values:
    """
    Mean over tasks of the share of pairs that the first of a task wins, a tie being half a win (rliable's `probability_of_improvement`).

    The values of a task stand along the last axis; resamples of them along those before.
    """
    shares = []
    for first, second in tasks:
        one, other = first[..., :, None], second[..., None, :]
        shares.append(((one > other) + (one == other) / 2).mean(axis=(-2, -1)))
    return np.asarray(np.mean(shares, axis=0))


def interquartile_mean(tasks: list[Values]) -> Values:
    """Over the pooled values of all tasks (rliable's `aggregate_iqm`), which stand along the last axis."""
    return np.asarray(stats.trim_mean(np.concatenate(tasks, axis=-1), proportiontocut=0.25, axis=-1))


def pass_at_k(count: int, successes: int, k: int) -> tuple[float, float]:
    """pass@k and pass^k by their definition, in exact integers until the division."""
    subsets = math.comb(count, k)
    return 1 - math.comb(count - successes, k) / subsets, math.comb(successes, k) / subsets


def asymptotic_rho_squared(confidence: float, tightest_at: int) -> float:
    alpha = 1 - confidence
    return (-(alpha**2) - 2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha) - alpha**2)) / tightest_at


def asymptotic_half_width(deviation: float, episodes: int, confidence: float, rho_squared: float) -> float:
    n = episodes
    alpha = 1 - confidence
    inside = 2 * (n * rho_squared + 1) * math.log(math.sqrt(n * rho_squared + 1) / alpha) / (n**2 * rho_squared)
    return deviation * math.sqrt(inside)


def certified_hull(values: Values, half_width: float, confidence: float, grid: int) -> tuple[int, int]:
    """
    First and last grid point that the betting confidence sequence keeps, from log-capitals of all grid points at once.

    The bets use what the squares and the cubes of the deviations from the running mean come to, and how far that mean is from the worst
    value; no bet risks more than 95 % of its capital.
    """
    points = np.arange(grid + 1) / grid
    floor = np.full(grid + 1, 1 / grid)
    caps_up, caps_down = 0.95 / np.maximum(points, floor), 0.95 / np.maximum(1 - points, floor)
    log_up, log_down = np.zeros(grid + 1), np.zeros(grid + 1)
    alive = np.ones(grid + 1, dtype=bool)
    aim = 1.5 * half_width
    near = (0.8 * aim) ** 2
    mean, squares, below, above = 0.5, 0.0, 0.0, 0.0

    def bets(distances: Values, cubes: float, from_worst: float, t: int, caps: Values) -> Values:
        loss = (distances + cubes) / (1 + squares)
        variance = (squares + 0.4 * near / (near + from_worst**2) + 0.1 / t + 0.17 * distances) / t
        return np.minimum(aim / (variance + aim * loss), caps)

    for t, x in enumerate(values, start=1):
        log_up += np.log1p(bets(points, below, mean, t, caps_up) * (x - points))
        log_down += np.log1p(-bets(1 - points, above, 1 - mean, t, caps_down) * (x - points))
        alive &= np.maximum(log_up, log_down) < math.log(2 / (1 - confidence))
        mean = float(np.mean(values[:t]))
        deviation = x - mean
        squares += deviation**2
        below += max(-deviation, 0) ** 3
        above += max(deviation, 0) ** 3
    kept = np.flatnonzero(alive)
    return int(kept[0]), int(kept[-1])


def lag_one_excess(tasks: list[Values]) -> float:
    """Sum of the products of neighbouring deviations, less its mean over all orders, over that of the squared deviations."""
    excess, squares = 0.0, 0.0
    for values in tasks:
        deviations = values - np.mean(values)
        orders = np.array(list(itertools.permutations(deviations)))
        excess += float(np.sum(deviations[1:] * deviations[:-1]))
        excess -= float(np.mean(np.sum(orders[:, 1:] * orders[:, :-1], axis=1)))
        squares += float(np.sum(deviations**2))
    return excess / squares


def bias_reduced_mean(values: Values, half_width: float, confidence: float, price: float) -> float:
    """x̄ + min(1, κ·(z·s/h)²/n)·m₃/(m₂·n), with the central moments m₂ and m₃."""
    n, deviations = len(values), values - np.mean(values)
    z = stats.norm.ppf((1 + confidence) / 2)
    share = min(1.0, price * (z / half_width) ** 2 * float(np.var(values, ddof=1)) / n)
    return float(np.mean(values) + share * np.mean(deviations**3) / np.mean(deviations**2) / n)
