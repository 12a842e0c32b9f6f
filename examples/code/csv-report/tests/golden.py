"""Joins orders with prices and writes what each customer owes."""

import csv
from collections import defaultdict
from decimal import Decimal

with open("prices.csv", newline="", encoding="utf-8") as file:
    prices = {row["item"]: Decimal(row["price"]) for row in csv.DictReader(file)}
owed: defaultdict[str, Decimal] = defaultdict(Decimal)
with open("orders.csv", newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        if row["item"] in prices:
            owed[row["customer"]] += prices[row["item"]] * int(row["quantity"])
with open("owed.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["customer", "owed"])
    for customer in sorted(owed):
        writer.writerow([customer, f"{owed[customer]:.2f}"])
