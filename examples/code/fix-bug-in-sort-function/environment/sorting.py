"""Sorting of records."""


def sort_records(records: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The records by their first field, ascending; records with equal fields stay in the order they came in."""
    if len(records) <= 1:
        return records
    pivot = records[len(records) // 2]
    smaller = [record for record in records if record[0] < pivot[0]]
    larger = [record for record in records if record[0] > pivot[0]]
    return [*sort_records(smaller), pivot, *sort_records(larger)]
