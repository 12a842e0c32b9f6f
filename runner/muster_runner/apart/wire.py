"""What travels between the two programs, byte by byte.

A request is a header and a body; so is its answer. Numbers are little-endian. Nothing else is ever on the line, and the policy's program
says nothing that it was not asked for, but for one GREETING when it is ready.
"""

import struct
from enum import IntEnum


class Request(IntEnum):
    """Requests of the environment's program."""

    """JSON: path, digest, whether it is verified. Answered without a body."""
    LOAD = 1
    """JSON: the spaces, whether actions are deterministic, how many rows. The header gives the fit its number. Answered without a body, or
    with REMARKS."""
    FIT = 2
    """RESET_BODY. Answered without a body."""
    RESET = 3
    """An observation. Answered with an action."""
    ACT = 4
    """Row numbers, then an observation for each. Answered with an action for each."""
    ACT_ROWS = 5
    """The same as a vector environment has them: part after part of the space, each for all rows."""
    ACT_BATCH = 6


class Answer(IntEnum):
    DONE = 0
    """UTF-8: what the policy raised."""
    FAILED = 1
    """The same where it was a MemoryError."""
    OUT_OF_MEMORY = 2
    """UTF-8: why the checkpoint, or a fit, is refused."""
    REFUSED = 3
    """Of ACT_ROWS: how many rows failed, then for each a ROW_FAULT and its text, then an action for each row."""
    ROWS_FAILED = 4
    """Of FIT: a JSON list of texts for the checkpoint's author."""
    REMARKS = 5


GREETING = b"muster-policy/1\n"

# Request, whether observations have the form that their space names, number of the fit, rows, bytes of the body, nonce.
REQUEST = struct.Struct("<BBxxIII8s")
NONCE_AT = REQUEST.size - 8
# Answer, bytes of the body, the request's nonce.
ANSWER = struct.Struct("<BxxxI8s")

# Row (0 for a policy of single observations), seed; the seed of what rows share where a block begins with it, else -1.
RESET_BODY = struct.Struct("<qqq")
COUNT = struct.Struct("<I")
# Position in the request, whether it was a MemoryError, bytes of the text.
ROW_FAULT = struct.Struct("<IBxxxI")

# Longest text in an answer, in bytes; of all failed rows together, with what precedes each.
MAX_TEXT_BYTES = 64 * 1024

# What `space_data` describes, in words.
SENT_SPACES = "Box, Discrete, MultiDiscrete, MultiBinary, Tuple and Dict"
