"""Chains of hops in the memory of a bench, built by hand; a reference with plain integers."""

import numpy as np

from cosim.medium import IdArray
from rtl.contract.codec import pack
from rtl.contract.mixer import hop_key, list_key
from rtl.contract.ns_config import (
    CHAIN_VERSION,
    ChainHeader,
    HopEntry,
    KeyRule,
    Mode,
    RowPointers,
)
from rtl.contract.sampling import Sampling, taken_positions, walk_key
from tests.firmware_bench import LAYOUT, PARAMETERS, Bench

__all__ = ["POINTER_PAGE", "ChainBench", "chain_request", "small_graph"]

POINTER_PAGE = 60
SEED, BATCH = 0x1234_5678_9ABC_DEF0, 3
WAYS = {Mode.DRAW: Sampling.REPLACEMENT, Mode.DRAW_DISTINCT: Sampling.DISTINCT}


def small_graph(nodes=60, seed=1):
    """Offsets and ids of a graph with empty, short and long lists."""
    generator = np.random.default_rng(seed)
    degrees = generator.integers(0, 40, nodes)
    degrees[generator.random(nodes) < 0.15] = 0
    degrees[:2] = 900, 3
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    return indptr, generator.integers(0, nodes, indptr[-1])


class ChainBench(Bench):
    """A bench with row pointers in the device's DRAM, and on flash from POINTER_PAGE on."""

    def __init__(self, indptr, ids, *, parameters=PARAMETERS, flash=None, dram=True, **options):
        super().__init__(indptr, ids, parameters=parameters, **options)
        if dram:
            self.device.load_row_pointers(self.indptr)
        pointers = self.indptr if flash is None else np.asarray(flash)
        pages = self.medium.load_extent(POINTER_PAGE, IdArray(pointers, 8))
        self.device.load_extent(POINTER_PAGE, pages)

    def expect(self, roots, fan_outs, mode, keys):
        """Results of all hops, back to back, by the published rules alone."""
        frontier = [(int(node), slot) for slot, node in enumerate(roots)]
        result = b""
        for hop, fan_out in enumerate(fan_outs):
            found = []
            for slot, (node, root) in enumerate(frontier):
                key = list_key(SEED, BATCH, hop, slot)
                if keys is KeyRule.CARRIED:
                    key = walk_key(list_key(SEED, BATCH, 0, root), hop)
                first, end = int(self.indptr[node]), int(self.indptr[node + 1])
                taken = taken_positions(WAYS[mode], key, end - first, fan_out)
                ids = [int(self.ids[first + int(position)]) for position in taken]
                result += len(ids).to_bytes(4, "little")
                result += b"".join(one.to_bytes(8, "little") for one in ids)
                found += [(one, root) for one in ids]
            frontier = found
        return result

    def chain(
        self,
        roots,
        fan_outs,
        place=RowPointers.DRAM,
        *,
        mode=Mode.DRAW,
        keys=KeyRule.MIXED,
        expected=None,
        **pieces,
    ):
        """NS_config of a chain in host memory."""
        if expected is None:
            expected = self.expect(roots, fan_outs, mode, keys)
        how = {"mode": mode, "keys": keys, "pointer_lba": POINTER_PAGE * LAYOUT.lbas}
        return chain_request(self, roots, fan_outs, place, expected, **how, **pieces)

    def found(self, request, entry):
        """The bytes that a completion entry says are there."""
        return self.result(request)[: int(entry.result)]


def chain_request(bench, roots, fan_outs, place, expected, *, mode, keys, pointer_lba, **pieces):
    """NS_config of a chain in a bench's host memory; row pointers on flash are at a block."""
    body = b"".join(
        pack(HopEntry, fan_out=fan_out, key=hop_key(SEED, BATCH, hop))
        for hop, fan_out in enumerate(fan_outs)
    )
    body += np.array(roots, "<u4").tobytes()
    room, slots = 0, len(roots)
    for fan_out in fan_outs:
        room += 4 * slots + 8 * slots * fan_out
        slots *= fan_out
    tail = pack(
        ChainHeader,
        hops=len(fan_outs),
        row_pointers=place,
        keys=keys,
        nodes=len(bench.indptr) - 1,
        edge_lba=bench.first_byte // LAYOUT.lba_bytes,
        pointer_lba=pointer_lba if place is RowPointers.FLASH else 0,
    )
    head = {"version": CHAIN_VERSION, "mode": mode, "target_count": len(roots)}
    return bench.structure(head, body, expected, tail, room=room, **pieces)
