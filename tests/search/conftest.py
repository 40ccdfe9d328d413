import pytest


@pytest.fixture(scope="module")
def one_thread():
    """Matrices as small as those of tests are slower on many threads than on one."""
    limits = pytest.importorskip("threadpoolctl").threadpool_limits
    with limits(1):
        yield
