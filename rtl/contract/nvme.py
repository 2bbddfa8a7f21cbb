"""NVMe queue entries, opcodes and status codes.

Ref: NVM Express Base Specification 1.4, figures 104-106 (submission entry), 121-125 (completion
entry), 126-128 (status), and sections 4.3 (PRP lists), 6.9 and 6.15 (Read and Write commands).
"""

from amaranth.lib import data, enum

__all__ = [
    "DOORBELL_BASE",
    "PAGE_BYTES",
    "SAMPLING_BIT",
    "CommandFlags",
    "CompletionEntry",
    "CompletionStatus",
    "Opcode",
    "Status",
    "SubmissionEntry",
    "doorbell_offset",
]

PAGE_BYTES = 4096
"""Memory page size (CC.MPS = 0): the unit of a PRP entry."""

DOORBELL_BASE = 0x1000
"""Offset of the first doorbell in the device's BAR (figure 68)."""

SAMPLING_BIT = 25
"""Bit of CDW12, reserved in a 1.4 Write command, that marks a sampling request."""


class Opcode(enum.IntEnum, shape=8):
    """NVM command set opcodes (figure 346)."""

    FLUSH = 0x00
    WRITE = 0x01
    READ = 0x02


class Status(enum.IntEnum, shape=11):
    """Status code type (bits 10:8) and status code (bits 7:0) in one number."""

    SUCCESS = 0x000
    INVALID_OPCODE = 0x001
    INVALID_FIELD = 0x002
    COMMAND_ID_CONFLICT = 0x003
    DATA_TRANSFER_ERROR = 0x004
    INTERNAL_ERROR = 0x006
    ABORT_REQUESTED = 0x007
    ABORTED_WITH_QUEUE = 0x008
    INVALID_NAMESPACE = 0x00B
    COMMAND_SEQUENCE_ERROR = 0x00C
    INVALID_SGL_SEGMENT = 0x00D
    PRP_OFFSET_INVALID = 0x013
    LBA_OUT_OF_RANGE = 0x080
    CAPACITY_EXCEEDED = 0x081
    # Of admin commands (type 1).
    COMPLETION_QUEUE_INVALID = 0x100
    INVALID_QUEUE_IDENTIFIER = 0x101
    INVALID_QUEUE_SIZE = 0x102
    ABORT_LIMIT_EXCEEDED = 0x103
    INVALID_INTERRUPT_VECTOR = 0x108
    INVALID_QUEUE_DELETION = 0x10C
    UNRECOVERED_READ_ERROR = 0x281
    # Vendor specific (type 7), for the sampling structure.
    NS_CONFIG_MAGIC = 0x7C0
    NS_CONFIG_VERSION = 0x7C1
    NS_CONFIG_LENGTH = 0x7C2
    NS_CONFIG_CRC = 0x7C3
    NS_CONFIG_COUNT = 0x7C4
    NS_CONFIG_ADDRESS = 0x7C5
    NS_CONFIG_MODE = 0x7C6


class CommandFlags(data.Struct):
    """Bits 15:8 of command dword 0: fused operation and PRP or SGL selection."""

    fuse: 2
    reserved: 4
    psdt: 2


class SubmissionEntry(data.Struct):
    """Submission queue entry, 64 bytes. Read and Write: SLBA is CDW11:CDW10, NLB is CDW12[15:0].

    CDW3, which Read and Write leave reserved, carries the number of the request (mini-batch) under
    which the device records its spans; it has no other effect.
    """

    opcode: 8
    flags: CommandFlags
    cid: 16
    nsid: 32
    cdw2: 32
    cdw3: 32
    mptr: 64
    prp1: 64
    prp2: 64
    cdw10: 32
    cdw11: 32
    cdw12: 32
    cdw13: 32
    cdw14: 32
    cdw15: 32


class CompletionStatus(data.Struct):
    """Bits 31:16 of completion dword 3: phase tag and status field."""

    phase: 1
    status: 11
    crd: 2
    more: 1
    dnr: 1


class CompletionEntry(data.Struct):
    """Completion queue entry, 16 bytes."""

    result: 32
    reserved: 32
    sqhd: 16
    sqid: 16
    cid: 16
    status: CompletionStatus


def doorbell_offset(queue, *, completion):
    """BAR offset of queue ``queue``'s doorbell: submission tail, or completion head.

    The doorbell stride is 4 bytes (CAP.DSTRD = 0). Ref: NVMe 1.4, sections 3.1.24 and 3.1.25.
    """
    return DOORBELL_BASE + 4 * (2 * queue + bool(completion))
