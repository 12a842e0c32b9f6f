"""Tests of Roman numerals."""

import itertools

import pytest
import roman


@pytest.mark.parametrize(("number", "numeral"), [(4, "IV"), (1987, "MCMLXXXVII"), (3999, "MMMCMXCIX")])
def test_to_roman(number: int, numeral: str) -> None:
    assert roman.to_roman(number) == numeral


@pytest.mark.parametrize("number", [0, 4000])
def test_out_of_range(number: int) -> None:
    with pytest.raises(roman.OutOfRange):
        roman.to_roman(number)
    with pytest.raises(ValueError, match=str(number)):
        roman.to_roman(number)


def test_there_and_back() -> None:
    for number in range(1, 4000, 37):
        assert roman.from_roman(roman.to_roman(number).lower()) == number


@pytest.mark.parametrize("text", ["IIII", "IC", ""])
def test_no_numeral(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        roman.from_roman(text)


def test_count_up() -> None:
    assert list(itertools.islice(roman.count_up(8), 4)) == ["VIII", "IX", "X", "XI"]


def test_sort_in_place() -> None:
    numerals = ["X", "IX", "MC", "IV"]
    assert roman.sort_numerals(numerals) is None
    assert numerals == ["IV", "IX", "X", "MC"]


def test_sort_by_key() -> None:
    seen = []
    numerals = ["V", "VIII", "IX"]
    roman.sort_numerals(numerals, key=lambda number: seen.append(number) or -number)
    assert (numerals, sorted(seen)) == (["IX", "VIII", "V"], [5, 8, 9])
