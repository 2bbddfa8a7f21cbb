"""In which order the tests run."""

from pathlib import Path
from types import SimpleNamespace

from tests.conftest import pytest_collection_modifyitems


class Item(SimpleNamespace):
    def get_closest_marker(self, name):
        return name if name in self.marks else None


def test_files_with_the_most_long_tests_come_first_and_stay_together():
    files = {"quick": ["", ""], "two": ["slow", "", "hdl"], "one": ["slow", ""], "also": ["hdl"]}
    items = [
        Item(path=Path(f"{name}.py"), name=f"{name}{number}", marks=[mark])
        for number in range(3)
        for name, marks in files.items()
        for mark in marks[number : number + 1]
    ]
    pytest_collection_modifyitems(None, items)
    names = [item.name for item in items]
    assert names == ["two0", "two1", "two2", "also0", "one0", "one1", "quick0", "quick1"]
