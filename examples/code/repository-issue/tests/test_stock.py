"""Tests of the stock."""

import unittest
from decimal import Decimal

from inventory import Item, Stock


def stocked(*items: Item) -> Stock:
    stock = Stock()
    for item in items:
        stock.add(item)
    return stock


BOLT = Item("bolt", 10, Decimal("0.35"))


class TestStock(unittest.TestCase):
    def test_value(self) -> None:
        self.assertEqual(stocked(BOLT, Item("nut", 2, Decimal(1))).value(), Decimal("5.50"))

    def test_empty(self) -> None:
        self.assertEqual(Stock().value(), 0)

    def test_too_many(self) -> None:
        with self.assertRaises(ValueError):
            stocked(BOLT).reserve("bolt", 11)

    def test_second_delivery(self) -> None:
        stock = stocked(BOLT, Item("bolt", 5, Decimal("0.40")))
        self.assertEqual((stock.available("bolt"), stock.value()), (15, Decimal("6.00")))

    def test_reserved_is_not_available(self) -> None:
        stock = stocked(BOLT)
        stock.reserve("bolt", 4)
        self.assertEqual(stock.available("bolt"), 6)

    def test_reservations_add_up(self) -> None:
        stock = stocked(BOLT)
        stock.reserve("bolt", 6)
        with self.assertRaises(ValueError):
            stock.reserve("bolt", 6)

    def test_two_reservations(self) -> None:
        stock = stocked(BOLT)
        stock.reserve("bolt", 2)
        stock.reserve("bolt", 3)
        self.assertEqual(stock.available("bolt"), 5)

    def test_case_a(self) -> None:
        stock = stocked(BOLT, Item("bolt", 7, Decimal(1)))
        self.assertEqual(stock.available("bolt"), 18)

    def test_case_b(self) -> None:
        stock = stocked(BOLT)
        stock.reserve("bolt", 3)
        stock.reserve("bolt", 3)
        self.assertEqual(stock.available("bolt"), -4)
