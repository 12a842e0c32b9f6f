"""The time of a command on a machine that has other things to do."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest

from muster_workspace import processes, time_limit
from muster_workspace.processes import Accounts, Thread
from muster_workspace.time_limit import TimeLimit

PROCESSORS = 2


PLACE = "1000000/task/1000000"


def resting(waited: float) -> Thread:
    return Thread(waited, (b"5", b"1"), is_ready=False)


class Machine:
    """Its clock, what threads have waited for a processor, and what processes have used of one."""

    now = 100.0
    used = 3.0

    def __init__(self) -> None:
        self.threads = {PLACE: resting(7.0)}

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(time_limit, "time", machine)
    monkeypatch.setattr(time_limit, "look_at_threads", lambda: dict(machine.threads))
    monkeypatch.setattr(time_limit, "measure_processor_seconds", lambda _but: machine.used)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(PROCESSORS)))
    return machine


def is_over(limit: TimeLimit, machine: Machine, now: float, waited: float, used: float = 3.0) -> bool:
    machine.now, machine.threads[PLACE], machine.used = now, resting(waited), used
    return limit.is_over()


def test_a_command_ends_at_its_time_limit_if_nothing_waits(machine: Machine) -> None:
    limit = TimeLimit(machine.now, 5, Accounts())
    assert not is_over(limit, machine, 104.9, 7)
    # Others have waited before it began.
    assert is_over(limit, machine, 105, 7)


def test_a_command_gets_back_its_waits_for_a_processor_however_busy_the_machine_is(
    machine: Machine,
) -> None:
    limit = TimeLimit(machine.now, 5, Accounts())
    assert not is_over(limit, machine, 105, 11)
    assert not is_over(limit, machine, 190, 94)
    assert not is_over(limit, machine, 191.9, 94)
    assert limit.deadline == 192
    assert is_over(limit, machine, 192, 94)
    assert limit.waited_seconds == 87


def test_a_command_gets_back_the_waits_of_processes_that_have_ended(
    machine: Machine,
) -> None:
    limit = TimeLimit(machine.now, 5, Accounts())
    for at in range(1, 9):
        machine.threads = {PLACE: resting(7.0), f"{at}000000/task/1": resting(0.75)}
        assert not is_over(limit, machine, 100 + at, 7)
    assert limit.waited_seconds == 6


def test_a_command_gets_back_a_long_wait_only_once(machine: Machine) -> None:
    limit = TimeLimit(machine.now, 5, Accounts(), alone=True)
    ready = Thread(0.0, (b"5", b"1"), is_ready=True)
    machine.threads = {"2000000/task/1": ready._replace(ran=(b"0", b"0"))}
    machine.now = limit.deadline
    assert not limit.is_over()
    assert limit.waited_seconds == 0.25
    # It has run for the first time, then waits.
    for now, waited in ((102, 1.5), (103, 1.5), (121, 1.5)):
        machine.now, machine.threads = now, {"2000000/task/1": ready._replace(waited=waited)}
        assert not limit.is_over()
    assert limit.waited_seconds == 20.5
    # The wait is over, and the kernel tells of it.
    machine.now, machine.threads = 122, {"2000000/task/1": Thread(21.0, (b"6", b"2"), is_ready=True)}
    assert not limit.is_over()
    assert limit.waited_seconds == 21


def test_waits_of_the_starting_process_count_from_the_first_sample_on(machine: Machine) -> None:
    limit = TimeLimit(machine.now, 5, Accounts(but=1000), alone=True)
    machine.threads = {"1000/task/1000": resting(50), f"{os.getpid()}/task/1": resting(60)}
    machine.now = limit.deadline
    assert not limit.is_over()
    assert limit.waited_seconds == 0
    machine.now, machine.threads = 102, {"1000/task/1000": resting(51), f"{os.getpid()}/task/1": resting(62)}
    assert not limit.is_over()
    assert limit.waited_seconds == 3


def test_a_late_first_sample_uses_the_waits_of_the_sampling_process(machine: Machine) -> None:
    limit = TimeLimit(machine.now, 5, Accounts(but=1000), alone=True)
    # The command may have ended long ago: what would say so waits for a processor, too.
    machine.threads = {"1000/task/1000": resting(50), f"{os.getpid()}/task/1": resting(60)}
    machine.now = limit.deadline + 6
    assert not limit.is_over()
    assert limit.waited_seconds == 6
    machine.now = 111
    assert limit.is_over()


def test_no_command_gets_back_more_than_five_minutes(machine: Machine) -> None:
    limit = TimeLimit(machine.now, 600, Accounts())
    assert not is_over(limit, machine, 700, 1000)
    assert not is_over(limit, machine, 999, 2000)
    assert is_over(limit, machine, 1000, 3000)


def test_a_command_with_a_longer_bound_gets_more_back(machine: Machine) -> None:
    limit = TimeLimit(machine.now, 600, Accounts(), most_waiting=1800)
    assert not is_over(limit, machine, 2499, 3000)
    assert is_over(limit, machine, 2500, 4000)


def test_a_command_that_makes_itself_wait_ends_by_the_processor_time_of_its_processes(
    machine: Machine,
) -> None:
    limit = TimeLimit(machine.now, 5, Accounts())
    # As much as it could have used in its time, had it been alone.
    assert not is_over(limit, machine, 104, 5000, used=100)
    assert not is_over(limit, machine, 105, 5000, used=12.9)
    assert is_over(limit, machine, 106, 5000, used=13)


def test_the_processor_time_of_ended_processes_counts(machine: Machine) -> None:
    accounts = Accounts()
    limit = TimeLimit(machine.now, 5, accounts)
    accounts.add(10, 0, 9.9, 0)
    assert not is_over(limit, machine, 106, 5000)
    accounts.add(11, 0, 0.1, 0)
    assert is_over(limit, machine, 107, 5000)


def test_a_command_after_a_hang_up_gets_nothing_back_for_earlier_waits(
    machine: Machine,
) -> None:
    limit = TimeLimit(machine.now, 600, Accounts())
    machine.now, machine.threads[PLACE] = 150, resting(200)
    limit.shorten(150, 2)
    assert not is_over(limit, machine, 151, 200)
    assert is_over(limit, machine, 152, 200)


def test_a_command_past_its_time_ends_by_the_hang_up(
    machine: Machine,
) -> None:
    limit = TimeLimit(machine.now, 10, Accounts())
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
            # A later process can only join the group once its leader is in it.
            os.setpgid(crowd[-1], crowd[0])
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


def test_real_waits_for_a_processor_are_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine()
    monkeypatch.setattr(time_limit, "time", machine)
    limit = TimeLimit(machine.now, 1, Accounts(), alone=True)
    with crowd_on_one_processor(3, 0.05) as crowd:
        monkeypatch.setattr(processes, "list_others", lambda: iter(crowd))
        machine.now += 1
        # Two of three have waited while the first used its 50 ms, and one while the second did.
        assert not limit.is_over()
        assert limit.waited_seconds >= 0.1
        # The kernel tells whole ticks of each.
        assert processes.measure_processor_seconds() >= 0.09
        # Nothing more is waited while all are stopped, but by this process.
        machine.now += limit.waited_seconds + 60
        assert limit.is_over()


def test_real_processes_that_make_themselves_wait_end_by_their_processor_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine()
    monkeypatch.setattr(time_limit, "time", machine)
    seconds = 0.08 / len(os.sched_getaffinity(0))
    limit = TimeLimit(machine.now, seconds, Accounts(), alone=True)
    with crowd_on_one_processor(3, 0.05) as crowd:
        monkeypatch.setattr(processes, "list_others", lambda: iter(crowd))
        machine.now += seconds
        assert limit.is_over()
        assert limit.waited_seconds > 0
