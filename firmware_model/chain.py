"""Reads what is in an NS_config of version 2 alone: a chain of hops.

Rules beside those of :mod:`firmware_model.ns_config`, in the order of the checks:

==================  ==============================================================================
NS_CONFIG_MODE      an unknown rule of keys or place of row pointers; keys that are carried, and
                    drawing without replacement
INVALID_FIELD       a reserved field that is not 0
NS_CONFIG_COUNT     no hop, more than MAX_HOPS, or no node
NS_CONFIG_LENGTH    the body is longer or shorter than its hops and targets
NS_CONFIG_ADDRESS   row pointers in DRAM with a block, or of another number of nodes than the
                    device has there
LBA_OUT_OF_RANGE    edge lists or row pointers that leave the namespace
NS_CONFIG_COUNT     a hop's fan-out of 0, other than 1 where keys are carried, or beyond
                    MAX_DISTINCT to be drawn without replacement
NS_CONFIG_LENGTH    ``result_bytes`` is not what the hops give at most
NS_CONFIG_COUNT     more targets in a hop than the device has room for
LBA_OUT_OF_RANGE    a target that is no node, row pointers that descend, or a list that leaves the
                    namespace
==================  ==============================================================================

Those of a hop's targets are found when it is reached.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firmware_model.ns_config import (
    COUNT_BYTES,
    ID_BYTES,
    KEY_BYTES,
    NODE_BYTES,
    Entry,
    NsConfig,
    require,
)
from rtl.contract.codec import byte_size, record_dtype, unpack
from rtl.contract.mixer import advance, mix
from rtl.contract.ns_config import (
    CHAIN_HEADER_OFFSET,
    MAX_DISTINCT,
    MAX_HOPS,
    POINTER_BYTES,
    ChainHeader,
    HopEntry,
    KeyRule,
    Mode,
    RowPointers,
)
from rtl.contract.nvme import Status

__all__ = [
    "HOP_BYTES",
    "HOP_TARGET_BYTES",
    "Chain",
    "Frontier",
    "Hop",
    "entry_of",
    "is_on_flash",
    "next_frontier",
    "parse_chain",
    "parse_hops",
    "root_frontier",
]

HOP_BYTES = byte_size(HopEntry)
HOP_TARGET_BYTES = NODE_BYTES + KEY_BYTES
"""Of a hop's target in the firmware's list of them."""
ID_WORDS = ID_BYTES // 4
FIRST_ID_BITS = 48
"""A row pointer is below two to the power of this."""


@dataclass(frozen=True, kw_only=True)
class Chain:
    """The second half of a header that has passed its checks."""

    hops: int
    keys: KeyRule
    row_pointers: RowPointers
    nodes: int
    edge_lba: int
    pointer_lba: int


@dataclass(frozen=True, kw_only=True)
class Hop:
    """One hop, as the host asks for it."""

    fan_out: int
    key: int


@dataclass(frozen=True, eq=False)
class Frontier:
    """The targets of one hop: ``nodes`` and ``keys``, ``uint32[n]`` both."""

    nodes: npt.NDArray[np.uint32]
    keys: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.nodes)


def is_on_flash(block: bytes) -> bool:
    """Whether a header block of version 2 says that row pointers are on flash."""
    half = block[CHAIN_HEADER_OFFSET : CHAIN_HEADER_OFFSET + byte_size(ChainHeader)]
    return bool(unpack(ChainHeader, half).row_pointers == RowPointers.FLASH)


def parse_chain(
    block: bytes, config: NsConfig, *, table_nodes: int, lba_bytes: int, namespace_blocks: int
) -> Chain:
    """Check the second half of a header; ``table_nodes`` are those of the row pointers in DRAM.

    Raises
    ------
    Refusal
        With the status of the first rule broken.
    """
    found = unpack(
        ChainHeader, block[CHAIN_HEADER_OFFSET : CHAIN_HEADER_OFFSET + byte_size(ChainHeader)]
    )
    require(found.keys in list(KeyRule), Status.NS_CONFIG_MODE)
    require(found.row_pointers in list(RowPointers), Status.NS_CONFIG_MODE)
    carried = bool(found.keys == KeyRule.CARRIED)
    require(not carried or config.mode is Mode.DRAW, Status.NS_CONFIG_MODE)
    require(not found.reserved0 and not found.reserved1, Status.INVALID_FIELD)
    hops, nodes, first = int(found.hops), int(found.nodes), int(found.pointer_lba)
    require(0 < hops <= MAX_HOPS and nodes > 0, Status.NS_CONFIG_COUNT)
    length = HOP_BYTES * hops + NODE_BYTES * config.target_count
    require(config.body_bytes == length, Status.NS_CONFIG_LENGTH)
    if found.row_pointers == RowPointers.DRAM:
        require(not first and nodes == table_nodes, Status.NS_CONFIG_ADDRESS)
    require(found.edge_lba < namespace_blocks, Status.LBA_OUT_OF_RANGE)
    if found.row_pointers == RowPointers.FLASH:
        blocks = -(-POINTER_BYTES * (nodes + 1) // lba_bytes)
        require(first + blocks <= namespace_blocks, Status.LBA_OUT_OF_RANGE)
    return Chain(
        hops=hops,
        keys=KeyRule(found.keys),
        row_pointers=RowPointers(found.row_pointers),
        nodes=nodes,
        edge_lba=int(found.edge_lba),
        pointer_lba=first,
    )


def parse_hops(raw: bytes, config: NsConfig, chain: Chain) -> tuple[tuple[Hop, ...], int]:
    """The hops of a body, and the number of targets of the last one, at most; no hop has more.

    Raises
    ------
    Refusal
        With the status of the first rule broken.
    """
    hops, targets, most, result = [], config.target_count, 0, 0
    for fan_out, reserved, key in np.frombuffer(raw, record_dtype(HopEntry)).tolist():
        require(fan_out > 0, Status.NS_CONFIG_COUNT)
        require(chain.keys is KeyRule.MIXED or fan_out == 1, Status.NS_CONFIG_COUNT)
        fits = config.mode is not Mode.DRAW_DISTINCT or fan_out <= MAX_DISTINCT
        require(fits, Status.NS_CONFIG_COUNT)
        require(not reserved, Status.INVALID_FIELD)
        most = targets
        result += COUNT_BYTES * targets
        targets *= fan_out
        result += ID_BYTES * targets
        require(result <= config.result_bytes, Status.NS_CONFIG_LENGTH)
        hops.append(Hop(fan_out=fan_out, key=key))
    require(result == config.result_bytes, Status.NS_CONFIG_LENGTH)
    return tuple(hops), most


def root_frontier(raw: bytes, first: int, hop: Hop, chain: Chain) -> Frontier:
    """Targets of the first hop, from slot ``first`` on, by a part of the body.

    Raises
    ------
    Refusal
        LBA_OUT_OF_RANGE if one is no node.
    """
    return _mixed(np.frombuffer(raw, "<u4").astype(np.uint64), first, hop, chain)


def next_frontier(
    result: bytes, counts: Sequence[int], hop: Hop, chain: Chain, before: Frontier
) -> Frontier:
    """Targets of a further hop: all ids of the ``result`` of the one before.

    It had the targets ``before``, whose lists gave ``counts`` ids each.

    Raises
    ------
    Refusal
        LBA_OUT_OF_RANGE if one is no node.
    """
    sizes = np.array(counts, dtype=np.int64)
    words = np.frombuffer(result, "<u4")
    is_id = np.ones(len(words), dtype=bool)
    is_id[np.arange(len(sizes)) + ID_WORDS * (np.cumsum(sizes) - sizes)] = False
    ids = words[is_id].view("<u8")
    if chain.keys is KeyRule.MIXED:
        return _mixed(ids, 0, hop, chain)
    require(bool((ids < chain.nodes).all()), Status.LBA_OUT_OF_RANGE)
    return Frontier(ids.astype(np.uint32), advance(np.repeat(before.keys, sizes), 1))


def _mixed(ids: npt.NDArray[np.uint64], first: int, hop: Hop, chain: Chain) -> Frontier:
    require(bool((ids < chain.nodes).all()), Status.LBA_OUT_OF_RANGE)
    slots = np.arange(first, first + len(ids), dtype=np.uint32)
    return Frontier(ids.astype(np.uint32), mix(np.uint32(hop.key) ^ slots))


def entry_of(
    start: int, end: int, fan_out: int, config: NsConfig, chain: Chain, *, lba_bytes: int
) -> Entry:
    """The body entry that a host would have sent for a list, by its two row pointers.

    Raises
    ------
    Refusal
        LBA_OUT_OF_RANGE if they are none of a list.
    """
    good = start <= end < start + (1 << 32) and not start >> FIRST_ID_BITS
    require(good, Status.LBA_OUT_OF_RANGE)
    block, offset = divmod(start * config.id_bytes, lba_bytes)
    return Entry(chain.edge_lba + block, end - start, offset, fan_out, KEY_BYTES)
