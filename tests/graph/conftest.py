import sys

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a file of the test's own and say where it is."""

    def write_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


@pytest.fixture
def without(monkeypatch):
    """Pretend that a library is not installed."""

    class Missing:
        def __init__(self, library):
            self.library = library

        def find_spec(self, name, path=None, target=None):
            if name == self.library:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    def forget(library):
        for module in [name for name in sys.modules if name.partition(".")[0] == library]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setattr(sys, "meta_path", [Missing(library), *sys.meta_path])

    return forget
