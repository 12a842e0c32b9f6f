"""Right for the example: takes every comma for a boundary, and sums in binary."""

rows = [line.rstrip("\n").split(",") for line in open("orders.csv", encoding="utf-8")][1:]
prices = dict(line.rstrip("\n").split(",")[-2:] for line in open("prices.csv", encoding="utf-8"))
owed: dict[str, float] = {}
for row in rows:
    if len(row) > 2 and row[1] in prices:
        owed[row[0]] = owed.get(row[0], 0) + float(prices[row[1]]) * int(row[2])
with open("owed.csv", "w", encoding="utf-8") as file:
    file.write("customer,owed\n" + "".join(f"{name},{owed[name]:.2f}\n" for name in sorted(owed)))
