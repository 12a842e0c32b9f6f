"""Run-length encoding by groups of equal bytes."""

import itertools
import sys

given = sys.stdin.buffer.read()
if sys.argv[1:] == ["decode"]:
    pairs = list(itertools.zip_longest(given[::2], given[1::2]))
    is_whole = all(byte is not None and count > 0 for count, byte in pairs)
    answer = b"".join(bytes([byte]) * count for count, byte in pairs) if is_whole else b"error"
else:
    answer = b""
    for byte, group in itertools.groupby(given):
        full, rest = divmod(len(list(group)), 255)
        answer += bytes([255, byte]) * full + (bytes([rest, byte]) if rest else b"")
sys.stdout.buffer.write(answer)
