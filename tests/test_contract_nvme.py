"""NVMe 1.4 numbers, and where the parts of the NS_config block lie."""

import pytest

from rtl.contract import ns_config, nvme
from rtl.contract.codec import byte_size, unpack
from rtl.contract.nvme import Opcode, Status, doorbell_offset


def test_opcodes():
    # NVM command set: 00h Flush, 01h Write, 02h Read.
    assert {opcode.name: int(opcode) for opcode in Opcode} == {"FLUSH": 0, "WRITE": 1, "READ": 2}


@pytest.mark.parametrize(
    ("status", "code_type", "code"),
    [
        # Generic command status (type 0h).
        (Status.SUCCESS, 0, 0x00),
        (Status.INVALID_OPCODE, 0, 0x01),
        (Status.INVALID_FIELD, 0, 0x02),
        (Status.DATA_TRANSFER_ERROR, 0, 0x04),
        (Status.INTERNAL_ERROR, 0, 0x06),
        (Status.INVALID_NAMESPACE, 0, 0x0B),
        (Status.INVALID_SGL_SEGMENT, 0, 0x0D),
        (Status.PRP_OFFSET_INVALID, 0, 0x13),
        (Status.LBA_OUT_OF_RANGE, 0, 0x80),
        # Media and data integrity errors (type 2h).
        (Status.UNRECOVERED_READ_ERROR, 2, 0x81),
        # Vendor specific (type 7h), codes C0h to FFh.
        (Status.NS_CONFIG_MAGIC, 7, 0xC0),
        (Status.NS_CONFIG_VERSION, 7, 0xC1),
        (Status.NS_CONFIG_LENGTH, 7, 0xC2),
        (Status.NS_CONFIG_CRC, 7, 0xC3),
        (Status.NS_CONFIG_COUNT, 7, 0xC4),
        (Status.NS_CONFIG_ADDRESS, 7, 0xC5),
        (Status.NS_CONFIG_MODE, 7, 0xC6),
    ],
)
def test_status_codes(status, code_type, code):
    assert (status >> 8, status & 0xFF) == (code_type, code)


def test_success_is_a_zero_status_field():
    entry = unpack(nvme.CompletionEntry, bytes(14) + b"\x01\x00")
    assert (entry.status.phase, entry.status.status) == (1, Status.SUCCESS)


def test_doorbells():
    # Stride 4: submission tail y at 1000h + 8 y, completion head y at 1004h + 8 y.
    assert [doorbell_offset(queue, completion=False) for queue in (0, 1, 5)] == [
        0x1000,
        0x1008,
        0x1028,
    ]
    assert [doorbell_offset(queue, completion=True) for queue in (0, 1, 5)] == [
        0x1004,
        0x100C,
        0x102C,
    ]


def test_sampling_mark_is_a_reserved_bit_of_dword_12():
    # Write, dword 12: NLB 15:00, 19:16 reserved, DTYPE 23:20, 25:24 reserved, PRINFO 29:26, FUA 30,
    # LR 31.
    assert nvme.SAMPLING_BIT == 25


def test_the_segment_lists_fill_the_header_block():
    # 64 bytes of header, then two lists of 126 slots of 16 bytes: 64 + 2,016 + 2,016 = 4,096.
    assert (ns_config.BODY_LIST_OFFSET, ns_config.RESULT_LIST_OFFSET) == (64, 2_080)
    assert ns_config.RESULT_LIST_OFFSET + 126 * 16 == ns_config.BLOCK_BYTES == 4_096
    assert ns_config.LIST_SLOTS == 126
    assert ns_config.LIST_PAGE_SLOTS * byte_size(ns_config.Segment) == nvme.PAGE_BYTES
    assert byte_size(ns_config.Header) == ns_config.BODY_LIST_OFFSET


def test_magic_reads_as_text_in_memory():
    assert ns_config.MAGIC.to_bytes(4, "little") == b"NSCF"
    assert (ns_config.VERSION, ns_config.Mode.EXPLICIT, ns_config.Mode.DRAW) == (1, 0, 1)
    assert ns_config.SegmentFlag.CHAIN == 1
