"""Compressed sparse rows in NumPy archives: plain arrays only, nothing is unpickled."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from host.errors import GraphError
from host.formats.edges import Imported, from_edges
from host.graph import Graph

__all__ = ["read_npz", "write_npz"]

_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy, zipfile and zlib raise for broken or encrypted archives, and headers that lie."""

NAMES = (("indptr", "indices"), ("adj_indptr", "adj_indices"))


def read_npz(path: Path, *, direction: str, name: str | None = None) -> Imported:
    """Read ``indptr`` and ``indices`` (or ``adj_indptr`` and ``adj_indices``) from an archive.

    Row u of the file holds the v of the pairs (u, v): with direction ``out`` rows stay as they
    are. Nodes keep their numbers.

    Raises
    ------
    GraphError
        If the archive is broken, has no such arrays, or they are not rows of a graph.
    """
    label = name or str(path)
    try:
        with path.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                raise GraphError(f"{label}: must be a readable .npz, a zip archive of arrays")
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as archive:
                names = _names(archive, label)
                indptr, indices = (_integers(archive[key], key, label) for key in names)
    except GraphError:
        raise
    except _UNREADABLE as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        if "allow_pickle" in reason:
            reason = "an array of Python objects is refused"
        raise GraphError(f"{label}: must be a readable .npz of plain arrays: {reason}") from error
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < 1 << 32:
        raise GraphError(f"{label}: {names[1]}: ids must be 0 to 2^32 - 1")
    rows = Graph(indptr, indices.astype(np.uint32), "out", label)
    source = np.repeat(np.arange(rows.nodes, dtype=np.int64), rows.degrees)
    return from_edges(source, indices, np.arange(rows.nodes), direction, label)


def write_npz(path: Path, graph: Graph) -> None:
    """Write a graph's rows with the narrowest types; the same graph gives the same bytes."""
    narrow = np.uint16 if graph.nodes <= 1 << 16 else np.uint32
    pointer = np.uint32 if graph.edges < 1 << 32 else np.uint64
    np.savez_compressed(
        path, indptr=graph.indptr.astype(pointer), indices=graph.indices.astype(narrow)
    )


def _names(archive: Any, name: str) -> tuple[str, str]:
    for names in NAMES:
        if all(key in archive.files for key in names):
            return names
    raise GraphError(
        f"{name}: must hold indptr and indices, or adj_indptr and adj_indices, "
        f"not {', '.join(sorted(archive.files)) or 'nothing'}"
    )


def _integers(array: npt.NDArray[Any], key: str, name: str) -> npt.NDArray[np.int64]:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphError(
            f"{name}: {key}: must be integers in one dimension, not {array.dtype} in {array.ndim}"
        )
    return array.astype(np.int64)
