"""What sampling returns: per hop the ids of each slot, and their one canonical byte form."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from host.errors import ResultError

__all__ = [
    "Edges",
    "HopResult",
    "Subgraph",
    "decode_hop",
    "decode_result",
    "encode_result",
    "local_edges",
    "subgraph_sha256",
]


@dataclass(frozen=True, eq=False)
class HopResult:
    """One hop: ``counts`` (uint32, one a slot) and ``ids`` (uint64, all slots back to back)."""

    counts: npt.NDArray[np.uint32]
    ids: npt.NDArray[np.uint64]

    def __post_init__(self) -> None:
        if int(self.counts.sum()) != len(self.ids):
            raise ResultError(
                f"counts must add up to the number of ids, {len(self.ids)}, "
                f"not {int(self.counts.sum())}"
            )


@dataclass(frozen=True, eq=False)
class Subgraph:
    """The sampled neighbourhood of one mini-batch.

    The slots of hop h + 1 are the ids of hop h, in order, duplicates kept; those of the first are
    the targets.
    """

    targets: npt.NDArray[np.uint32]
    hops: tuple[HopResult, ...]

    def result_bytes(self, hop: int) -> bytes:
        """Hop ``hop`` (from 0) in the contract's result form."""
        return encode_result(self.hops[hop])

    @property
    def sha256(self) -> str:
        return subgraph_sha256([self])


def encode_result(result: HopResult) -> bytes:
    """Per slot the count (u32), then the ids (u64), little-endian."""
    counts = result.counts.astype(np.int64)
    words = np.empty(len(counts) + 2 * len(result.ids), dtype="<u4")
    heads = np.arange(len(counts)) + 2 * (np.cumsum(counts) - counts)
    body = np.ones(len(words), dtype=bool)
    body[heads] = False
    words[heads] = result.counts
    words[body] = result.ids.astype("<u8").view("<u4")
    return words.tobytes()


def decode_result(raw: bytes, slots: int) -> HopResult:
    """Read a result of ``slots`` targets back.

    Raises
    ------
    ResultError
        If it is cut short, or bytes are left over.
    """
    result, length = decode_hop(raw, slots)
    if length != len(raw):
        raise ResultError(f"result must be {length} bytes long by its counts, not {len(raw)}")
    return result


def decode_hop(raw: bytes, slots: int) -> tuple[HopResult, int]:
    """Read a result of ``slots`` targets at the beginning of ``raw``; it and its length.

    Raises
    ------
    ResultError
        If it is cut short.
    """
    words = np.frombuffer(raw, dtype="<u4", count=len(raw) // 4)
    body = np.ones(len(words), dtype=bool)
    counts = np.empty(slots, dtype=np.uint32)
    place = 0
    for slot in range(slots):
        if place >= len(words):
            raise ResultError(f"result must hold {slots} targets, not {slot} ({len(raw)} bytes)")
        counts[slot] = words[place]
        body[place] = False
        place += 1 + 2 * int(words[place])
    if place > len(words):
        raise ResultError(f"result must be {4 * place} bytes long by its counts, not {len(raw)}")
    return HopResult(counts, words[:place][body[:place]].view("<u8").astype(np.uint64)), 4 * place


def subgraph_sha256(subgraphs: Iterable[Subgraph]) -> str:
    """Hash over the result form of all hops of all mini-batches, in order."""
    digest = hashlib.sha256()
    for subgraph in subgraphs:
        for hop in subgraph.hops:
            digest.update(encode_result(hop))
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Edges:
    """A subgraph in the form that GNN libraries take.

    Attributes
    ----------
    node : int64[n]
        The nodes that occur, once each, by first appearance: targets first.
    hops
        Per hop ``(row, column)``: places in ``node`` of the sampled neighbour (the source of the
        message) and of the node it was sampled for.
    """

    node: npt.NDArray[np.int64]
    hops: tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], ...]


def local_edges(subgraph: Subgraph) -> Edges:
    """Number a subgraph's nodes and list its edges hop by hop."""
    layers = [subgraph.targets.astype(np.int64), *(h.ids.astype(np.int64) for h in subgraph.hops)]
    ids, first, inverse = np.unique(np.concatenate(layers), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids))
    places = np.split(rank[inverse], np.cumsum([len(layer) for layer in layers])[:-1])
    hops = tuple(
        (places[hop + 1], np.repeat(places[hop], result.counts))
        for hop, result in enumerate(subgraph.hops)
    )
    return Edges(ids[order], hops)
