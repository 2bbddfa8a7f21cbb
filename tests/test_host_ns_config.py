"""NS_config as bytes, worked out by hand, and its segment lists of any length."""

import struct

import numpy as np
import pytest

from host.buffers import ScatteredBuffer
from host.ns_config import NsConfig, Placement, encode_body, result_size
from host.sampler import HopPlan
from rtl.contract.ns_config import Mode
from tests.host_fakes import FakeMemory


def plan(starts, degrees, keys, fan_out=2):
    return HopPlan(
        fan_out,
        np.arange(len(starts), dtype=np.uint32),
        np.array(starts, dtype=np.int64),
        np.array(degrees, dtype=np.int64),
        np.array(keys, dtype=np.uint32),
    )


# Ids of 8 bytes, blocks of 4,096, image from block 16 on. A list of one id has position 0 only.
#   slot 0: id 1,536 = byte 12,288 = block 3 + 0       -> LBA 19 (13h), offset 0
#   slot 1: id 1,537 = byte 12,296 = block 3 + 8       -> LBA 19, offset 8, empty
#   slot 2: id 5,000 = byte 40,000 = block 9 + 3,136   -> LBA 25 (19h), offset 0C40h
SMALL = plan([1536, 1537, 5000], [1, 0, 1], [0xA1B2C3D4, 7, 0xFFFFFFFF])
PLACEMENT = Placement(base_lba=16)
EXPLICIT_BODY = bytes.fromhex(
    "1300000000000000 01000000 0000 0200 00000000 00000000"
    "1300000000000000 00000000 0800 0200"
    "1900000000000000 01000000 400c 0200 00000000 00000000"
)
DRAW_BODY = bytes.fromhex(
    "1300000000000000 01000000 0000 0200 d4c3b2a1"
    "1300000000000000 00000000 0800 0200 07000000"
    "1900000000000000 01000000 400c 0200 ffffffff"
)


def crc32(data):
    """CRC-32 of IEEE 802.3, bit by bit."""
    register = 0xFFFF_FFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0xEDB8_8320 if register & 1 else 0)
    return register ^ 0xFFFF_FFFF


def test_golden_bodies():
    assert encode_body(SMALL, Mode.EXPLICIT, PLACEMENT) == EXPLICIT_BODY
    assert encode_body(SMALL, Mode.DRAW, PLACEMENT) == DRAW_BODY
    assert result_size(SMALL) == 4 * 3 + 8 * 4


def test_positions_follow_their_entry():
    some = plan([0, 9], [100, 1 << 31], [5, 6], fan_out=3)
    body = encode_body(some, Mode.EXPLICIT, Placement())
    found = [struct.unpack_from("<3I", body, 28 * slot + 16) for slot in range(2)]
    assert found == [tuple(row) for row in some.positions().tolist()]


def test_blocks_of_512_bytes_and_ids_of_4():
    body = encode_body(SMALL, Mode.DRAW, Placement(lba_bytes=512, id_bytes=4))
    # id 5,000 = byte 20,000 = block 39 (27h) + 32
    assert body[40:56] == bytes.fromhex("27000000000000000100000020000200")


def test_golden_header():
    memory = FakeMemory()
    config = NsConfig(memory, SMALL, Mode.EXPLICIT, PLACEMENT)
    ((body_at, body_size),) = config.body.segments
    ((result_at, result_bytes),) = config.result.segments
    assert (body_size, result_bytes) == (64, 44)
    assert memory.load(body_at, 64) == EXPLICIT_BODY
    block = bytearray(4096)
    block[0:4] = b"NSCF"  # magic
    block[4:6] = b"\1\0"  # version
    block[6:8] = b"\0\x10"  # length 4,096
    block[12:14] = b"\0\0"  # mode: explicit
    block[14:16] = b"\x08\0"  # id_bytes
    block[16:20] = b"\3\0\0\0"  # target_count
    block[20:24] = b"\x40\0\0\0"  # body_bytes 64
    block[24:28] = b"\x2c\0\0\0"  # result_bytes 44
    block[28:30] = b"\1\0"  # body_segments
    block[30:32] = b"\1\0"  # result_segments
    block[64:80] = struct.pack("<QII", body_at, 64, 0)
    block[64 + 16 * 126 : 80 + 16 * 126] = struct.pack("<QII", result_at, 44, 0)
    block[8:12] = crc32(block).to_bytes(4, "little")
    assert memory.load(config.address, 4096) == block
    assert config.address % 4096 == 0


def test_crc_of_the_test_is_the_published_one():
    assert crc32(b"123456789") == 0xCBF4_3926


def follow(memory, slots, count, room):
    """Data segments of a list, every rule of chaining checked on the way."""
    assert count <= room
    found = []
    for index in range(count):
        address, length, flags = struct.unpack_from("<QII", slots, 16 * index)
        if flags == 1:
            assert index == count - 1 == room - 1, "only the last slot of a full list chains"
            assert address % 4096 == 0
            assert length % 16 == 0
            page = memory.load(address, length)
            found += follow(memory, page, length // 16, 256)
        else:
            assert flags == 0
            found.append((address, length))
    return found


@pytest.mark.parametrize("pages", [1, 2, 125, 126, 127, 380, 381, 382, 700])
def test_lists_of_any_length_chain_in_their_last_slot(pages):
    # 24 bytes a target with a fan-out of 2, so that the body fills exactly this many pages.
    memory = FakeMemory()
    targets = -(-(4096 * (pages - 1) + 1) // 24)
    many = plan([3] * targets, [1] * targets, range(targets))
    config = NsConfig(memory, many, Mode.EXPLICIT, Placement())
    block = memory.load(config.address, 4096)
    body_slots, result_slots = struct.unpack_from("<HH", block, 28)
    assert body_slots == min(pages, 126)
    body = follow(memory, block[64:2080], body_slots, 126)
    assert body == config.body.segments
    assert len(body) == pages
    assert follow(memory, block[2080:4096], result_slots, 126) == config.result.segments
    assert b"".join(memory.load(*piece) for piece in body) == encode_body(
        many, Mode.EXPLICIT, Placement()
    )
    config.release()
    assert memory.blocks == {}


@pytest.mark.parametrize("segment_bytes", [4096, 12288, 2 << 20])
def test_buffers_are_scattered(segment_bytes):
    memory = FakeMemory()
    buffer = ScatteredBuffer(memory, 30_000, segment_bytes)
    assert [size for _, size in buffer.segments] == [
        min(segment_bytes, 30_000 - start) for start in range(0, 30_000, segment_bytes)
    ]
    data = bytes(i % 251 for i in range(30_000))
    buffer.store(data)
    assert buffer.load() == data
    assert b"".join(memory.load(page, min(4096, 30_000 - 4096 * i)) for i, page in
                    enumerate(buffer.pages())) == data  # fmt: skip
    with pytest.raises(ValueError, match="data must be 30000 bytes long, not 1"):
        buffer.store(b"1")


@pytest.mark.parametrize("segment_bytes", [0, 512, 4097, 6144, (2 << 20) + 4096])
def test_bad_segments_are_refused(segment_bytes):
    with pytest.raises(ValueError, match=f"segment_bytes must be 4096 .*, not {segment_bytes}"):
        ScatteredBuffer(FakeMemory(), 100, segment_bytes)
    with pytest.raises(ValueError, match="segment_bytes must be 4096"):
        NsConfig(FakeMemory(), SMALL, Mode.DRAW, PLACEMENT, segment_bytes=segment_bytes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_lba": -1}, "base_lba must be at least 0, not -1"),
        ({"lba_bytes": 1024}, "lba_bytes must be 512 or 4096, not 1024"),
        ({"id_bytes": 2}, "id_bytes must be 4 or 8, not 2"),
    ],
)
def test_bad_placements_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Placement(**options)
