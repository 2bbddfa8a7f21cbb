"""Every layout of the contract with its bytes, worked out by hand from its table.

Each working below goes down the document's table (NVMe 1.4: figures 104 to 106 and 121 to 125; the
others: the docstring of the layout) and writes each field's bytes, lowest first. All digits of a
value differ, so that a field in the wrong place or byte order shows.
"""

from rtl.contract.channel import (
    ArrayDone,
    ChannelCommand,
    ChannelCompletion,
    ChannelEvent,
    DieBegin,
    Violation,
)
from rtl.contract.gather import (
    GatherDescriptor,
    GatherDone,
    GatherEvent,
    GatherLaunch,
    ResultHeader,
    StageRequest,
)
from rtl.contract.gather_rings import RingCompletion, RingWrite
from rtl.contract.hops import HopAnswer, HopOrder
from rtl.contract.ns_config import BodyEntry, ChainHeader, Header, HopEntry, Segment
from rtl.contract.nvme import CommandFlags, CompletionEntry, CompletionStatus, SubmissionEntry
from rtl.contract.nvme_admin import (
    AbortTarget,
    CompletionQueueFlags,
    LbaFormat,
    QueueAndSize,
    QueueCounts,
    SubmissionQueueFlags,
)
from rtl.contract.page import PageMetadata

__all__ = ["GOLDEN", "golden_bytes"]

# The flag byte of dword 0: FUSE is bits 9:8, PSDT bits 15:14 of the dword. FUSE 10b in bits 1:0
# and PSDT 01b in bits 7:6: 0100_0010b.
FLAGS = {"fuse": 0b10, "psdt": 0b01}

# Status field of dword 3: P bit 16, SC bits 24:17, SCT 27:25, CRD 29:28, M 30, DNR 31. In the half
# word 31:16 that is P 0, SC 8:1, SCT 11:9, CRD 13:12, M 14, DNR 15. SCT 7, SC C3h, P 1, CRD 10b,
# M 0, DNR 1:
#   1 0 10 111 11000011 1 = 1010_1111_1000_0111b = AF87h
STATUS = {"phase": 1, "status": 0x7C3, "crd": 0b10, "more": 0, "dnr": 1}

COMPLETION = {
    "tag": 0x0201,
    "status": 0x03,
    "slot": 0x04,
    "corrected": 0x0605,
    "nand_status": 0x07,
    "failed": 0x08,
    "accepted": 0x1615_1413_1211,
    "command": 0x2625_2423_2221,
    "issued": 0x3635_3433_3231,
    "ready": 0x4645_4443_4241,
    "transfer": 0x5655_5453_5251,
    "received": 0x6665_6463_6261,
    "last": 0x7675_7473_7271,
    "polls": 0x8281,
    "reserved1": 0x8483,
}
COMPLETION_BYTES = """
    01 02 03 04 05 06 07 08
    11 12 13 14 15 16  21 22 23 24 25 26  31 32 33 34 35 36
    41 42 43 44 45 46  51 52 53 54 55 56  61 62 63 64 65 66
    71 72 73 74 75 76  81 82 83 84
"""
DONE = {
    "tag": 0x0201,
    "status": 0x03,
    "reserved": 0x04,
    "words": 0x0807_0605,
    "started": 0x1615_1413_1211,
    "first": 0x2625_2423_2221,
    "last": 0x3635_3433_3231,
    "reserved2": 0x4645_4443_4241,
}
DONE_BYTES = """
    01 02 03 04 05 06 07 08
    11 12 13 14 15 16  21 22 23 24 25 26  31 32 33 34 35 36  41 42 43 44 45 46
"""

GOLDEN = [
    (CommandFlags, FLAGS, "42"),
    (
        SubmissionEntry,
        {
            "opcode": 0x01,
            "flags": FLAGS,
            "cid": 0x1234,
            "nsid": 0xA4A3_A2A1,
            "cdw2": 0xB4B3_B2B1,
            "cdw3": 0xC4C3_C2C1,
            "mptr": 0x1817_1615_1413_1211,
            "prp1": 0x2827_2625_2423_2000,
            "prp2": 0x3837_3635_3433_3231,
            "cdw10": 0x8765_4321,  # SLBA 31:00
            "cdw11": 0x0000_00A9,  # SLBA 63:32
            "cdw12": 1 << 25 | 0x0007,  # sampling mark, NLB 15:00
            "cdw13": 0xD4D3_D2D1,
            "cdw14": 0xE4E3_E2E1,
            "cdw15": 0xF4F3_F2F1,
        },
        """
        01 42 34 12              dword 0: opcode, flags, command identifier
        A1 A2 A3 A4              dword 1: namespace
        B1 B2 B3 B4 C1 C2 C3 C4  dwords 2, 3
        11 12 13 14 15 16 17 18  dwords 4, 5: metadata pointer, bytes 23:16
        00 20 23 24 25 26 27 28  dwords 6, 7: PRP entry 1, bytes 31:24
        31 32 33 34 35 36 37 38  dwords 8, 9: PRP entry 2, bytes 39:32
        21 43 65 87 A9 00 00 00  dwords 10, 11: starting LBA
        07 00 00 02              dword 12: bit 25 is bit 1 of the highest byte
        D1 D2 D3 D4 E1 E2 E3 E4 F1 F2 F3 F4
        """,
    ),
    (CompletionStatus, STATUS, "87 AF"),
    (
        CompletionEntry,
        {
            "result": 0x1413_1211,
            "reserved": 0x2423_2221,
            "sqhd": 0x3231,
            "sqid": 0x4241,
            "cid": 0x5251,
            "status": STATUS,
        },
        """
        11 12 13 14 21 22 23 24  dwords 0, 1: command specific, reserved
        31 32 41 42              dword 2: SQ head 15:00, SQ identifier 31:16
        51 52 87 AF              dword 3: command identifier 15:00, phase and status 31:16
        """,
    ),
    (
        HopOrder,
        {
            "magic": 0x3153_504F,  # "OPS1"
            "sampling": 0x02,
            "reserved0": 0x11,
            "hops": 0x0403,
            "seed": 0x2827_2625_2423_2221,
            "batch": 0x3433_3231,
            "targets": 0x4443_4241,
        },
        """
        4F 50 53 31 02 11 03 04  magic, sampling, reserved, hops
        21 22 23 24 25 26 27 28  seed
        31 32 33 34 41 42 43 44  batch, targets
        """,
    ),
    (
        HopAnswer,
        {
            "status": 0x01,
            "reserved0": 0x02,
            "hop": 0x0403,
            "reserved1": 0x0807_0605,
            "detail": 0x1817_1615_1413_1211,
        },
        "01 02 03 04 05 06 07 08  11 12 13 14 15 16 17 18",
    ),
    # NVMe 1.4, 5.3 and 5.4: QID 15:00, QSIZE 31:16.
    (QueueAndSize, {"number": 0x0201, "size": 0x0403}, "01 02 03 04"),
    # PC 00, IEN 01, IV 31:16.
    (
        CompletionQueueFlags,
        {"contiguous": 0, "interrupts": 1, "reserved": 0, "vector": 0x0403},
        "02 00 03 04",
    ),
    # PC 00, QPRIO 02:01, CQID 31:16.
    (
        SubmissionQueueFlags,
        {"contiguous": 1, "priority": 0b10, "reserved": 0, "completion_queue": 0x0403},
        "05 00 03 04",
    ),
    # Feature 07h: NSQR 15:00, NCQR 31:16. Abort: SQID 15:00, CID 31:16.
    (QueueCounts, {"submission": 0x0201, "completion": 0x0403}, "01 02 03 04"),
    (AbortTarget, {"submission_queue": 0x0201, "cid": 0x0403}, "01 02 03 04"),
    # Figure 246: MS 15:00, LBADS 23:16, RP 25:24.
    (LbaFormat, {"metadata_bytes": 0x0201, "data_log2": 12, "performance": 2}, "01 02 0C 02"),
    (
        ChainHeader,
        {
            "hops": 0x0201,
            "row_pointers": 0x0001,
            "keys": 0x0001,
            "reserved0": 0x1211,
            "nodes": 0x2423_2221,
            "reserved1": 0x3433_3231,
            "edge_lba": 0x4847_4645_4443_4241,
            "pointer_lba": 0x5857_5655_5453_5251,
        },
        """
        01 02 01 00 01 00 11 12  hops, place of row pointers, rule of keys
        21 22 23 24 31 32 33 34  nodes
        41 42 43 44 45 46 47 48  first block of the edge lists
        51 52 53 54 55 56 57 58  first block of the row pointers
        """,
    ),
    (
        HopEntry,
        {"fan_out": 0x0201, "reserved": 0x1211, "key": 0x2423_2221},
        "01 02 11 12 21 22 23 24",
    ),
    (
        Header,
        {
            "magic": 0x4643_534E,
            "version": 0x0001,
            "length": 0x1000,
            "crc": 0x1413_1211,
            "mode": 0x2221,
            "id_bytes": 0x0008,
            "target_count": 0x3433_3231,
            "body_bytes": 0x4443_4241,
            "result_bytes": 0x5453_5251,
            "body_segments": 0x6261,
            "result_segments": 0x7271,
            "reserved0": 0x81,
            "reserved3": 0x91 << 56,
        },
        """
        4E 53 43 46              "NSCF"
        01 00 00 10              version, length 4,096
        11 12 13 14              CRC
        21 22 08 00              mode, bytes of an id
        31 32 33 34 41 42 43 44  targets, body bytes
        51 52 53 54 61 62 71 72  result bytes, segments of body and result
        81 00 00 00 00 00 00 00  bytes 32 to 63 reserved
        00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 91
        """,
    ),
    (
        Segment,
        {"address": 0x1817_1615_1413_1211, "length": 0x2423_2221, "flags": 1},
        "11 12 13 14 15 16 17 18 21 22 23 24 01 00 00 00",
    ),
    (
        BodyEntry,
        {"lba": 0x1817_1615_1413_1211, "degree": 0x2423_2221, "offset": 0x0FF8, "fan_out": 0x4241},
        "11 12 13 14 15 16 17 18 21 22 23 24 F8 0F 41 42",
    ),
    (
        PageMetadata,
        {
            "logical_page": 0x1817_1615_1413_1211,
            "sequence": 0x2827_2625_2423_2221,
            "copies": 0x4443_4241,
            "magic": 0x4D4C_5446,
            "crc": 0x3433_3231,
        },
        """
        11 12 13 14 15 16 17 18 21 22 23 24 25 26 27 28
        41 42 43 44
        46 54 4C 4D              "FTLM"
        31 32 33 34
        """,
    ),
    (
        GatherDescriptor,
        {
            "magic": 0x47,
            "mode": 0x02,
            "id_log2": 0x03,
            "reserved0": 0x04,
            "fan_out": 0x0605,
            "reserved1": 0x0807,
            "list_address": 0x1817_1615_1413_1211,
            "degree": 0x2423_2221,
            "key": 0x3433_3231,
            "positions_address": 0x4847_4645_4443_4241,
        },
        """
        47 02 03 04 05 06 07 08  "G", mode, log2 of an id's bytes, -, fan-out, -
        11 12 13 14 15 16 17 18
        21 22 23 24 31 32 33 34  degree, key
        41 42 43 44 45 46 47 48
        """,
    ),
    (
        ResultHeader,
        {"count": 0x0403_0201, "status": 0x05, "reserved0": 0x06, "reserved1": 0x0807},
        "01 02 03 04 05 06 07 08",
    ),
    (
        GatherLaunch,
        {
            "descriptor_address": 0x1817_1615_1413_1211,
            "count": 0x2423_2221,
            "tag": 0x3231,
            "reserved": 0x4241,
        },
        "11 12 13 14 15 16 17 18 21 22 23 24 31 32 41 42",
    ),
    (
        StageRequest,
        {
            "address": 0x1817_1615_1413_1211,
            "length": 0x2423_2221,
            "tag": 0x3231,
            "reserved": 0x4241,
        },
        "11 12 13 14 15 16 17 18 21 22 23 24 31 32 41 42",
    ),
    (GatherDone, DONE, DONE_BYTES),
    (
        GatherEvent,
        {
            "done_valid": 1,
            "violation_valid": 1,
            "staged_error": 1,
            "violation_rule": 0xA1,
            "staged_tag": 0xB2B1,
            "done": DONE,
            "interrupt_cause": 0xC4C3_C2C1,
        },
        # Bits 0, 2 and 3 of the first byte.
        f"0D A1 B1 B2 {DONE_BYTES} C1 C2 C3 C4",
    ),
    (
        RingWrite,
        {"offset": 0x1211, "reserved": 0x2221, "value": 0x3433_3231},
        "11 12 21 22 31 32 33 34",
    ),
    (
        RingCompletion,
        {
            "consumed": 0x1413_1211,
            "words": 0x2423_2221,
            "first_bad": 0x3433_3231,
            "landed": 0x4443_4241,
            "head": 0x5251,
            "ring": 0x53,
            "status": 0x54,
            "flags": 0x55,
            "reserved0": 0x58_5756,
            "reserved1": 0x6463_6261,
            "reserved2": 0x73_7271,
            "phase": 0x01,
        },
        """
        11 12 13 14 21 22 23 24  consumed, words
        31 32 33 34 41 42 43 44  first bad, landed
        51 52 53 54 55 56 57 58  head, ring, status, flags, -
        61 62 63 64 71 72 73 01  -, phase
        """,
    ),
    (
        ChannelCommand,
        {
            "operation": 0x01,
            "way": 0x02,
            "lun": 0x03,
            "slot": 0x04,
            "row": 0x1413_1211,
            "column": 0x2221,
            "length": 0x3231,
            "tag": 0x4241,
            "is_raw": 1,
            "reserved": 0x2928,
        },
        "01 02 03 04 11 12 13 14 21 22 31 32 41 42 51 52",
    ),
    (ChannelCompletion, COMPLETION, COMPLETION_BYTES),
    (
        DieBegin,
        {
            "number": 0x01,
            "operation": 0x02,
            "way": 0x03,
            "lun": 0x04,
            "row": 0x1413_1211,
            "register": 1,
            "reserved": 0b0010001,
        },
        "01 02 03 04 11 12 13 14 23",
    ),
    (Violation, {"rule": 0x01, "way": 0x02}, "01 02"),
    (
        ChannelEvent,
        {
            "completion_valid": 1,
            "violation_valid": 1,
            "violation": {"rule": 0xA1, "way": 0xA2},
            "begin": {"number": 0xB1, "operation": 0xB2, "way": 0xB3, "lun": 0xB4, "row": 0xB5},
            "completion": COMPLETION,
        },
        # Bits 0 and 2 of the first byte.
        f"05 A1 A2 B1 B2 B3 B4 B5 00 00 00 00 {COMPLETION_BYTES}",
    ),
    # Toggle, then cached, fail and failc, then four bits: 1011_0101b.
    (
        ArrayDone,
        {"number": 0x12, "toggle": 1, "is_cached": 0, "fail": 1, "failc": 0, "reserved": 0b1011},
        "12 B5",
    ),
]
"""Layout, values of its fields, and their bytes as :func:`golden_bytes` reads them."""


def golden_bytes(text):
    """Bytes of the lines above; a line's remark begins at its first word that is no byte."""
    pairs = []
    for line in text.splitlines() or [text]:
        for word in line.split():
            if len(word) != 2 or not set(word) <= set("0123456789ABCDEF"):
                break
            pairs.append(word)
    return bytes.fromhex("".join(pairs))
