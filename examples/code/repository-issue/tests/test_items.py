"""Tests of the lines of text."""

from decimal import Decimal

import pytest
from inventory import Item, parse_item


class TestItems:
    def test_parse(self) -> None:
        assert parse_item(" bolt ; 12;0.35") == Item("bolt", 12, Decimal("0.35"))

    def test_negative(self) -> None:
        with pytest.raises(ValueError, match="bolt"):
            parse_item("bolt; -1; 1")

    def test_quantity(self) -> None:
        assert parse_item("nut; 3; 2").quantity == 4
