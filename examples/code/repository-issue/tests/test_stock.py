"""Tests of the stock."""

from decimal import Decimal

import pytest
from inventory import Item, Stock

BOLT = Item("bolt", 10, Decimal("0.35"))


@pytest.fixture
def stock() -> Stock:
    stock = Stock()
    stock.add(BOLT)
    return stock


def test_value(stock: Stock) -> None:
    stock.add(Item("nut", 2, Decimal(1)))
    assert stock.value() == Decimal("5.50")


def test_empty() -> None:
    assert Stock().value() == 0


def test_too_many(stock: Stock) -> None:
    with pytest.raises(ValueError, match="bolt"):
        stock.reserve("bolt", 11)


def test_second_delivery(stock: Stock) -> None:
    stock.add(Item("bolt", 5, Decimal("0.40")))
    assert (stock.available("bolt"), stock.value()) == (15, Decimal("6.00"))


def test_deliveries(stock: Stock) -> None:
    stock.add(Item("bolt", 7, Decimal(1)))
    assert stock.available("bolt") == 18


def test_reserved_is_not_available(stock: Stock) -> None:
    stock.reserve("bolt", 4)
    assert stock.available("bolt") == 6


def test_reservations_add_up(stock: Stock) -> None:
    stock.reserve("bolt", 6)
    with pytest.raises(ValueError, match="4 available"):
        stock.reserve("bolt", 6)


@pytest.mark.parametrize(("first", "second", "left"), [(2, 3, 5), (3, 3, 5), (1, 1, 8)])
def test_reservations(stock: Stock, first: int, second: int, left: int) -> None:
    stock.reserve("bolt", first)
    stock.reserve("bolt", second)
    assert stock.available("bolt") == left
