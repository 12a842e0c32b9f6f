"""bytes.split without an argument splits at ASCII white space."""

import sys

text = sys.stdin.buffer.read()
print(text.count(b"\n"), len(text.split()), len(text))
