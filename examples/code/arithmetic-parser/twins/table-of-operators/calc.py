"""A parser of arithmetic by recursive descent, and its value as an exact fraction."""

import operator as operators
import re
import sys
from fractions import Fraction

TOKEN = re.compile(r"\s*(?:(\d+)|(\*\*|[-+*/()]))")
MOST_EXPONENT = 64
OPERATORS = {"*": operators.mul, "/": operators.truediv}


class Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at, text = 0, text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise ValueError(text[at:])
            self.tokens.append(match[1] or match[2])
            at = match.end()
        self.tokens.append("")
        self.at = 0

    def take(self, *expected: str) -> str | None:
        if self.tokens[self.at] not in expected:
            return None
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self) -> Fraction:
        value = self.product()
        while operator := self.take("+", "-"):
            value = value + self.product() if operator == "+" else value - self.product()
        return value

    def product(self) -> Fraction:
        value = self.sign()
        while operator := self.take("*", "/"):
            value = OPERATORS[operator](value, self.sign())
        return value

    def sign(self) -> Fraction:
        if self.take("-"):
            return -self.sign()
        return self.power()

    def power(self) -> Fraction:
        base = self.primary()
        if not self.take("**"):
            return base
        exponent = self.sign()
        if exponent.denominator != 1 or abs(exponent) > MOST_EXPONENT:
            raise ValueError(exponent)
        return base ** int(exponent)

    def primary(self) -> Fraction:
        token = self.tokens[self.at]
        if self.take("("):
            value = self.sum()
            if not self.take(")"):
                raise ValueError(token)
            return value
        if not token.isdigit():
            raise ValueError(token)
        self.at += 1
        return Fraction(int(token))


def value_of(text: str) -> str:
    try:
        parser = Parser(text)
        value = parser.sum()
        return str(value) if parser.tokens[parser.at] == "" else "error"
    except (ValueError, ZeroDivisionError):
        return "error"


for line in sys.stdin:
    print(value_of(line))
