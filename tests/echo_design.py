"""A design of echo units, small enough to build in seconds."""

from cosim.engines.design import Design
from rtl.top import Unit, channel_ports
from tests.benches.echo import ECHO

PORTS = channel_ports(ways=1, luns=1, slots=2, event_bits=472, counter_bits=32, module="echo_unit")


def echo_design(periods_ps):
    """One echo unit a period, named ``u0``, ``u1``..."""
    units = [
        Unit(name=f"u{index}", ports=PORTS, period_ps=period)
        for index, period in enumerate(periods_ps)
    ]
    return Design(
        units=units,
        sources=(ECHO,),
    )


__all__ = ["PORTS", "echo_design"]
