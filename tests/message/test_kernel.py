import multiprocessing
import warnings

import numpy as np
import pytest

from autogm import pagerank
from autogm.graph import rmat
from autogm.message.kernel import chunks, run


@pytest.mark.parametrize("entries", [0, 1, 10, 10_000_000])
def test_chunks_cover_all_rows_once(entries):
    indptr = np.linspace(0, entries, 1001).astype(np.int64)
    covered = [row for part in chunks(indptr) for row in range(part.start, part.stop)]
    assert covered == list(range(1000))


def test_a_row_may_be_longer_than_a_chunk():
    indptr = np.array([0, 0, 10_000_000, 10_000_000])
    assert sum(part.stop - part.start for part in chunks(indptr)) == 3


def test_results_come_in_the_order_of_the_parts():
    parts = [slice(i, i + 1) for i in range(50)]
    assert run(lambda start, stop, add: start + add, parts, 7) == list(range(7, 57))


def test_an_error_in_a_part_reaches_the_caller():
    def fail(start, stop):
        raise ValueError(f"part {start}")

    with pytest.raises(ValueError, match="part"):
        run(fail, [slice(i, i + 1) for i in range(8)])


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork"
)
def test_a_forked_child_has_threads_of_its_own():
    graph = rmat(14, 400_000)
    expected = pagerank(graph)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads, on purpose
        with multiprocessing.get_context("fork").Pool(1) as pool:
            scores = pool.apply_async(pagerank, (graph,)).get(timeout=60)
    np.testing.assert_array_equal(scores, expected)
