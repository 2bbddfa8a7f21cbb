"""What may come of a chain of hops, by the rules that it breaks; see ``command_oracle``."""

from struct import unpack_from

from rtl.contract.mixer import mix
from rtl.contract.nvme import Status
from rtl.contract.sampling import Sampling, taken_positions

__all__ = ["judge_chain", "judge_half"]

MOST_HOPS = 1024
MAX_DISTINCT_FAN_OUT = 256
GOLDEN = 0x9E37_79B9


def judge_half(command, bench, half, mode, targets, body_bytes):
    """Rules of the second half of a header."""
    hops, place, keys, word0, nodes, word1, edges, pointers = unpack_from("<HHHHIIQQ", half)
    layout, blocks = bench.device.parameters.layout, bench.device.parameters.nvme.namespace_blocks
    command.require(keys <= 1 and place <= 1 and not (keys and mode == 2), Status.NS_CONFIG_MODE)
    command.require(not word0 and not word1, Status.INVALID_FIELD)
    command.require(0 < hops <= MOST_HOPS and nodes, Status.NS_CONFIG_COUNT)
    command.require(body_bytes == 8 * hops + 4 * targets, Status.NS_CONFIG_LENGTH)
    table = getattr(bench, "table", None)
    if place == 0:
        there = table is not None and nodes == len(table) - 1
        command.require(not pointers and there, Status.NS_CONFIG_ADDRESS)
    command.require(edges < blocks, Status.LBA_OUT_OF_RANGE)
    if place == 1:
        end = pointers * layout.lba_bytes + 8 * (nodes + 1)
        command.require(end <= blocks * layout.lba_bytes, Status.LBA_OUT_OF_RANGE)


def judge_chain(command, bench, half, lists, mode, id_bytes, targets, result_bytes):
    """Rules of the body, and what a good chain writes."""
    body, result = lists
    stream = b""
    for address, size in body:
        raw = command.load(bench, address, size)
        if raw is None:
            return
        stream += raw
    hops, place, keys, _, nodes, _, edges, pointers = unpack_from("<HHHHIIQQ", half)
    table = [unpack_from("<HHI", stream, 8 * hop) for hop in range(hops)]
    roots = unpack_from(f"<{targets}I", stream, 8 * hops)
    size, slots, most = 0, targets, 0
    for fan_out, reserved, _ in table:
        good = fan_out and not (keys and fan_out != 1)
        command.require(good, Status.NS_CONFIG_COUNT)
        command.require(mode == 1 or fan_out <= MAX_DISTINCT_FAN_OUT, Status.NS_CONFIG_COUNT)
        command.require(not reserved, Status.INVALID_FIELD)
        most = max(most, slots)
        size += 4 * slots + 8 * slots * fan_out
        slots *= fan_out
    command.require(size == result_bytes, Status.NS_CONFIG_LENGTH)
    room = bench.device.parameters.hop_targets_bytes
    command.require(8 * most <= room, Status.NS_CONFIG_COUNT)
    command.require(all(node < nodes for node in roots), Status.LBA_OUT_OF_RANGE)
    if command.broken:
        return
    pairs = _Pairs(bench, place, pointers)
    frontier = [(node, mix(table[0][2] ^ slot)) for slot, node in enumerate(roots)]
    subgraph = b""
    for hop, (fan_out, _, _) in enumerate(table):
        found = []
        for node, key in frontier:
            ids = _list(command, bench, pairs[node], edges, mode, id_bytes, fan_out, key)
            if ids is None:
                return
            subgraph += len(ids).to_bytes(4, "little")
            subgraph += b"".join(one.to_bytes(8, "little") for one in ids)
            found += [(one, key) for one in ids]
        if hop + 1 < hops and not command.require(
            all(one < nodes for one, _ in found), Status.LBA_OUT_OF_RANGE
        ):
            return
        if keys:
            frontier = [(one, key + GOLDEN & 0xFFFF_FFFF) for one, key in found]
        elif hop + 1 < hops:
            base = table[hop + 1][2]
            frontier = [(one, mix(base ^ slot)) for slot, (one, _) in enumerate(found)]
    done = 0
    for address, length in result:
        here = subgraph[done : done + length]
        if here:
            command.target(bench, address, here)
        done += length


class _Pairs:
    """Row pointers of a node, and of the next one."""

    def __init__(self, bench, place, block):
        self._bench = bench
        self._first = block * bench.device.parameters.layout.lba_bytes if place else None

    def __getitem__(self, node):
        if self._first is None:
            return int(self._bench.table[node]), int(self._bench.table[node + 1])
        return unpack_from("<QQ", self._bench.image, self._first + 8 * node)


def _list(command, bench, pair, edges, mode, id_bytes, fan_out, key):
    """The ids taken of one list, or None and a rule broken."""
    start, end = pair
    parameters = bench.device.parameters
    room = parameters.nvme.namespace_blocks * parameters.layout.lba_bytes
    first = edges * parameters.layout.lba_bytes + start * id_bytes
    degree = end - start
    good = 0 <= degree < 1 << 32 and start < 1 << 48
    inside = not degree or first + degree * id_bytes <= room
    if not command.require(good and inside, Status.LBA_OUT_OF_RANGE):
        return None
    sampling = Sampling.REPLACEMENT if mode == 1 else Sampling.DISTINCT
    places = [
        first + int(position) * id_bytes
        for position in (taken_positions(sampling, key, degree, fan_out) if degree else ())
    ]
    return [int.from_bytes(bench.image[place : place + id_bytes], "little") for place in places]
