"""A small inventory: items, reservations and a report."""

from inventory.items import Item, parse_item
from inventory.stock import Stock

__all__ = ["Item", "Stock", "parse_item"]
