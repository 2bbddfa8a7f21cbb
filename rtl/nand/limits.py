"""What a flash channel's controller, dies and checker can be made for."""

from rtl.contract.channel import MOST_SLOTS, MOST_SUSPENDS
from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES, row_bits

__all__ = ["check_bus", "check_channel"]


def check_bus(part, *, ways, phases):
    """Refuse a number of ways, or of transfers a clock, that no channel of ``part`` has.

    Raises
    ------
    ValueError
        With what must hold and what was found.
    """
    if not isinstance(ways, int) or not 1 <= ways <= 256:
        raise ValueError(f"Ways must be 1 to 256, not {ways!r}")
    if phases not in ((1, 2, 4) if part.sdr is None else (1,)):
        known = "1, 2 or 4" if part.sdr is None else "1 on an SDR bus"
        raise ValueError(f"Phases must be {known}, not {phases!r}")


def check_channel(part, *, phases, slots, watchdog_ps, suspends=0):
    """Refuse a part whose pages cannot be addressed, and numbers out of range.

    Raises
    ------
    ValueError
        With what must hold and what was found.
    """
    if not isinstance(slots, int) or not 1 <= slots <= MOST_SLOTS:
        raise ValueError(f"Slots must be an integer from 1 to {MOST_SLOTS}, not {slots!r}")
    if part.luns > 256 or row_bits(part) + (part.luns - 1).bit_length() > 8 * ROW_CYCLES:
        raise ValueError(
            f"Rows and LUNs must fit in {8 * ROW_CYCLES} address bits, "
            f"not {part.rows} rows of {part.luns} LUNs"
        )
    if part.raw_page_bytes > 1 << 8 * COLUMN_CYCLES:
        raise ValueError(
            f"A page must be at most {1 << 8 * COLUMN_CYCLES} bytes, not {part.raw_page_bytes}"
        )
    if part.sdr is not None and phases != 1:
        raise ValueError(f"Phases must be 1 on an SDR bus, not {phases!r}")
    if watchdog_ps is not None:
        _check_watchdog(part, watchdog_ps)
    if not isinstance(suspends, int) or not 0 <= suspends <= MOST_SUSPENDS:
        raise ValueError(f"Suspends must be an integer from 0 to {MOST_SUSPENDS}, not {suspends!r}")
    if suspends and part.suspend is None:
        raise ValueError(
            f"Suspends must be 0 for a part without opcodes to suspend, not {suspends}"
        )


def _check_watchdog(part, watchdog_ps):
    if part.extended is None:
        raise ValueError("A watchdog needs a part with extended times, not one of plain reads")
    if not isinstance(watchdog_ps, int) or watchdog_ps <= part.poll_first_ps:
        raise ValueError(
            "Watchdog must be an integer of picoseconds above poll_first_ps "
            f"({part.poll_first_ps}), not {watchdog_ps!r}"
        )
