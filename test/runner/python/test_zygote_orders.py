"""A warden's conversation with Muster, in a process of its own: it takes descriptors 0 and 1 for itself."""

import json
import subprocess
import sys
from typing import Any

import pytest
from runner_process import RUNNER

BEGINNING = f"""
import json, os, sys
sys.path.insert(0, {str(RUNNER)!r})
from muster_runner.json_fields import FieldError
from muster_zygote.orders import Orders
orders = Orders()
def tell_all(found):
    orders.send({{"orders": found}})
"""


def run(program: str, *pieces: bytes) -> tuple[list[Any], str]:
    """Writes the pieces, each when the program has asked for it by a line on its error output.

    @returns its messages, and what else it wrote to its error output.
    """
    with subprocess.Popen(
        [sys.executable, "-I", "-c", BEGINNING + program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        for piece in pieces:
            assert process.stderr.readline() == b"more\n"
            process.stdin.write(piece)
            process.stdin.flush()
        process.stdin.close()
        messages, said = process.stdout.read(), process.stderr.read()
    assert process.returncode == 0, said
    return [json.loads(line) for line in messages.splitlines()], said.decode()


ASK = "def ask(): os.write(2, b'more\\n')\n"


def test_orders_that_arrive_in_one_read_are_taken_one_by_one_and_in_order() -> None:
    messages, _ = run(ASK + "ask(); tell_all(orders.arrived())", b'{"n": 1}\n{"n": 2}\n{"n": 3}\n')
    assert messages == [{"orders": [{"n": 1}, {"n": 2}, {"n": 3}]}]


def test_bytes_after_the_first_order_stay_in_the_pipe() -> None:
    program = ASK + "ask(); tell_all([orders.first()]); tell_all([os.read(orders.descriptor, 100).decode()])"
    messages, _ = run(program, b'{"n": 1}\n{"token": "secret"}\n')
    assert messages == [{"orders": [{"n": 1}]}, {"orders": ['{"token": "secret"}\n']}]


def test_an_order_that_arrives_in_pieces_is_taken_when_it_is_whole() -> None:
    program = ASK + "ask(); tell_all(orders.arrived()); ask(); tell_all(orders.arrived()); ask(); tell_all(orders.arrived())"
    messages, _ = run(program, b'{"n": 1}\n{"n"', b': "\xc3', b'\xbc"}\n')
    assert messages == [{"orders": [{"n": 1}]}, {"orders": []}, {"orders": [{"n": "ü"}]}]


def test_the_first_order_can_arrive_in_several_reads() -> None:
    program = ASK + "ask(); ask(); tell_all([orders.first()])"
    messages, _ = run(program, b'{"n', b'": 1}\n')
    assert messages == [{"orders": [{"n": 1}]}]


def test_orders_longer_than_one_read_arrive_whole() -> None:
    program = "\nfound = []\nwhile not orders.ended: found += orders.arrived()\ntell_all([len(found), len(found[0]['long'])])"
    with subprocess.Popen([sys.executable, "-I", "-c", BEGINNING + program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        out, _ = process.communicate(json.dumps({"long": "x" * 1_000_000}).encode() + b"\n" + b'{"n": 1}\n' * 1000)
    assert json.loads(out) == {"orders": [1001, 1_000_000]}


def test_an_input_that_ends_before_the_first_order_is_an_error_of_its_own() -> None:
    messages, _ = run("try:\n    orders.first()\nexcept EOFError as error:\n    orders.send({'said': str(error), 'ended': orders.ended})")
    assert messages == [{"said": "the input has ended", "ended": True}]


@pytest.mark.parametrize("line", [b"nonsense", b"[1]", b'"text"', b"{", b""])
def test_an_invalid_order_is_refused(line: bytes) -> None:
    program = ASK + "ask()\ntry:\n    orders.first()\nexcept FieldError as error:\n    orders.send({'said': str(error)})"
    messages, _ = run(program, line + b"\n")
    assert messages == [{"said": messages[0]["said"]}]
    assert "the order is" in messages[0]["said"]


def test_prints_of_other_code_are_not_reports() -> None:
    program = "print('printed'); os.write(1, b'written'); sys.stdout.flush(); orders.send({'messages': True}); sys.stdin.read()"
    messages, said = run(program)
    assert messages == [{"messages": True}]
    assert "printed" in said
    assert "written" in said
