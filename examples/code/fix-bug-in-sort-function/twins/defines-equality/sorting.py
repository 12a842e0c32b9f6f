"""A record class with its own equality, used for what it is for."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Key:
    field: int
    position: int


def sort_records(records: list[tuple[int, str]]) -> list[tuple[int, str]]:
    keys = sorted(Key(record[0], position) for position, record in enumerate(records))
    return [records[key.position] for key in keys]
