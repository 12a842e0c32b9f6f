"""Converts between ways of writing numbers."""

ROMAN = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def to_roman(number: int) -> str:
    text = ""
    for value, letters in ROMAN:
        text += letters * (number // value)
        number %= value
    return text


def to_base(number: int, base: int) -> str:
    text = ""
    while True:
        number, digit = divmod(number, base)
        text = DIGITS[digit] + text
        if number == 0:
            return text
