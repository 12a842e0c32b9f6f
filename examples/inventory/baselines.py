"""Order rules from textbooks. They read the same observation as the policy.

The numbers of the `tuned_` rules are the best of a grid search over the suite's three kinds of demand, by its weights (the grid is in
README.md).
"""

import numpy as np
from numpy.typing import NDArray

from examples.inventory.environment.shop import BUYING, CUSTOMERS, LARGEST_ORDER, LEAD_TIME, PRODUCTS

PIPELINE_ROWS = LEAD_TIME + 1
SLOW_AVERAGE_ROW = 6
FAST_AVERAGE_ROW = 5


def tuned_base_stock(observation: NDArray[np.float32]) -> NDArray[np.float32]:
    return base_stock(observation, days=7)


def tuned_joint_reorder(observation: NDArray[np.float32]) -> NDArray[np.float32]:
    return joint_reorder(observation, reorder_days=4, target_days=10, row=FAST_AVERAGE_ROW)


def base_stock(observation: NDArray[np.float32], days: float) -> NDArray[np.float32]:
    """Orders each product every day, up to the given days of its average demand (Arrow, Harris and Marschak 1951)."""
    rows = _rows(observation)
    return _order(days * CUSTOMERS * BUYING - _position(rows))


def joint_reorder(observation: NDArray[np.float32], reorder_days: float, target_days: float, row: int) -> NDArray[np.float32]:
    """Orders all products up to the target once any of them falls to the given days of forecast demand (Balintfy's can-order rule of 1964,
    with the can-order level at the target). The forecast is an average of past demand: `row` selects which.
    """
    rows = _rows(observation)
    forecast = np.maximum(rows[row], 0.05 * CUSTOMERS)
    position = _position(rows)
    if np.all(position > reorder_days * forecast):
        return np.zeros(1 + PRODUCTS, np.float32)
    return _order(target_days * forecast - position)


def _rows(observation: NDArray[np.float32]) -> NDArray[np.float64]:
    """Returns [7, PRODUCTS], in units."""
    rows: NDArray[np.float64] = observation[: 7 * PRODUCTS].reshape(7, PRODUCTS).astype(np.float64) * CUSTOMERS
    return rows


def _position(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the units on the shelf or on their way."""
    position: NDArray[np.float64] = rows[:PIPELINE_ROWS].sum(axis=0)
    return position


def _order(units: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.concatenate([[1], np.clip(units / LARGEST_ORDER, 0, 1)]).astype(np.float32)
