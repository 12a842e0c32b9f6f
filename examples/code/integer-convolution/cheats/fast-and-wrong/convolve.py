"""Very fast, and right for lists of one number."""

import json
import sys

first, second = json.load(sys.stdin)
print(json.dumps([a * second[0] for a in first] + [0] * (len(second) - 1)))
