"""One order in, one answer out."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, TextIO

from muster_puller.directory import FetchedFiles, pull
from muster_puller.failure import PullError
from muster_puller.order import parse_pull
from muster_runner.json_fields import FieldError, Object, as_choice, parse_object, required

EXIT_USAGE = 64
# A checkpoint of ten thousand files, each with a long name and a signed address.
_MOST_ORDER_BYTES = 64 * 2**20


def run(orders: BinaryIO, answers: TextIO) -> int:
    """@returns the process's exit code: 0 also for an answer that says what went wrong."""
    try:
        carry_out = _carrier(parse_object(orders.read(_MOST_ORDER_BYTES), "order"))
    except FieldError as error:
        print(f"pull: {error}", file=sys.stderr)
        return EXIT_USAGE
    try:
        answer: Mapping[str, Any] = {"kind": "done", **carry_out()}
    except PullError as error:
        answer = {"kind": "failed", "code": error.code, "message": str(error)}
    print(json.dumps(answer), file=answers, flush=True)
    return 0


def _carrier(document: Object) -> Callable[[], Object]:
    """@raises FieldError"""
    as_choice(required(document, "kind", "order"), "order.kind", ("pull",))
    order = parse_pull(document)
    return lambda: _facts(pull(order))


def _facts(fetched: FetchedFiles) -> Object:
    return {"received": fetched.received, "deltas": fetched.deltas}
