"""What may come of a command whose bytes lie in host memory, by the rules that it breaks.

Written from the layouts of ``rtl.contract``, NVMe 1.4 and the list of rules in
``firmware_model.ns_config``, without any code of the firmware. Where several rules are broken the
device may report any of them, but among a body's entries the first that breaks one.
"""

from dataclasses import dataclass, field
from struct import unpack_from
from zlib import crc32

from rtl.contract.kernel import P2P_BASE, BusError
from rtl.contract.nvme import Status
from rtl.contract.sampling import Sampling, taken_positions
from tests.scenarios.chain_oracle import judge_chain, judge_half

__all__ = ["Command", "judge"]

PAGE = 4096
MAX_DISTINCT_FAN_OUT = 256
SLOTS = {"body": 64, "result": 64 + 126 * 16}


@dataclass
class Command:
    """The statuses of broken rules, and what a good command must have written where."""

    broken: set = field(default_factory=set)
    writes: list = field(default_factory=list)
    """Address and bytes of each piece."""
    reads: list = field(default_factory=list)
    """Address and length of what it is made of."""

    def require(self, condition, status):
        if not condition:
            self.broken.add(status)
        return condition

    def load(self, bench, address, length):
        """Bytes of host memory, or None and a rule broken."""
        raw = _readable(self, bench, address, length)
        self.require(raw is not None, Status.DATA_TRANSFER_ERROR)
        return raw

    def target(self, bench, address, data):
        """Bytes that the device writes."""
        memory = bench.port.p2p if address >= P2P_BASE else bench.memory
        try:
            memory.load(address - P2P_BASE if address >= P2P_BASE else address, len(data))
        except BusError:
            self.broken.add(Status.DATA_TRANSFER_ERROR)
        else:
            self.writes.append((address, data))


def judge(raw, bench):
    """A :class:`Command` for the 64 bytes of a submission entry."""
    command = Command()
    opcode, flags, _, nsid = unpack_from("<BBHI", raw)
    prp1, prp2, block, cdw12 = unpack_from("<QQQI", raw, 24)
    sampling = opcode == 1 and cdw12 >> 25 & 1
    command.require(opcode in (0, 2) or sampling, Status.INVALID_OPCODE)
    command.require(not flags & 0b1100_0011, Status.INVALID_FIELD)
    command.require(nsid == 1, Status.INVALID_NAMESPACE)
    if command.broken or opcode == 0:
        return command
    if sampling:
        command.require(not cdw12 & 0xFFFF and not prp2, Status.INVALID_FIELD)
        command.require(prp1 % PAGE == 0, Status.PRP_OFFSET_INVALID)
        _judge_sampling(command, bench, prp1)
    else:
        _judge_read(command, bench, prp1, prp2, block, (cdw12 & 0xFFFF) + 1)
    return command


def _readable(command, bench, address, length):
    try:
        raw = bench.memory.load(address, length)
    except BusError:
        return None
    command.reads.append((address, length))
    return raw


def _judge_read(command, bench, prp1, prp2, first, blocks):
    nvme, lba = bench.device.parameters.nvme, bench.device.parameters.layout.lba_bytes
    length = blocks * lba
    command.require(length <= nvme.transfer_limit_bytes, Status.INVALID_FIELD)
    command.require(first + blocks <= nvme.namespace_blocks, Status.LBA_OUT_OF_RANGE)
    command.require(prp1 % 4 == 0, Status.PRP_OFFSET_INVALID)
    if command.broken:
        return
    places, left = [prp1], length - (PAGE - prp1 % PAGE)
    if 0 < left <= PAGE:
        places.append(prp2)
    elif left > 0:
        places += _prp_list(command, bench, prp2, -(-left // PAGE))
    command.require(not any(place % PAGE for place in places[1:]), Status.PRP_OFFSET_INVALID)
    data, done = bench.image[first * lba : first * lba + length], 0
    for place in places:
        here = data[done : done + PAGE - place % PAGE]
        done += len(here)
        command.target(bench, place, here)


def _prp_list(command, bench, address, pages):
    """The entries for ``pages`` pages, up to what cannot be followed."""
    entries = []
    while pages and command.require(address % 8 == 0, Status.PRP_OFFSET_INVALID):
        room = (PAGE - address % PAGE) // 8
        raw = command.load(bench, address, 8 * min(room, pages))
        if raw is None:
            break
        found = [*unpack_from(f"<{len(raw) // 8}Q", raw)]
        if pages > room:
            address = found.pop()
            command.require(address % PAGE == 0, Status.PRP_OFFSET_INVALID)
        entries += found
        pages -= len(found)
    return entries


def _judge_sampling(command, bench, address):
    block = command.load(bench, address, PAGE) if not command.broken else None
    if block is None:
        return
    fields = unpack_from("<IHHIHHIIIHH", block)
    magic, version, length, crc, mode, id_bytes, targets, body_bytes, result_bytes, *slots = fields
    command.require(magic == int.from_bytes(b"NSCF", "little"), Status.NS_CONFIG_MAGIC)
    command.require(version in (1, 2), Status.NS_CONFIG_VERSION)
    command.require(length == PAGE, Status.NS_CONFIG_LENGTH)
    command.require(crc == crc32(block[:8] + bytes(4) + block[12:]), Status.NS_CONFIG_CRC)
    command.require(mode <= 2 and id_bytes in (4, 8), Status.NS_CONFIG_MODE)
    least = 16 if mode == 0 else 20
    if version == 2:
        command.require(mode != 0, Status.NS_CONFIG_MODE)
        least = 4
    command.require(targets > 0 and targets * least <= body_bytes, Status.NS_CONFIG_COUNT)
    lists = []
    for used, start, total in zip(slots, SLOTS.values(), (body_bytes, result_bytes), strict=True):
        if command.require(1 <= used <= 126, Status.NS_CONFIG_COUNT):
            lists.append(_segments(command, bench, block[start : start + 16 * used]))
            added = sum(size for _, size in lists[-1])
            command.require(added == total, Status.NS_CONFIG_LENGTH)
    room = bench.device.parameters.subgraph_buffer_bytes
    command.require(result_bytes <= room, Status.NS_CONFIG_LENGTH)
    if version == 2:
        judge_half(command, bench, block[32:64], mode, targets, body_bytes)
    if command.broken:
        return
    if version == 2:
        judge_chain(command, bench, block[32:64], lists, mode, id_bytes, targets, result_bytes)
        return
    _judge_body(command, bench, lists, mode, id_bytes, targets, result_bytes)


def _segments(command, bench, raw):
    """Pieces of a list and of those that it is chained to."""
    pieces, pages = [], 0
    while raw:
        slots = [unpack_from("<QII", raw, at) for at in range(0, len(raw), 16)]
        raw = None
        if slots[-1][2] == 1:
            address, size, _ = slots.pop()
            pages += 1
            whole = address % PAGE == 0 and size % 16 == 0 and 0 < size <= PAGE
            short = pages <= bench.device.parameters.list_pages
            if command.require(whole and short, Status.NS_CONFIG_ADDRESS):
                raw = command.load(bench, address, size)
        good = all(size and not flags for _, size, flags in slots)
        command.require(good, Status.NS_CONFIG_ADDRESS)
        pieces += [slot[:2] for slot in slots]
    return pieces


def _judge_body(command, bench, lists, mode, id_bytes, targets, result_bytes):
    body, result = lists
    stream, total = b"", sum(size for _, size in body)
    for address, size in split(body, bench.device.parameters.dma.descriptor_bytes):
        raw = _readable(command, bench, address, size)
        if raw is None:
            break  # an entry before that may be what ends the command
        stream += raw
    subgraph, at = b"", 0
    for _ in range(targets):
        taken = _entry(command, bench, stream, at, total, mode, id_bytes)
        if command.broken:
            return
        at, ids = taken
        subgraph += (len(ids) // 8).to_bytes(4, "little") + ids
        if not command.require(len(subgraph) <= result_bytes, Status.NS_CONFIG_LENGTH):
            return
    whole = at == total and len(subgraph) == result_bytes
    if command.require(whole, Status.NS_CONFIG_LENGTH):
        done = 0
        for address, size in result:
            command.target(bench, address, subgraph[done : done + size])
            done += size


def _entry(command, bench, stream, at, total, mode, id_bytes):
    """The place behind a body entry, and its ids as the result has them."""

    def reach(end):
        """Whether the stream, of which ``stream`` is readable, has bytes up to ``end``."""
        if command.require(end <= total, Status.NS_CONFIG_LENGTH):
            return command.require(end <= len(stream), Status.DATA_TRANSFER_ERROR)
        return False

    if not reach(at + 16):
        return None
    lba, degree, offset, fan_out = unpack_from("<QIHH", stream, at)
    extra = 4 if mode else 4 * fan_out * (degree > 0)
    if not reach(at + 16 + extra):
        return None
    words = unpack_from(f"<{extra // 4}I", stream, at + 16)
    layout, blocks = bench.device.parameters.layout, bench.device.parameters.nvme.namespace_blocks
    first = lba * layout.lba_bytes + offset
    command.require(offset < layout.lba_bytes, Status.NS_CONFIG_ADDRESS)
    if degree:
        end = first + degree * id_bytes
        command.require(end <= blocks * layout.lba_bytes, Status.LBA_OUT_OF_RANGE)
        limit = mode != 2 or degree <= fan_out or fan_out <= MAX_DISTINCT_FAN_OUT
        command.require(limit, Status.NS_CONFIG_COUNT)
        if mode == 0:
            command.require(all(word < degree for word in words), Status.NS_CONFIG_COUNT)
    if command.broken:
        return None
    positions = words
    if mode:
        sampling = Sampling.REPLACEMENT if mode == 1 else Sampling.DISTINCT
        positions = taken_positions(sampling, words[0], degree, fan_out) if degree else ()
    places = [first + int(position) * id_bytes for position in positions]
    ids = b"".join(bench.image[place : place + id_bytes].ljust(8, b"\0") for place in places)
    return at + 16 + extra, ids


def split(pieces, limit):
    """Pieces of at most ``limit`` bytes, as the DMA engine takes them."""
    for address, size in pieces:
        for at in range(0, size, limit):
            yield address + at, min(limit, size - at)
