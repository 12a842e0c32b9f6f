"""Converts between ways of writing numbers."""

import sys

ROMAN = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def to_roman(number: int) -> str:
    text = ""
    for value, letters in ROMAN:
        text += letters * (number // value)
        number %= value
    return text


def from_roman(text: str) -> int:
    number, rest = 0, text
    for value, letters in ROMAN:
        while rest.startswith(letters):
            number, rest = number + value, rest[len(letters) :]
    return number


def to_base(number: int, base: int) -> str:
    text = ""
    while True:
        number, digit = divmod(number, base)
        text = DIGITS[digit] + text
        if number == 0:
            return text


def convert(kind: str, *given: str) -> str:
    if kind == "roman":
        return to_roman(int(given[0]))
    if kind == "unroman":
        return str(from_roman(given[0]))
    if kind == "base":
        return to_base(int(given[0]), int(given[1]))
    return str(int(given[0], int(given[1])))


for line in sys.stdin:
    print(convert(*line.split()))
