"""Items, as a line of text has them: name, quantity, price."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Item:
    name: str
    quantity: int
    price: Decimal


def parse_item(line: str) -> Item:
    """`bolt; 12; 0.35`. Raises ValueError for anything else."""
    name, quantity, price = (part.strip() for part in line.split(";"))
    item = Item(name, int(quantity), Decimal(price))
    if not item.name or item.quantity < 0 or item.price < 0:
        raise ValueError(line)
    return item
