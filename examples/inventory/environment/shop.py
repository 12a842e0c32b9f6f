"""Ordering for a shop: how much of each of three products should the next lorry bring?

Orders arrive `LEAD_TIME` days later. Who finds an empty shelf buys elsewhere and is annoyed (lost sales, a penalty), what
stands on a shelf costs every day (holding), and a lorry costs the same whether it is full or nearly empty, so orders want to
be joined. The lost-sales problem with a lead time has no simple optimal rule (Zipkin 2008, "Old and new methods for
lost-sales inventory systems", Operations Research 56).

A day's demand is binomial: so many customers pass, and each buys with the day's probability. It is therefore bounded, and
with it the profit. All demand is drawn at reset, so two policies with the same seed meet the same customers.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from numpy.typing import NDArray

Demand = Literal["steady", "seasonal", "volatile"]

PRODUCTS = 3
DAYS = 90
LEAD_TIME = 3
SEASON = 30
"""Days of one season."""
LARGEST_ORDER = 40
"""Units of one product in one order."""

# One entry a product. Money is in arbitrary units.
CUSTOMERS = np.array([30, 20, 12])
"""Who pass in a day."""
BUYING = np.array([0.30, 0.35, 0.40])
"""Probability that one of them wants to buy, on an average day."""
MARGIN = np.array([4.0, 6.0, 12.0])
"""Earned by a sale, over the purchase price. Unsold goods keep their value."""
HOLDING = np.array([0.15, 0.2, 0.5])
"""Paid for each unit that is on the shelf at the end of a day."""
PENALTY = np.array([2.0, 3.0, 6.0])
"""Paid for each customer who wanted one and found none."""
SHELF = np.array([120, 100, 60])
"""Units that fit. What is ordered beyond the room that is left (counting what is on its way) is not bought."""
LORRY = 40.0
"""Paid for an order, of whatever size."""

HIGHEST_DAY = float((CUSTOMERS * MARGIN).sum())
"""Every customer of the day buys."""
LOWEST_DAY = -float(np.maximum(CUSTOMERS * PENALTY, SHELF * HOLDING).sum() + LORRY)
"""Of each product all customers are lost or the shelf is full (it cannot be both), and a lorry came."""
BOUNDS = (LOWEST_DAY / HIGHEST_DAY, 1.0)
"""Of the return: an episode's profit as a share of what it would be if every customer bought every day at no cost."""

_AMPLITUDE = 0.7
"""Of the season, relative to the average day."""
_MEMORY = 0.9
_SHOCK = 0.5
"""The volatile demand's probability moves as exp(x), where x keeps `_MEMORY` of itself from day to day, and normal draws are added that
lead to this standard deviation of x in the long run."""


@dataclass
class _Books:
    """What happened so far, for the metrics."""

    sold: int = 0
    wanted: int = 0
    lorries: int = 0
    stock: float = 0.0


class Shop(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """Observation, 7 × 3 + 3 numbers: of each product the stock, what arrives in 1, 2 and 3 days, what was wanted yesterday,
    the demand's fast and its slow average (each as a share of a day's customers); then sine and cosine of the season, and
    how much of the 90 days has passed.

    Action, 1 + 3 numbers from 0 to 1: whether the lorry comes (0.5 or more); of each product the share of `LARGEST_ORDER`
    that it then brings, rounded to whole units.

    Reward: the day's profit, scaled so that the return lies in `BOUNDS`. The episode is truncated after `DAYS`.

    Last info: `fillRate` (share of the wanted units that were sold), `meanStock` (units), `orderDays` (share of days with a
    lorry).
    """

    def __init__(self, demand: Demand) -> None:
        if demand not in get_args(Demand):
            raise ValueError(f"demand: expected one of {', '.join(get_args(Demand))}, not {demand!r}")
        self._demand: Demand = demand
        limit = float((SHELF / CUSTOMERS).max())
        low = np.concatenate([np.zeros(7 * PRODUCTS), [-1, -1, 0]]).astype(np.float32)
        high = np.concatenate([np.full(7 * PRODUCTS, limit), [1, 1, 1]]).astype(np.float32)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (1 + PRODUCTS,), dtype=np.float32)

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 (part of gymnasium's interface)
    ) -> tuple[NDArray[np.float32], dict[str, float]]:
        super().reset(seed=seed)
        self._first_day = int(self.np_random.integers(SEASON))
        self._wanted = self.np_random.binomial(CUSTOMERS, self._buying())
        self._stock = np.round(CUSTOMERS * BUYING * LEAD_TIME).astype(np.int64)
        self._coming = np.zeros((LEAD_TIME, PRODUCTS), np.int64)
        self._day = 0
        self._fast = CUSTOMERS * BUYING
        self._slow = CUSTOMERS * BUYING
        self._books = _Books()
        return self._observation(np.zeros(PRODUCTS)), {}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, float]]:
        ordered = self._order(np.asarray(action, np.float64))
        self._stock = self._stock + self._coming[0]
        self._coming = np.concatenate([self._coming[1:], ordered[None]])
        wanted = self._wanted[self._day]
        sold = np.minimum(wanted, self._stock)
        self._stock = self._stock - sold
        self._day += 1
        profit = self._settle(ordered, wanted, sold)
        over = self._day == DAYS
        return self._observation(wanted), profit / (HIGHEST_DAY * DAYS), False, over, self._metrics() if over else {}

    def _buying(self) -> NDArray[np.float64]:
        """[DAYS, PRODUCTS]: the probability that a customer wants to buy."""
        match self._demand:
            case "steady":
                factor = np.ones((DAYS, PRODUCTS))
            case "seasonal":
                days = self._first_day + np.arange(DAYS)
                factor = np.repeat((1 + _AMPLITUDE * np.sin(2 * np.pi * days / SEASON))[:, None], PRODUCTS, axis=1)
            case "volatile":
                factor = np.exp(self._wandering())
        return np.minimum(BUYING * factor, 0.95)

    def _wandering(self) -> NDArray[np.float64]:
        shocks = self.np_random.standard_normal((DAYS, PRODUCTS)) * _SHOCK * (1 - _MEMORY**2) ** 0.5
        path = np.empty((DAYS, PRODUCTS))
        level = np.zeros(PRODUCTS)
        for day, shock in enumerate(shocks):
            level = _MEMORY * level + shock
            path[day] = level
        return path

    def _order(self, action: NDArray[np.float64]) -> NDArray[np.int64]:
        if action.shape != (1 + PRODUCTS,) or not np.all((action >= 0) & (action <= 1)):
            raise ValueError(f"action: expected {1 + PRODUCTS} numbers from 0 to 1, not {action}")
        if action[0] < 0.5:
            return np.zeros(PRODUCTS, np.int64)
        room: NDArray[np.int64] = SHELF - self._stock - self._coming.sum(axis=0)
        bought: NDArray[np.int64] = np.minimum(np.rint(action[1:] * LARGEST_ORDER).astype(np.int64), room)
        return bought

    def _settle(self, ordered: NDArray[np.int64], wanted: NDArray[np.int64], sold: NDArray[np.int64]) -> float:
        """Enters the day in the books. → its profit, in money."""
        lorry = bool(ordered.any())
        books = self._books
        books.sold += int(sold.sum())
        books.wanted += int(wanted.sum())
        books.lorries += lorry
        books.stock += float(self._stock.sum())
        costs = (HOLDING * self._stock).sum() + (PENALTY * (wanted - sold)).sum() + LORRY * lorry
        return float((MARGIN * sold).sum() - costs)

    def _observation(self, wanted: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float32]:
        if self._day:
            self._fast = 0.6 * self._fast + 0.4 * wanted
            self._slow = 0.9 * self._slow + 0.1 * wanted
        phase = 2 * np.pi * (self._first_day + self._day) / SEASON
        rows = np.concatenate([self._stock, self._coming.ravel(), wanted, self._fast, self._slow]).reshape(7, PRODUCTS) / CUSTOMERS
        return np.concatenate([rows.ravel(), [np.sin(phase), np.cos(phase), self._day / DAYS]]).astype(np.float32)

    def _metrics(self) -> dict[str, float]:
        books = self._books
        return {
            "fillRate": books.sold / max(1, books.wanted),
            "meanStock": books.stock / DAYS,
            "orderDays": books.lorries / DAYS,
        }


def make(demand: Demand) -> Shop:
    """The suite's entry. `demand`: "steady", "seasonal" (a sine of 30 days) or "volatile" (wandering, each product on its own)."""
    return Shop(demand)
