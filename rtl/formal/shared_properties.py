"""Properties of a flash-channel controller whose commands share the channel."""

from rtl.formal import shared_claims as claims
from rtl.formal.channel_part import LONGEST_BUSY, LONGEST_STALL, channel_check
from rtl.formal.property import Property

__all__ = ["SHARED_PROPERTIES"]

SHARED_BUSY = 24
"""Clocks of the longest array time: a second die can be told to read while a first one senses."""
SHARED_CLOCKS = 144
"""Within which each of two reads completes, with longest times and stalls."""


def _shared(claim, *, longest_busy=SHARED_BUSY, **arguments):
    """Two reads, at any time, each of them with a tag of its own."""
    return channel_check(
        claim,
        longest_busy=longest_busy,
        longest_stall=LONGEST_STALL,
        legal=True,
        most_commands=2,
        **arguments,
    )


SHARED_PROPERTIES = (
    Property(
        "shared-reached",
        "two reads that are in flight together, in two dies that sense at once, both complete",
        "cover",
        104,
        _shared(claims.finish_together(2), ways=2),
    ),
    Property(
        "shared-completes-once",
        "of two reads for one way or two each completes at most once, by its tag, and nothing else "
        "completes",
        "bmc",
        100,
        _shared(claims.each_completes_once, ways=2, longest_busy=LONGEST_BUSY),
    ),
    Property(
        "shared-in-order",
        "two reads for one way complete in their order, each by its tag",
        "bmc",
        104,
        _shared(claims.complete_in_order),
    ),
    Property(
        "shared-completes-in-time",
        f"of two reads for one way or two each completes within {SHARED_CLOCKS} clocks",
        "bmc",
        SHARED_CLOCKS + 8,
        _shared(claims.each_completes_within(SHARED_CLOCKS), ways=2),
    ),
)
