"""Checks which descriptors the first process of a workspace keeps of its warden's."""

import os

from muster_zygote.workspaces import ASIDE, keep_only


def test_a_workspace_keeps_only_its_own_low_descriptors_with_600_workspaces_in_the_warden() -> None:
    reading, writing = os.pipe()
    held = [os.dup(reading) for _ in range(600)]
    assert max(held) > ASIDE
    pid = os.fork()
    if pid == 0:
        try:
            first, last = keep_only((os.dup(writing), writing))
            others = [number for number in range(2 * ASIDE) if number not in (first, last) and is_open(number)]
            os.write(first, f"{max(first, last) < 8} {others}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        for descriptor in held:
            os.close(descriptor)
        said = answer.read()
    os.waitpid(pid, 0)

    assert said == b"True []"


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
