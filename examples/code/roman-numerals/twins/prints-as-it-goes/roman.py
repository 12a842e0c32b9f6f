"""Says what it does, on both outputs, as one does while looking for a mistake."""

import sys

print("imported", flush=True)

VALUES = {"M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90, "L": 50, "XL": 40, "X": 10, "IX": 9, "V": 5, "IV": 4, "I": 1}


class OutOfRange(ValueError):
    """Has no numeral."""


def to_roman(number):
    if not 1 <= number <= 3999:
        raise OutOfRange(f"{number} has no numeral")
    print("to_roman", number, file=sys.stderr)
    text = ""
    for letters, value in VALUES.items():
        while number >= value:
            text += letters
            number -= value
    return text


def from_roman(text):
    number, rest = 0, text.upper()
    for letters, value in VALUES.items():
        while rest.startswith(letters):
            number += value
            rest = rest[len(letters) :]
    if not 1 <= number <= 3999 or to_roman(number) != text.upper():
        raise ValueError(f"{text!r} is no numeral")
    return number


def count_up(start):
    for number in range(start, 4000):
        yield to_roman(number)


def sort_numerals(numerals, key=None):
    numerals.sort(key=lambda each: from_roman(each) if key is None else key(from_roman(each)))
