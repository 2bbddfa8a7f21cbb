"""SNAP edge lists: text, two integers a line, comments from ``#`` on; plain or gzip."""

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

from host.errors import GraphError
from host.formats.edges import Imported, compact, from_edges

__all__ = ["read_snap"]

CHUNK_LINES = 1 << 16
BUFFER_BYTES = 1 << 20
PLAIN = re.compile(rb"(?:[ \t]*[0-9]{1,18}[ \t]+[0-9]{1,18}[ \t]*\r?\n)*")
DECLARED = re.compile(rb"#.*\bEdges: *([0-9]+)")
PAIR = re.compile(rb"([0-9]{1,18})[ \t]+([0-9]{1,18})")


def read_snap(path: Path, *, direction: str, name: str | None = None) -> Imported:
    """Read an edge list; ids are made dense, in their order, and the mapping is returned.

    The file is read in pieces of a fixed number of lines.

    Raises
    ------
    GraphError
        ``file:line: ...`` for a line that is neither blank, nor a comment, nor two integers of
        0 to 10^18 - 1; ``file: ...`` if it cannot be read, holds no edge, or not as many lines as
        its header says (``# Nodes: 4 Edges: 6``).
    """
    label = name or str(path)
    declared: list[int] = []
    try:
        with _open(path) as stream:
            pieces = list(_pieces(stream, label, declared))
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise GraphError(f"{label}: must be a readable edge list: {reason}") from error
    pairs = np.concatenate([*pieces, np.empty((0, 2), dtype=np.int64)])
    if not len(pairs):
        raise GraphError(f"{label}: the graph must have at least one edge, not 0")
    if declared and declared[0] != len(pairs):
        raise GraphError(
            f"{label}: must hold the {declared[0]} edges that its header declares, not {len(pairs)}"
        )
    source, target, ids = compact(pairs[:, 0], pairs[:, 1])
    return from_edges(source, target, ids, direction, label)


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        # GzipFile's own readline is Python code; that of a buffer around it is not.
        return io.BufferedReader(cast(io.RawIOBase, gzip.open(path, "rb")), BUFFER_BYTES)
    return path.open("rb")


def _pieces(stream: BinaryIO, name: str, declared: list[int]) -> Iterator[npt.NDArray[np.int64]]:
    """Pairs of each piece of the file; what a header says goes to ``declared``."""
    first = 1
    while lines := list(islice(stream, CHUNK_LINES)):
        text = b"".join(lines)
        if PLAIN.fullmatch(text):
            yield np.fromstring(text, dtype=np.int64, sep=" ").reshape(-1, 2)
        else:
            yield _line_by_line(lines, first, name, declared)
        first += len(lines)


def _line_by_line(
    lines: list[bytes], first: int, name: str, declared: list[int]
) -> npt.NDArray[np.int64]:
    pairs = []
    for number, line in enumerate(lines, first):
        text = line.strip()
        if not text or text.startswith(b"#"):
            if header := DECLARED.match(text):
                declared.append(int(header[1]))
            continue
        match = PAIR.fullmatch(text)
        if match is None:
            found = text[:60].decode("ascii", "backslashreplace")
            raise GraphError(
                f"{name}:{number}: must hold two integers of 0 to 10^18 - 1, not {found!r}"
            )
        pairs.append((int(match[1]), int(match[2])))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
