"""The graph: row pointers in host memory, and the edge list array that lives on flash."""

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from host.errors import GraphError
from host.files import check_file, read_json

__all__ = ["DIRECTIONS", "Graph"]

DIRECTIONS = ("out", "in", "both")
"""Whose list an edge u -> v enters: ``out`` u's, ``in`` v's, ``both`` the two of them."""

FORMAT = "csd-cosim graph"
VERSION = 1
META = ("format", "version", "nodes", "edges", "direction", "sha256")
"""What ``meta.json`` must have."""
MAX_NODES = 1 << 32
CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph in compressed sparse rows; equal graphs have equal :attr:`sha256`.

    Parameters
    ----------
    indptr : int64[nodes + 1]
        The list of node n is ``indices[indptr[n]:indptr[n + 1]]``.
    indices : uint32[edges]
        The edge list array: neighbour ids, all lists back to back. May be mapped from disk.
    direction : str
        One of :data:`DIRECTIONS`: how the lists came from directed edges.
    name : str
        What errors call it; usually its path.
    meta
        Free facts that are kept with it on disk (seed, source).

    Raises
    ------
    GraphError
        If there is no node or no edge, row pointers do not run from 0 to the number of edges
        without falling, or an id is beyond the last node.
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.uint32]
    direction: str = "out"
    name: str = "graph"
    meta: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise GraphError(
                f"{self.name}: direction must be one of {', '.join(DIRECTIONS)}, "
                f"not {self.direction!r}"
            )
        if self.indptr.ndim != 1 or self.indices.ndim != 1:
            raise GraphError(f"{self.name}: indptr and indices must have one dimension each")
        if self.indptr.dtype != np.int64 or self.indices.dtype != np.uint32:
            raise GraphError(
                f"{self.name}: indptr must be int64 and indices uint32, "
                f"not {self.indptr.dtype} and {self.indices.dtype}"
            )
        if not 1 <= self.nodes <= MAX_NODES or self.edges < 1:
            raise GraphError(
                f"{self.name}: the graph must have 1 to {MAX_NODES} nodes and at least one edge, "
                f"not {max(self.nodes, 0)} nodes and {self.edges} edges"
            )
        self._check_rows()

    def _check_rows(self) -> None:
        if self.indptr[0] != 0 or self.indptr[-1] != self.edges:
            raise GraphError(
                f"{self.name}: indptr must run from 0 to {self.edges} (the number of ids), "
                f"not from {self.indptr[0]} to {self.indptr[-1]}"
            )
        falls = np.flatnonzero(self.indptr[1:] < self.indptr[:-1])
        if falls.size:
            raise GraphError(
                f"{self.name}: node {falls[0]}: row pointers must not fall, "
                f"not from {self.indptr[falls[0]]} to {self.indptr[falls[0] + 1]}"
            )
        for start in range(0, self.edges, CHUNK):
            wrong = np.flatnonzero(self.indices[start : start + CHUNK] >= self.nodes)
            if wrong.size:
                place = start + int(wrong[0])
                raise GraphError(
                    f"{self.name}: entry {place}: ids must be below {self.nodes} (the number of "
                    f"nodes), not {self.indices[place]}"
                )

    @property
    def nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def edges(self) -> int:
        """Entries of the edge list array."""
        return len(self.indices)

    @property
    def degrees(self) -> npt.NDArray[np.int64]:
        return np.diff(self.indptr)

    def edge_bytes(self, id_bytes: int = 8) -> int:
        """Size of the edge list array on flash."""
        return self.edges * id_bytes

    @cached_property
    def sha256(self) -> str:
        """Hash of the content: sizes, row pointers and ids as 64-bit little-endian words."""
        digest = hashlib.sha256(f"{FORMAT} {VERSION}\n".encode())
        digest.update(np.array([self.nodes, self.edges], dtype="<u8").tobytes())
        for array in (self.indptr, self.indices):
            for start in range(0, len(array), CHUNK):
                digest.update(array[start : start + CHUNK].astype("<u8").tobytes())
        return digest.hexdigest()

    def save(self, folder: Path, **arrays: npt.NDArray[Any]) -> None:
        """Write a folder that :meth:`open` maps; it appears whole or not at all.

        Further ``arrays`` are put beside the graph's own, each as ``<name>.npy``.

        Raises
        ------
        GraphError
            If something is there already, or it cannot be written.
        """
        partial = folder.with_name(folder.name + ".partial")
        try:
            if folder.exists():
                raise GraphError(f"{folder}: must not exist yet")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            self._write(partial, arrays)
            partial.rename(folder)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise GraphError(f"{folder}: must be writable: {error.strerror}") from error

    def _write(self, partial: Path, arrays: dict[str, npt.NDArray[Any]]) -> None:
        for name, array in arrays.items():
            np.save(partial / f"{name}.npy", array)
        np.save(partial / "indptr.npy", self.indptr.astype("<i8", copy=False))
        np.save(partial / "indices.npy", self.indices.astype("<u4", copy=False))
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "nodes": self.nodes,
            "edges": self.edges,
            "dtype": "uint32",
            "direction": self.direction,
            "sha256": self.sha256,
            "meta": self.meta,
        }
        (partial / "meta.json").write_text(json.dumps(meta, indent=2, sort_keys=True) + "\n")

    @classmethod
    def open(cls, folder: Path, *, verify: bool = True) -> "Graph":
        """Map a folder written by :meth:`save`; ``verify`` reads all of it to check the hash.

        Raises
        ------
        GraphError
            If a file is missing or broken, or the content is not what was saved.
        """
        folder = folder if folder.name else folder.resolve()  # "." would say little
        path = folder / "meta.json"
        if not path.exists():
            raise GraphError(f"{folder}: must hold a saved graph, and has no meta.json")
        what = "that of a saved graph"
        meta = read_json(path, str(path), what, GraphError)
        missing = [key for key in META if key not in meta]
        if missing:
            raise GraphError(f"{path}: must be {what}, with {', '.join(missing)}")
        if (meta["format"], meta["version"]) != (FORMAT, VERSION):
            raise GraphError(
                f"{path}: format must be {FORMAT} {VERSION}, "
                f"not {meta['format']!s:.60} {meta['version']!s:.60}"
            )
        indptr, indices = (_map(folder / f"{name}.npy") for name in ("indptr", "indices"))
        facts = meta.get("meta", {})
        if not isinstance(facts, dict):
            raise GraphError(f"{path}: meta must be an object, not {facts!r:.60}")
        graph = cls(indptr, indices, meta["direction"], str(folder), facts)
        sizes = (meta["nodes"], meta["edges"])
        if sizes != (graph.nodes, graph.edges):
            raise GraphError(
                f"{path}: nodes and edges must be those of the arrays, "
                f"{graph.nodes} and {graph.edges}, not {sizes[0]!s:.60} and {sizes[1]!s:.60}"
            )
        if verify and graph.sha256 != meta["sha256"]:
            raise GraphError(
                f"{folder}: sha256 of the content must be {meta['sha256']!s:.64}, "
                f"not {graph.sha256}"
            )
        return graph


def _map(path: Path) -> npt.NDArray[Any]:
    what = "an array of a saved graph"
    check_file(path, str(path), what, GraphError)
    try:
        # Unlike np.load, which takes pickles and archives for arrays too.
        return np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError, EOFError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise GraphError(f"{path}: must be {what}: {reason}") from error
