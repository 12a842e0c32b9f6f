"""Texts are of a class of its own inside, and leave it as texts."""


class Numeral(str):
    def __eq__(self, other):
        return str.__eq__(self.upper(), str(other).upper())

    __hash__ = str.__hash__


VALUES = {"M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90, "L": 50, "XL": 40, "X": 10, "IX": 9, "V": 5, "IV": 4, "I": 1}


class OutOfRange(ValueError):
    """Has no numeral."""


def to_roman(number):
    if not 1 <= number <= 3999:
        raise OutOfRange(f"{number} has no numeral")
    text = ""
    for letters, value in VALUES.items():
        while number >= value:
            text += letters
            number -= value
    return Numeral(text)


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
