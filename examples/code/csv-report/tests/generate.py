"""Orders with names that need quotes, and prices whose sums binary fractions get wrong."""

import csv
import io
import json
import os
import random

chance = random.Random(os.environ["MUSTER_SEED"])
NAMES = ["Ada", "Grace, Rear Admiral", 'Edsger "EWD"', "Zuse\nKonrad", "Émilie", "ada", "  Alan "]


def table(header: list[str], rows: list[list[object]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return file.getvalue()


for _ in range(int(os.environ["MUSTER_CASES"])):
    items = [f"item {number}" for number in range(chance.randint(2, 12))]
    prices = [[item, f"{chance.randint(1, 99999) / 100:.2f}"] for item in items[1:]]
    orders = [[chance.choice(NAMES), chance.choice(items), chance.randint(1, 1000)] for _ in range(chance.randint(3, 80))]
    files = {"orders.csv": table(["customer", "item", "quantity"], orders), "prices.csv": table(["item", "price"], prices)}
    print(json.dumps({"files": files}))
