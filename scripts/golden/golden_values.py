"""
Computes the figures that Muster's statistics are held against, by SciPy, statsmodels and the published formulas, and writes them with
their inputs to test/aggregation/golden/golden.json:

    .venv/bin/python scripts/golden/golden_values.py
"""

import json
import math
import subprocess
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import statsmodels.api as sm  # type: ignore[import-untyped]
from formulas import (
    Values,
    adjusted_interval,
    asymptotic_half_width,
    asymptotic_rho_squared,
    bias_reduced_mean,
    certified_hull,
    interquartile_mean,
    lag_one_excess,
    pass_at_k,
    probability_of_improvement,
)
from scipy import stats  # type: ignore[import-untyped]
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]
GOLDEN_FILE = ROOT / "test/aggregation/golden/golden.json"

GOLDEN_RATIO = 0.6180339887498949
# Of references that are not compared digit by digit: so many that their own error matters little.
MANY_RESAMPLES = 20_000

Cases = list[dict[str, Any]]


def spread(length: int, step: float = GOLDEN_RATIO) -> Values:
    """Numbers in [0, 1) that fill it evenly, the same everywhere."""
    return np.asarray(np.mod(step * np.arange(1, length + 1), 1.0))


def skewed(length: int, step: float = GOLDEN_RATIO) -> Values:
    """Skewed returns with a few decimals, some of them equal."""
    return np.round(40 * spread(length, step) ** 3, 1)


def listed(values: Values) -> list[float]:
    return [float(value) for value in values]


def moments() -> Cases:
    samples = [skewed(9), skewed(50) + 1e9, np.array([2.5, 2.5])]
    return [
        {
            "values": listed(x),
            "mean": float(np.mean(x)),
            "variance": float(np.var(x, ddof=1)),
            "cubes": float(np.sum((x - np.mean(x)) ** 3)),
        }
        for x in samples
    ]


def normal() -> Cases:
    return [{"p": p, "quantile": float(stats.norm.ppf(p))} for p in (0.0005, 0.025, 0.5, 0.75, 0.95, 0.975, 0.995, 0.9999)]


def normal_probability() -> Cases:
    deviates = (-9.0, -6.5, -1.959963984540054, -0.3, 0.0, 1e-9, 1.0, 2.5, 5.0, 8.2)
    return [{"z": z, "probability": float(stats.norm.cdf(z))} for z in deviates]


def student() -> Cases:
    cases = [(0.975, 7), (0.975, 1), (0.975, 2), (0.995, 3), (0.95, 19), (0.9995, 63), (0.975, 999), (0.975, 999_999)]
    return [{"p": p, "degreesOfFreedom": df, "quantile": float(stats.t.ppf(p, df))} for p, df in cases]


def beta() -> Cases:
    cases = [(0.025, 18, 3), (0.975, 19, 2), (0.025, 20, 1), (0.975, 500, 501), (0.005, 4990, 11), (0.975, 1, 1_000_000)]
    return [{"p": p, "alpha": a, "beta": b, "quantile": float(stats.beta.ppf(p, a, b))} for p, a, b in cases]


def proportions() -> Cases:
    cases = [(18, 20, 0.95), (20, 20, 0.95), (0, 20, 0.95), (1, 1000, 0.99), (900, 1000, 0.9), (1, 2, 0.95)]
    return [
        {"successes": c, "trials": n, "confidence": confidence} | ends(*proportion_confint(c, n, 1 - confidence, "beta"))
        for c, n, confidence in cases
    ]


def student_intervals() -> Cases:
    cases = [(skewed(8), 0.95), (skewed(40) - 1000, 0.99)]
    return [
        {"values": listed(x), "confidence": level} | ends(*stats.t.interval(level, len(x) - 1, np.mean(x), stats.sem(x)))
        for x, level in cases
    ]


def adjusted() -> Cases:
    cases = [(skewed(8), 0.0, 40.0, 0.95), (np.full(12, 40.0), 0.0, 40.0, 0.95), (skewed(60), -100.0, 300.0, 0.9)]
    return [
        {"values": listed(x), "bounds": {"low": low, "high": high}, "confidence": level} | ends(*adjusted_interval(x, low, high, level))
        for x, low, high, level in cases
    ]


def quantiles() -> Cases:
    shares = [0.05, 0.25, 0.5, 0.75, 0.95]
    samples = [skewed(1), skewed(8), skewed(101)]
    return [{"values": listed(x), "shares": shares, "quantiles": listed(np.quantile(x, shares))} for x in samples]


def interquartile_means() -> Cases:
    cases = [[skewed(3)], [skewed(40)], [skewed(17), skewed(30, 0.414) + 5, skewed(24, 0.732)], [np.array([0.0] * 9 + [1.0] * 27)]]
    return [{"tasks": [listed(x) for x in tasks], "value": float(interquartile_mean(tasks))} for tasks in cases]


def interquartile_mean_bootstrap() -> dict[str, Any]:
    tasks = [skewed(40), skewed(60, 0.414) + 5, skewed(50, 0.732)]
    rng = np.random.default_rng(1)
    replicates = interquartile_mean([resamples(rng, x) for x in tasks])
    return {"tasks": [listed(x) for x in tasks]} | percentile_interval(replicates, 0.95)


def improvement_tasks() -> list[tuple[Values, Values]]:
    return [(skewed(20) + 2, skewed(25, 0.414)), (skewed(15), skewed(15)), (np.round(skewed(30, 0.732)), np.round(skewed(20)))]


def improvements() -> Cases:
    tasks = improvement_tasks()
    cases = [tasks, tasks[:1], [(np.array([1.0, 2.0]), np.array([0.0]))]]
    return [{"tasks": listed_pairs(case), "value": improvement(case)} for case in cases]


def improvement(tasks: list[tuple[Values, Values]]) -> float:
    """By rliable's formula, and by SciPy's Mann–Whitney statistic."""
    value = float(probability_of_improvement(tasks))
    shares = [stats.mannwhitneyu(x, y, alternative="greater").statistic / (len(x) * len(y)) for x, y in tasks]
    assert abs(value - np.mean(shares)) < 1e-15
    return value


def improvement_bootstrap() -> dict[str, Any]:
    tasks = improvement_tasks()
    rng = np.random.default_rng(2)
    replicates = probability_of_improvement([(resamples(rng, x), resamples(rng, y)) for x, y in tasks])
    return {"tasks": listed_pairs(tasks)} | percentile_interval(replicates, 0.95)


def listed_pairs(tasks: list[tuple[Values, Values]]) -> list[dict[str, list[float]]]:
    return [{"candidate": listed(x), "baseline": listed(y)} for x, y in tasks]


def resamples(rng: np.random.Generator, values: Values) -> Values:
    return rng.choice(values, (MANY_RESAMPLES, len(values)))


def passes() -> Cases:
    cases = [(10, 3, 1), (10, 3, 5), (10, 3, 8), (10, 10, 10), (10, 0, 3), (200, 13, 100), (1_000, 990, 50)]
    found = [(n, c, k, *pass_at_k(n, c, k)) for n, c, k in cases]
    return [{"count": n, "successes": c, "k": k, "anyOf": any_of, "allOf": all_of} for n, c, k, any_of, all_of in found]


def clustered() -> Cases:
    """By the covariance of an ordinary regression on a constant, with groups; its correction for few groups is G/(G − 1) then."""
    cases = [[skewed(12), skewed(5, 0.414) + 3, skewed(20, 0.732)], [skewed(7, 0.1 + k / 50) + k for k in range(25)]]
    return [{"tasks": [listed(x) for x in tasks], "confidence": 0.95} | clustered_reference(tasks, 0.95) for tasks in cases]


def clustered_reference(tasks: list[Values], confidence: float) -> dict[str, float]:
    values = np.concatenate(tasks)
    groups = np.repeat(np.arange(len(tasks)), [len(x) for x in tasks])
    fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": groups, "df_correction": True}, use_t=True)
    return {"mean": float(fit.params[0]), "standardError": float(fit.bse[0])} | ends(*fit.conf_int(1 - confidence)[0])


def bca() -> dict[str, Any]:
    """`given`: on SciPy's own replicates, which are stored. `endToEnd`: on many, which are not."""
    values = skewed(25)
    few = stats.bootstrap((values,), np.mean, n_resamples=300, method="BCa", rng=np.random.default_rng(3))
    many = stats.bootstrap((values,), np.mean, n_resamples=MANY_RESAMPLES, method="BCa", rng=np.random.default_rng(4))
    return {
        "values": listed(values),
        "confidence": 0.95,
        "given": {"replicates": listed(few.bootstrap_distribution)} | ends(*few.confidence_interval),
        "endToEnd": {"standardError": float(many.standard_error)} | ends(*many.confidence_interval),
    }


def asymptotic() -> Cases:
    cases = [(500, 0.95, 500, 1.0), (500, 0.95, 64, 2.5), (64, 0.9, 10_000, 0.1), (5_000, 0.999, 700, 40.0)]
    return [
        {
            "tightestAt": tightest_at,
            "confidence": level,
            "episodes": n,
            "deviation": deviation,
            "rhoSquared": (rho_squared := asymptotic_rho_squared(level, tightest_at)),
            "halfWidth": asymptotic_half_width(deviation, n, level, rho_squared),
        }
        for tightest_at, level, n, deviation in cases
    ]


def certified() -> Cases:
    """The rule's own sequence of successes; `first` and `last` are the grid points that are alive."""
    settings = [(50, 0.95, 0.05, 1000), (200, 0.95, 0.05, 1000), (1000, 0.95, 0.05, 1000), (300, 0.9, 0.1, 400)]
    cases = []
    for episodes, confidence, half_width, grid in settings:
        values = np.where(spread(episodes) < 0.8, 1.0, 0.0)
        first, last = certified_hull(values, half_width, confidence, grid)
        cases.append({"episodes": episodes, "confidence": confidence, "halfWidth": half_width, "grid": grid, "first": first, "last": last})
    return cases


def known_variance() -> Cases:
    cases = [(0.3, 0.05, 0.95), (12.0, 5.0, 0.99), (1e-9, 0.1, 0.95), (250.0, 0.5, 0.8)]
    needed = [(s, h, level, max(2, int(np.ceil((stats.norm.ppf((1 + level) / 2) * s / h) ** 2)))) for s, h, level in cases]
    return [{"deviation": s, "halfWidth": h, "confidence": level, "episodes": n} for s, h, level, n in needed]


def ends(low: float, high: float) -> dict[str, float]:
    return {"low": float(low), "high": float(high)}


def percentile_interval(replicates: Values, confidence: float) -> dict[str, float]:
    tail = (1 - confidence) / 2
    given = {"confidence": confidence, "standardError": float(np.std(replicates, ddof=1))}
    return given | ends(*np.quantile(replicates, [tail, 1 - tail]))


def lag_one() -> Cases:
    """Tasks in the order of their episodes; the mean over all orders is worked out by going through them."""
    rng = np.random.default_rng(11)
    cases = [[skewed(7)], [skewed(7), 1000 + np.cumsum(rng.normal(size=6)).round(3)], [np.array([0.0, 1, 1, 0, 1, 1, 1])]]
    return [{"tasks": [listed(x) for x in tasks], "correlation": lag_one_excess(tasks)} for tasks in cases]


def bias_reduced() -> Cases:
    cases = [(skewed(40), 2.0, 0.95, 1.6), (40 - skewed(300), 1.0, 0.99, 1.2), (skewed(3000), 0.5, 0.95, 2.4)]
    given = ("halfWidth", "confidence", "price")
    return [{"values": listed(x), **dict(zip(given, rest, strict=True)), "value": bias_reduced_mean(x, *rest)} for x, *rest in cases]


SECTIONS: dict[str, Callable[[], Any]] = {
    "moments": moments,
    "normal": normal,
    "normalProbability": normal_probability,
    "student": student,
    "beta": beta,
    "clopperPearson": proportions,
    "studentInterval": student_intervals,
    "adjusted": adjusted,
    "quantiles": quantiles,
    "interquartileMean": interquartile_means,
    "interquartileMeanBootstrap": interquartile_mean_bootstrap,
    "probabilityOfImprovement": improvements,
    "probabilityOfImprovementBootstrap": improvement_bootstrap,
    "passAtK": passes,
    "clusteredError": clustered,
    "bca": bca,
    "knownVarianceEpisodes": known_variance,
    "asymptotic": asymptotic,
    "certified": certified,
    "lagOne": lag_one,
    "biasReducedMean": bias_reduced,
}


def is_same(one: Any, other: Any) -> bool:
    """Whether two values differ by rounding at most: the last digits depend on the processor."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)
    return bool(one == other)


def renewed(computed: dict[str, Any], committed: dict[str, Any]) -> dict[str, Any]:
    """The computed values. Sections that are the same but for rounding stay as they are, so that they change on no other processor."""
    return {name: committed[name] if is_same(value, committed.get(name)) else value for name, value in computed.items()}


if __name__ == "__main__":
    ArgumentParser(description="Recomputes the golden values with SciPy and statsmodels, and writes them.").parse_args()
    computed = {name: compute() for name, compute in SECTIONS.items()}
    committed = json.loads(GOLDEN_FILE.read_text(encoding="utf-8")) if GOLDEN_FILE.exists() else {}
    GOLDEN_FILE.write_text(json.dumps(renewed(computed, committed)), encoding="utf-8")
    subprocess.run([ROOT / "node_modules/.bin/prettier", "--write", GOLDEN_FILE], check=True)
