"""One entry for all graph files that can be read."""

from pathlib import Path

import numpy as np

from host.errors import GraphError
from host.files import check_file
from host.formats.edges import Imported
from host.formats.npz import read_npz
from host.formats.snap import read_snap
from host.graph import Graph

__all__ = ["load_graph"]


def load_graph(path: Path, *, direction: str, name: str | None = None) -> Imported:
    """Read a saved graph (a folder), an ``.npz`` archive, or a SNAP edge list (``.txt[.gz]``).

    ``direction`` is that of a saved graph too: a folder saved with another is refused. ``name``
    is what the graph is called in messages (its path by default).

    Raises
    ------
    GraphError
        If it is not there, not of a known kind, or cannot be used.
    """
    label = name or str(path)
    if _is_folder(path):
        graph = Graph.open(path)
        if graph.direction != direction:
            raise GraphError(
                f"{label}: direction must be {graph.direction!r}, as saved, not {direction!r}"
            )
        return Imported(graph, np.arange(graph.nodes), graph.edges, 0, 0, 0)
    check_file(path, label, "a graph file or folder", GraphError)
    if path.suffix == ".npz":
        return read_npz(path, direction=direction, name=name)
    if path.name.endswith((".txt", ".txt.gz")):
        return read_snap(path, direction=direction, name=name)
    raise GraphError(
        f"{label}: must be a folder, .npz, .txt or .txt.gz, not {path.suffix or 'a bare name'}"
    )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long, for one: check_file says so
        return False
