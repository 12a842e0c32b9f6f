"""The messages between the two programs, byte by byte.

A request is a header and a body, and so is its answer. Numbers are little-endian. The policy's program sends only answers, and one GREETING
when it is ready.
"""

import struct
from enum import IntEnum


class Request(IntEnum):
    """Requests of the environment's program."""

    # JSON: path, digest, whether it is verified. The answer has no body.
    LOAD = 1
    # JSON: the spaces, whether actions are deterministic, the number of rows. The header numbers the fit. The answer has no body, or is
    # REMARKS.
    FIT = 2
    # RESET_BODY. The answer has no body.
    RESET = 3
    # An observation. The answer is an action.
    ACT = 4
    # Row numbers, then an observation for each. The answer is an action for each.
    ACT_ROWS = 5
    # Row numbers, then the arrays of a vector environment: for each leaf of the space, the values of all rows. The answer has
    # actions in the same form.
    ACT_BATCH = 6


class Answer(IntEnum):
    DONE = 0
    # UTF-8: the policy's exception.
    FAILED = 1
    # UTF-8: the policy's exception, which was a MemoryError.
    OUT_OF_MEMORY = 2
    # UTF-8: the reason why the checkpoint, or a fit, is refused.
    REFUSED = 3
    # Answers ACT_ROWS: the number of failed rows, then for each a ROW_FAULT and its text, then an action for each row.
    ROWS_FAILED = 4
    # Answers FIT: a JSON list of texts for the checkpoint's author.
    REMARKS = 5


GREETING = b"muster-policy/1\n"

# Request, whether observations have the types of their space, number of the fit, number of rows, bytes of the body, nonce.
REQUEST = struct.Struct("<BBxxIII8s")
NONCE_AT = REQUEST.size - 8
# Answer, bytes of the body, the request's nonce.
ANSWER = struct.Struct("<BxxxI8s")

# Row (0 for a policy of single observations), seed, seed of the block if this is its first reset (else -1).
RESET_BODY = struct.Struct("<qqq")
COUNT = struct.Struct("<I")
# Position in the request, whether the exception was a MemoryError, bytes of the text.
ROW_FAULT = struct.Struct("<IBxxxI")

# Longest text in an answer, in bytes. It also bounds the texts of all failed rows together, headers included.
MAX_TEXT_BYTES = 64 * 1024

# The spaces that `space_data` can describe, for messages.
SENT_SPACES = "Box, Discrete, MultiDiscrete, MultiBinary, Tuple and Dict"
