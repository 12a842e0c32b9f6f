"""Python's own sort is stable."""

import json
import sys

print(json.dumps(sorted(json.load(sys.stdin), key=lambda record: record[0])))
