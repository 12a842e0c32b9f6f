"""The product, each number summed exactly and rounded once."""

import math
import struct
import sys

given = sys.stdin.buffer.read()
(size,) = struct.unpack_from("<q", given)
numbers = struct.unpack_from(f"<{2 * size * size}d", given, 8)
rows = [numbers[row * size : (row + 1) * size] for row in range(size)]
columns = [numbers[size * size + column :: size] for column in range(size)]
product = [math.fsum(map(float.__mul__, row, column)) for row in rows for column in columns]
sys.stdout.buffer.write(struct.pack(f"<{len(product)}d", *product))
