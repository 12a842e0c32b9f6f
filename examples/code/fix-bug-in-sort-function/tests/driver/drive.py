"""Calls the candidate's function on one list. It runs in the candidate's process, so nothing that it says is believed: its output is compared."""

import json
import sys

sys.path.insert(0, "/app")

from sorting import sort_records

records = [tuple(record) for record in json.load(sys.stdin)]
print(json.dumps([list(record) for record in sort_records(records)]))
