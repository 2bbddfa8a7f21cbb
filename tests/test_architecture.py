"""Imports follow the arrows of docs/architecture.md."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "rtl": ("rtl",),
    "rtl.contract": ("rtl.contract",),
    "firmware_model": ("firmware_model", "rtl.contract"),
    "host": ("host", "rtl.contract"),
    "cosim": ("cosim", "host", "firmware_model", "rtl"),
}


def is_within(module, packages):
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path):
    """Absolute names of all modules that a file imports, wherever in the file."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *filter(None, [node.module])))
            yield module
            # `from rtl import contract` imports a module, too.
            yield from (
                f"{module}.{alias.name}"
                for alias in node.names
                if ROOT.joinpath(*module.split("."), alias.name).is_dir()
                or ROOT.joinpath(*module.split("."), f"{alias.name}.py").is_file()
            )


def sources(package):
    return sorted(ROOT.joinpath(*package.split(".")).rglob("*.py"))


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_follow_the_arrows(package):
    assert sources(package)
    for path in sources(package):
        ours = [name for name in imports(path) if is_within(name, MAY_IMPORT)]
        wrong = [name for name in ours if not is_within(name, MAY_IMPORT[package])]
        assert not wrong, f"{path.relative_to(ROOT)} must not import {wrong}"


@pytest.mark.parametrize("package", ["rtl", "firmware_model", "host", "cosim"])
def test_nothing_imports_the_tests(package):
    for path in sources(package):
        wrong = [name for name in imports(path) if is_within(name, ("tests", "benchmarks"))]
        assert not wrong, f"{path.relative_to(ROOT)} must not import {wrong}"


def test_annotations_below_rtl_are_evaluated():
    """Amaranth reads annotations as shapes; the future import would make them strings."""
    for path in sources("rtl"):
        assert "__future__" not in imports(path), (
            f"{path.relative_to(ROOT)} must not import from __future__"
        )


def test_packages_export_nothing():
    """Importing a package must not load its modules: `rtl.contract` without any component."""
    for package in ("rtl", "rtl.contract", "firmware_model", "host", "cosim"):
        init = ROOT.joinpath(*package.split("."), "__init__.py")
        assert not list(imports(init)), f"{init.relative_to(ROOT)} must hold a docstring only"


def test_imports_are_found_wherever_they_hide(tmp_path, monkeypatch):
    """The reader itself: nested, relative and module-from-package imports."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    folder = tmp_path / "host" / "formats"
    folder.mkdir(parents=True)
    (tmp_path / "rtl" / "contract").mkdir(parents=True)
    path = folder / "npz.py"
    path.write_text(
        "def f():\n    import cosim.kernel as k\n"
        "from .snap import read\nfrom ..graph import Graph\nfrom rtl import contract\n"
    )
    assert set(imports(path)) == {
        "cosim.kernel",
        "host.formats.snap",
        "host.graph",
        "rtl",
        "rtl.contract",
    }
    assert module_name(path) == "host.formats.npz"
