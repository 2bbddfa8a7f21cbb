"""NVMe admin commands: opcodes, features, the words that create queues, and what Identify tells.

Ref: NVM Express Base Specification 1.4, section 5: figure 139 (opcodes), 5.1 (Abort), 5.3 and 5.4
(Create I/O Completion and Submission Queue), 5.5 and 5.6 (Delete), 5.14 and 5.21 (Get and Set
Features), 5.15 (Identify); figures 245 (namespace) and 247 (controller) for its data.
"""

from amaranth.lib import data, enum

__all__ = [
    "ADMIN_QUEUE",
    "IDENTIFY_BYTES",
    "UNLIMITED_BURST",
    "AbortTarget",
    "AdminOpcode",
    "CompletionQueueFlags",
    "Feature",
    "IdentifyController",
    "IdentifyNamespace",
    "IdentifyWhat",
    "LbaFormat",
    "QueueAndSize",
    "QueueCounts",
    "SubmissionQueueFlags",
]

ADMIN_QUEUE = 0
IDENTIFY_BYTES = 4096
UNLIMITED_BURST = 7
"""Arbitration burst that has no limit (figure 273)."""


class AdminOpcode(enum.IntEnum, shape=8):
    """Those that the device carries out."""

    DELETE_SUBMISSION_QUEUE = 0x00
    CREATE_SUBMISSION_QUEUE = 0x01
    DELETE_COMPLETION_QUEUE = 0x04
    CREATE_COMPLETION_QUEUE = 0x05
    IDENTIFY = 0x06
    ABORT = 0x08
    SET_FEATURES = 0x09
    GET_FEATURES = 0x0A


class Feature(enum.IntEnum, shape=8):
    """Feature identifiers (figure 271)."""

    ARBITRATION = 0x01
    """CDW11[2:0] is the arbitration burst: commands of a queue in a row, as a power of two."""
    NUMBER_OF_QUEUES = 0x07
    """CDW11 and the result are :class:`QueueCounts`."""


class IdentifyWhat(enum.IntEnum, shape=8):
    """CNS values, CDW10[7:0] (figure 244)."""

    NAMESPACE = 0x00
    CONTROLLER = 0x01
    ACTIVE_NAMESPACES = 0x02


class QueueAndSize(data.Struct):
    """CDW10 of Create: identifier, and entries minus one."""

    number: 16
    size: 16


class SubmissionQueueFlags(data.Struct):
    """CDW11 of Create I/O Submission Queue."""

    contiguous: 1
    priority: 2
    reserved: 13
    completion_queue: 16


class CompletionQueueFlags(data.Struct):
    """CDW11 of Create I/O Completion Queue."""

    contiguous: 1
    interrupts: 1
    reserved: 14
    vector: 16


class QueueCounts(data.Struct):
    """I/O queues, each number minus one."""

    submission: 16
    completion: 16


class AbortTarget(data.Struct):
    """CDW10 of Abort."""

    submission_queue: 16
    cid: 16


class IdentifyController(data.Struct):
    """First fields of the controller's data, in bytes 0 to 519; all others are zero."""

    vendor: 16
    subsystem_vendor: 16
    serial_number: 160
    model_number: 320
    firmware_revision: 64
    arbitration_burst: 8
    oui: 24
    multi_path: 8
    transfer_limit: 8
    """MDTS: a power of two of pages of 4 KiB."""
    controller: 16
    version: 32
    reserved84: data.ArrayLayout(8, 172)
    optional_admin_commands: 16
    abort_limit: 8
    """Abort commands at a time, minus one."""
    event_limit: 8
    reserved260: data.ArrayLayout(8, 252)
    submission_entry: 8
    """Required (3:0) and largest (7:4) entry size, as powers of two."""
    completion_entry: 8
    outstanding: 16
    """MAXCMD."""
    namespaces: 32


class IdentifyNamespace(data.Struct):
    """First fields of a namespace's data, in bytes 0 to 27; formats follow at byte 128."""

    size: 64
    capacity: 64
    used: 64
    features: 8
    formats: 8
    """Minus one."""
    format: 8
    metadata: 8


class LbaFormat(data.Struct):
    """Bytes of metadata, data bytes as a power of two, relative performance."""

    metadata_bytes: 16
    data_log2: 8
    performance: 8
