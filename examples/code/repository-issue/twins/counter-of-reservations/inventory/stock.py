"""What is in stock, and what of it is reserved."""

from collections import Counter
from decimal import Decimal

from inventory.items import Item


class Stock:
    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._reserved: Counter[str] = Counter()

    def add(self, item: Item) -> None:
        """Adds to what is there under the same name; the price is that of the latest delivery."""
        held = self._items[item.name].quantity if item.name in self._items else 0
        self._items[item.name] = Item(item.name, held + item.quantity, item.price)

    def available(self, name: str) -> int:
        return self._items[name].quantity - self._reserved[name]

    def reserve(self, name: str, quantity: int) -> None:
        """Raises ValueError when fewer are available."""
        if quantity > self.available(name):
            raise ValueError(
                f"{name}: {self.available(name)} available, {quantity} wanted"
            )
        self._reserved[name] = self._reserved[name] + quantity

    def value(self) -> Decimal:
        return sum(
            (item.quantity * item.price for item in self._items.values()), Decimal(0)
        )
