"""Data that Identify brings to the host.

Ref: NVM Express Base Specification 1.4, figures 245 and 247.
"""

from firmware_model.parameters import NvmeParameters
from rtl.contract.codec import byte_size, pack
from rtl.contract.nvme import PAGE_BYTES
from rtl.contract.nvme_admin import (
    IDENTIFY_BYTES,
    IdentifyController,
    IdentifyNamespace,
    IdentifyWhat,
    LbaFormat,
)

__all__ = ["ABORTS", "VERSION", "identify"]

VERSION = 0x0001_0400
"""NVMe 1.4.0, as of register VS."""
ABORTS = 4
"""Abort commands at a time; section 5.15 asks for at least four."""

NAMES = {
    "serial_number": (20, "0"),
    "model_number": (40, "csd-cosim"),
    "firmware_revision": (8, "1"),
}
FORMATS_AT = 128


def identify(what: int, nsid: int, parameters: NvmeParameters, lba_bytes: int) -> bytes:
    """4,096 bytes for a CNS value that ``admin_state.AdminState`` lets pass."""
    if what == IdentifyWhat.CONTROLLER:
        return _controller(parameters).ljust(IDENTIFY_BYTES, b"\0")
    if what == IdentifyWhat.NAMESPACE:
        return _namespace(parameters, lba_bytes).ljust(IDENTIFY_BYTES, b"\0")
    first = (1).to_bytes(4, "little") if nsid < 1 else b""
    return first.ljust(IDENTIFY_BYTES, b"\0")


def _controller(parameters: NvmeParameters) -> bytes:
    pages = parameters.transfer_limit_bytes // PAGE_BYTES
    entry = 6 << 4 | 6, 4 << 4 | 4  # 64 bytes and 16
    names = {
        name: int.from_bytes(text.ljust(length).encode("ascii"), "little")
        for name, (length, text) in NAMES.items()
    }
    return pack(
        IdentifyController,
        version=VERSION,
        transfer_limit=pages.bit_length() - 1,
        abort_limit=ABORTS - 1,
        submission_entry=entry[0],
        completion_entry=entry[1],
        outstanding=min(parameters.command_slots, 0xFFFF),
        namespaces=1,
        **names,
    )


def _namespace(parameters: NvmeParameters, lba_bytes: int) -> bytes:
    blocks = parameters.namespace_blocks
    data = pack(IdentifyNamespace, size=blocks, capacity=blocks, used=blocks)
    assert len(data) == byte_size(IdentifyNamespace)
    return data.ljust(FORMATS_AT, b"\0") + pack(LbaFormat, data_log2=lba_bytes.bit_length() - 1)
