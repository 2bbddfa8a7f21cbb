"""NS_config of version 2: one command for all hops of a mini-batch."""

import numpy as np

from host.ns_config import CommandStructure, Placement
from host.trace import MiniBatch
from rtl.contract.codec import pack, record_dtype
from rtl.contract.kernel import HostMemory
from rtl.contract.mixer import hop_key
from rtl.contract.ns_config import (
    CHAIN_VERSION,
    ChainHeader,
    HopEntry,
    KeyRule,
    Mode,
    RowPointers,
)
from rtl.contract.sampling import Sampling

__all__ = ["ChainConfig", "chain_result_size", "encode_chain_body"]

COUNT_BYTES, ID_BYTES = 4, 8


def encode_chain_body(batch: MiniBatch) -> bytes:
    """An entry a hop, with the key that its slots are mixed with, then the targets.

    Walks go on with the keys of the first hop.
    """
    entries = np.zeros(len(batch.fan_outs), dtype=record_dtype(HopEntry))
    entries["fan_out"] = batch.fan_outs
    entries["key"] = [hop_key(batch.seed, batch.index, hop) for hop in range(len(entries))]
    return entries.tobytes() + batch.targets.astype("<u4").tobytes()


def chain_result_size(batch: MiniBatch) -> int:
    """Bytes of the results of all hops if no list is empty, or shorter than its fan-out."""
    size, slots = 0, len(batch.targets)
    for fan_out in batch.fan_outs:
        size += COUNT_BYTES * slots + ID_BYTES * slots * fan_out
        slots *= fan_out
    return size


class ChainConfig(CommandStructure):
    """The command of a mini-batch, built in host memory; see :class:`CommandStructure`.

    ``nodes`` are those of the graph; ``pointer_lba`` is the first block of its row pointers, and 0
    where they are in the device's DRAM.
    """

    def __init__(
        self,
        memory: HostMemory,
        batch: MiniBatch,
        placement: Placement,
        *,
        nodes: int,
        row_pointers: RowPointers,
        pointer_lba: int = 0,
        segment_bytes: int = 4096,
    ) -> None:
        walk, distinct = (batch.sampling == way for way in (Sampling.WALK, Sampling.DISTINCT))
        super().__init__(
            memory,
            encode_chain_body(batch),
            chain_result_size(batch),
            {
                "version": CHAIN_VERSION,
                "mode": int(Mode.DRAW_DISTINCT if distinct else Mode.DRAW),
                "id_bytes": placement.id_bytes,
                "target_count": len(batch.targets),
            },
            tail=pack(
                ChainHeader,
                hops=len(batch.fan_outs),
                row_pointers=int(row_pointers),
                keys=int(KeyRule.CARRIED if walk else KeyRule.MIXED),
                nodes=nodes,
                edge_lba=placement.base_lba,
                pointer_lba=pointer_lba,
            ),
            segment_bytes=segment_bytes,
        )
