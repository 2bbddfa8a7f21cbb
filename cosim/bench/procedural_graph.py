"""A graph of any size whose lists are computed when they are asked for, and kept nowhere."""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from rtl.contract.mixer import mix

__all__ = ["ProceduralGraph"]

ID_BYTES = 8
HIGH_WORD = 0x9E37_79B9
MASK = 0xFFFF_FFFF


class _Ids:
    """The edge list array: entry e is a node that depends on e alone, each as likely."""

    ndim = 1
    dtype = np.dtype(np.uint32)

    def __init__(self, entries: int, nodes: int) -> None:
        self._entries = entries
        self._nodes = nodes

    def __len__(self) -> int:
        return self._entries

    def __getitem__(self, part: slice) -> npt.NDArray[np.uint32]:
        first, last, _ = part.indices(self._entries)
        entry = np.arange(first, max(first, last), dtype=np.uint64)
        low, high = entry.astype(np.uint32), first >> 32
        if high == last - 1 >> 32:  # as good as always
            key: Any = np.uint32(mix(high + HIGH_WORD & MASK))
        else:
            key = mix((entry >> np.uint64(32)).astype(np.uint32) + np.uint32(HIGH_WORD))
        wide = mix(low ^ key).astype(np.uint64)
        wide *= np.uint64(self._nodes)
        wide >>= np.uint64(32)
        return wide.astype(np.uint32)


class _Rows:
    """Row pointers of lists of one length."""

    def __init__(self, nodes: int, degree: int) -> None:
        self._nodes = nodes
        self._degree = degree

    def __len__(self) -> int:
        return self._nodes + 1

    def __getitem__(self, node: Any) -> Any:
        if np.any(np.asarray(node) > self._nodes):
            raise IndexError(f"node must be at most {self._nodes}")
        return np.asarray(node, dtype=np.int64) * self._degree


class ProceduralGraph:
    """What a :class:`~host.graph.Graph` is to samplers, systems and the reference.

    Parameters
    ----------
    nodes, degree : int
        Lists, and ids of each; at most 2^32 nodes.

    Raises
    ------
    ValueError
        If one is not positive, or there are too many nodes.
    """

    def __init__(self, nodes: int, degree: int) -> None:
        if not 1 <= nodes <= 1 << 32 or degree < 1:
            raise ValueError(
                f"nodes must be 1 to 2^32 and degree positive, not {nodes} and {degree}"
            )
        self.nodes = nodes
        self.edges = nodes * degree
        self.name = f"procedural graph of {nodes} nodes with {degree} neighbours each"
        self.indptr = _Rows(nodes, degree)
        self.indices = _Ids(self.edges, nodes)

    @property
    def sha256(self) -> str:
        """Of its description: the lists are not gone through."""
        return hashlib.sha256(self.name.encode()).hexdigest()

    def edge_bytes(self, id_bytes: int = ID_BYTES) -> int:
        """Size of the edge list array on flash."""
        return self.edges * id_bytes
