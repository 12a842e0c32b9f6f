"""The convolution as one product of whole numbers that hold the lists digit by digit."""

import json
import sys

first, second = json.load(sys.stdin)
# No coefficient reaches half of this.
BITS = 64
WIDTH = BITS // 8
count = len(first) + len(second) - 1


def packed(numbers: list[int]) -> int:
    positive = b"".join(max(number, 0).to_bytes(WIDTH, "little") for number in numbers)
    negative = b"".join(max(-number, 0).to_bytes(WIDTH, "little") for number in numbers)
    return int.from_bytes(positive, "little") - int.from_bytes(negative, "little")


# With half of the base added everywhere, no digit is negative.
offset = sum(1 << (BITS * at + BITS - 1) for at in range(count))
digits = (packed(first) * packed(second) + offset).to_bytes(WIDTH * (count + 1), "little")
half = 1 << (BITS - 1)
print(json.dumps([int.from_bytes(digits[WIDTH * at : WIDTH * (at + 1)], "little") - half for at in range(count)]))
