"""The time of a command on a machine that has other things to do."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest

from muster_workspace import processes, time_limit
from muster_workspace.time_limit import TimeLimit


class Machine:
    """Its clock, and what processes have waited for a processor."""

    now = 100.0
    waited = 7.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(time_limit, "time", machine)
    monkeypatch.setattr(time_limit, "waiting_seconds", lambda _but: machine.waited)
    return machine


def is_over(limit: TimeLimit, machine: Machine, now: float, waited: float) -> bool:
    machine.now, machine.waited = now, waited
    return limit.is_over()


def test_a_command_ends_at_its_time_where_nothing_waits(machine: Machine) -> None:
    limit = TimeLimit(machine.now, 5, but=None)
    assert not is_over(limit, machine, 104.9, 7)
    # Others have waited before it began.
    assert is_over(limit, machine, 105, 7)


def test_a_command_gets_back_what_it_waits_up_to_three_times_its_time(machine: Machine) -> None:
    limit = TimeLimit(machine.now, 5, but=None)
    assert not is_over(limit, machine, 105, 9)
    assert limit.deadline == 107
    assert not is_over(limit, machine, 107, 11)
    assert not is_over(limit, machine, 109, 1000)
    assert is_over(limit, machine, 120, 1000)


def test_no_command_gets_back_more_than_a_minute(machine: Machine) -> None:
    limit = TimeLimit(machine.now, 600, but=None)
    assert not is_over(limit, machine, 700, 1000)
    assert is_over(limit, machine, 760, 1000)


def test_a_command_that_is_hung_up_on_gets_nothing_for_what_it_waited_before(machine: Machine) -> None:
    limit = TimeLimit(machine.now, 600, but=None)
    machine.now, machine.waited = 150, 500
    limit.shorten(150, 2)
    assert not is_over(limit, machine, 151, 500)
    assert is_over(limit, machine, 152, 500)


def test_a_command_past_its_time_that_is_hung_up_on_ends_by_the_hang_up(machine: Machine) -> None:
    limit = TimeLimit(machine.now, 10, but=None)
    assert not is_over(limit, machine, 110, 30)
    limit.shorten(111, 1)
    assert is_over(limit, machine, 112, 30)


@contextlib.contextmanager
def crowd_on_one_processor(size: int, cpu_seconds: float) -> Iterator[list[int]]:
    """Processes that have used so much of one processor each, and stopped then."""
    processor = min(os.sched_getaffinity(0))
    crowd: list[int] = []
    try:
        for _ in range(size):
            crowd.append(os.fork())
            if crowd[-1] == 0:
                os.sched_setaffinity(0, {processor})
                os.setpgid(0, crowd[0])
                os.kill(os.getpid(), signal.SIGSTOP)
                while time.process_time() < cpu_seconds:
                    pass
                os.kill(os.getpid(), signal.SIGSTOP)
                os._exit(0)
        for pid in crowd:
            os.waitpid(pid, os.WUNTRACED)
        # All of them begin at the same time.
        os.killpg(crowd[0], signal.SIGCONT)
        for pid in crowd:
            os.waitpid(pid, os.WUNTRACED)
        yield crowd
    finally:
        for pid in crowd:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_what_real_processes_wait_for_a_processor_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine()
    monkeypatch.setattr(time_limit, "time", machine)
    limit = TimeLimit(machine.now, 0.01, but=None, alone=True)
    with crowd_on_one_processor(3, 0.05) as crowd:
        monkeypatch.setattr(processes, "others", lambda: iter(crowd))
        machine.now += 0.01
        # Two of three have waited while the first used its 50 ms, so that they get back three times 10 ms, and no more.
        assert not limit.is_over()
        assert limit.deadline == pytest.approx(100.04)
        machine.now += 0.03
        assert limit.is_over()
