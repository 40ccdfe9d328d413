import os
from pathlib import Path

import pytest
from hypothesis import settings

# The first example pays for imports and compilation, so an example has no deadline.
settings.register_profile("autogm", deadline=None, print_blob=True)
settings.load_profile("autogm")


@pytest.fixture(scope="session")
def data_folder():
    """The raw files of the real graphs."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("AUTOGM_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(f"the raw graphs are not in {folder}; set AUTOGM_DATA to their folder")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Keep away from the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTOGM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
