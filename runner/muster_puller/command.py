"""Reads one order, carries it out and writes one answer."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from muster_puller.directory import FetchedFiles, pull
from muster_puller.failure import PullError
from muster_puller.hold_order import parse_hold
from muster_puller.node_cache import NodeCache
from muster_puller.order import parse_pull
from muster_runner.json_fields import FieldError, Object, as_choice, parse_object, required

EXIT_USAGE = 64
# Room for a checkpoint of ten thousand files, each with a long name and a signed URL.
_MOST_ORDER_BYTES = 64 * 2**20
# Environment variables of the container of a node's cache: its directory, and its maximum size in bytes.
DIRECTORY = "MUSTER_NODE_CACHE_DIRECTORY"
BYTES = "MUSTER_NODE_CACHE_BYTES"

Environment = Mapping[str, str]


def run(orders: BinaryIO, answers: TextIO, environment: Environment = os.environ) -> int:
    """Carries out an order. @returns the process's exit code, which is 0 also for an answer that reports an error."""
    try:
        carry_out = _choose_carrier(parse_object(orders.read(_MOST_ORDER_BYTES), "order"), environment)
    except FieldError as error:
        print(f"pull: {error}", file=sys.stderr)
        return EXIT_USAGE
    try:
        fetched = carry_out()
        took = {"received": fetched.received, "deltas": fetched.deltas, "fromBuckets": fetched.from_buckets}
        answer: Mapping[str, Any] = {"kind": "done", **took}
    except PullError as error:
        answer = {"kind": "failed", "code": error.code, "message": str(error)}
    print(json.dumps(answer), file=answers, flush=True)
    return 0


def _choose_carrier(document: Object, environment: Environment) -> Callable[[], FetchedFiles]:
    """Returns the function that carries out an order. @raises FieldError"""
    kind = as_choice(required(document, "kind", "order"), "order.kind", ("pull", "hold"))
    if kind == "pull":
        order = parse_pull(document)
        return lambda: pull(order)
    hold = parse_hold(document)
    return lambda: _open_node_cache(environment).hold(hold)


def _open_node_cache(environment: Environment) -> NodeCache:
    """Opens the cache that the environment names. @raises PullError `settings`"""
    directory, size = environment.get(DIRECTORY, ""), environment.get(BYTES, "")
    if not directory.startswith("/") or not size.isdecimal():
        raise PullError("settings", f"this container is not a node's cache: {DIRECTORY} and {BYTES} must give its directory and size")
    return NodeCache(Path(directory), int(size))
