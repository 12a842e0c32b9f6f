"""Tests of the lines of text."""

import unittest
from decimal import Decimal

from inventory import Item, parse_item


class TestItems(unittest.TestCase):
    def test_parse(self) -> None:
        self.assertEqual(parse_item(" bolt ; 12;0.35"), Item("bolt", 12, Decimal("0.35")))

    def test_negative(self) -> None:
        with self.assertRaises(ValueError):
            parse_item("bolt; -1; 1")

    def test_case_c(self) -> None:
        self.assertEqual(parse_item("nut; 3; 2").quantity, 4)
