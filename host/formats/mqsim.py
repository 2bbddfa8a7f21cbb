"""Block traces in MQSim's text form: five whole numbers a line, without a header.

They are arrival time in nanoseconds, device number, first sector, sectors, and 1 for a read or 0
for a write. Sectors have 512 bytes, and times do not decrease. MQSim takes no notice of the device
number, and takes times as nanoseconds whatever its ``Time_Unit`` says.

Ref: CMU-SAFARI/MQSim, src/exec/IO_Flow_Trace_Based.cpp, ASCII_Trace_Definition.h.
"""

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from host.errors import TraceError
from host.files import check_file

__all__ = ["BlockRequest", "BlockTrace", "read_mqsim"]

SECTOR_BYTES = 512
FIELDS = ("arrival time", "device number", "first sector", "sectors", "type")
WORD = re.compile(r"[0-9]{1,18}")
WHAT = "a block trace of MQSim"


class BlockRequest(NamedTuple):
    """One line: bytes that are read or written, ``arrival_ps`` after the first line's arrival."""

    arrival_ps: int
    first_byte: int
    length: int
    is_write: bool
    place: str
    """``file:line``, for messages."""


class BlockTrace(NamedTuple):
    """What a file holds, and the SHA-256 of its bytes."""

    requests: tuple[BlockRequest, ...]
    sha256: str


def read_mqsim(path: Path, label: str) -> BlockTrace:
    """Read a trace; blank lines are passed over, unlike by MQSim, which stops at them.

    Raises
    ------
    TraceError
        ``label:line: ...`` for a line that is something else, ``label: ...`` for a file that cannot
        be read or holds no request.
    """
    check_file(path, label, WHAT, TraceError)
    try:
        raw = path.read_bytes()
        lines = raw.decode("ascii").splitlines()
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or "not ASCII text"
        raise TraceError(f"{label}: must be {WHAT}: {reason}") from failure
    found: list[BlockRequest] = []
    first_ns = last_ns = -1
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{label}:{number}"
        arrival_ns, _, sector, sectors, kind = _fields(line, place)
        if arrival_ns < last_ns:
            raise TraceError(
                f"{place}: arrival time must not be before the last one ({last_ns} ns), "
                f"not {arrival_ns}"
            )
        first_ns, last_ns = arrival_ns if first_ns < 0 else first_ns, arrival_ns
        found.append(
            BlockRequest(
                arrival_ps=1000 * (arrival_ns - first_ns),
                first_byte=SECTOR_BYTES * sector,
                length=SECTOR_BYTES * sectors,
                is_write=not kind,
                place=place,
            )
        )
    if not found:
        raise TraceError(f"{label}: must hold at least one request, not 0")
    return BlockTrace(tuple(found), hashlib.sha256(raw).hexdigest())


def _fields(line: str, place: str) -> list[int]:
    words = line.split()
    if len(words) != len(FIELDS):
        raise TraceError(
            f"{place}: must be {len(FIELDS)} numbers ({', '.join(FIELDS)}), not {len(words)}"
        )
    for name, word in zip(FIELDS, words, strict=True):
        if not WORD.fullmatch(word):
            raise TraceError(f"{place}: {name} must be a whole number below 10^18, not {word!r}")
    values = [int(word) for word in words]
    if not values[3]:
        raise TraceError(f"{place}: sectors must be at least 1, not 0")
    if values[4] > 1:
        raise TraceError(f"{place}: type must be 0 (write) or 1 (read), not {values[4]}")
    return values
