"""Parts of the gather unit with a line of their source changed."""

import rtl.gather.control
import rtl.gather.positions
from tests.formal.rewritten import rewritten

__all__ = ["GATHER_PART_MUTANTS"]

GATHER_PART_MUTANTS = {
    "gather-picker-ends": {
        "goes on when given up": rewritten(
            rtl.gather.positions,
            "Picker",
            ("last.eq(is_last | (self.aborting & ~read))", "last.eq(is_last)"),
        ),
    },
    "gather-launch-ends": {
        "does not wait for the bus": rewritten(
            rtl.gather.control,
            "LaunchControl",
            ('m.next = "SETTLE"\n', 'm.next = "DONE"\n'),
        ),
    },
}
