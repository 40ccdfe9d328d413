import threading

import numpy as np
import pytest

from autogm.message.kernel import fused
from autogm.plan import crew
from autogm.plan.crew import finish_part, go_through, take_part, wait_for


@fused
def count_visits(visits, tickets, who):  # type: ignore[no-untyped-def]
    for i in range(len(tickets)):
        part = take_part(tickets, i)
        while part < len(visits):
            visits[part] += 1
            finish_part(tickets, i)
            part = take_part(tickets, i)
        wait_for(tickets, i, len(visits))


@fused
def shift(rows, tickets, who):  # type: ignore[no-untyped-def]
    """Each part reads what another part of the step before wrote."""
    count = rows.shape[1]
    for i in range(len(tickets)):
        source, out = rows[i % 2], rows[(i + 1) % 2]
        part = take_part(tickets, i)
        while part < count:
            out[part] = source[(part + 1) % count] + 1
            finish_part(tickets, i)
            part = take_part(tickets, i)
        wait_for(tickets, i, count)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 7, 1000])
def test_every_part_is_done_once(threads, count):
    visits = np.zeros(count, np.int64)
    go_through(count_visits, visits, 1, threads)
    np.testing.assert_array_equal(visits, 1)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_step_begins_when_the_one_before_is_done(threads):
    rows = np.zeros((2, 500), np.int64)
    go_through(shift, rows, 100, threads)
    np.testing.assert_array_equal(rows[0], 100)


def test_a_helper_that_comes_late_touches_nothing(monkeypatch):
    late = []
    monkeypatch.setattr(crew, "help_out", lambda work, *args: late.append((work, args)))
    visits = np.zeros(9, np.int64)
    go_through(count_visits, visits, 1, 3)
    for work, args in late:
        work(*args)
    assert len(late) == 2
    np.testing.assert_array_equal(visits, 1)


def test_callers_at_the_same_time_keep_apart():
    visits = [np.zeros(200, np.int64) for _ in range(6)]

    def call(own):
        for _ in range(30):
            go_through(count_visits, own, 1, 2)

    threads = [threading.Thread(target=call, args=(own,)) for own in visits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(visits, 30)
