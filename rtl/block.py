"""Blocks that take the place of ours: ports of a signature, and Verilog modules behind them."""

from amaranth.hdl import ClockSignal, Const, Instance, Module, Mux, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["VerilogBlock", "join", "leaves", "pins", "ports"]


def ports(signature):
    """Ports of a Verilog module with ``signature``: name -> (whether it is an input, width).

    Names are as Amaranth writes them, path and field joined by two underscores; ``clk`` and ``rst``
    come first. Members that are constants (of streams that are always ready) are none.
    """
    found = {"clk": (True, 1), "rst": (True, 1)}
    for path, member, value in leaves(signature, signature.create()):
        found["__".join(path)] = (member.flow is In, len(Value.cast(value)))
    return found


def pins(signature, interface):
    """Arguments of an :class:`Instance` that connect a component's Verilog ports."""
    found = {}
    for path, member, value in leaves(signature, interface):
        direction = "i" if member.flow is In else "o"
        found[f"{direction}_{'__'.join(path)}"] = Value.cast(value)
    return found


def join(signature, outer, inner):
    """Statements that connect the ports of ``inner`` to those of the same name that ``outer`` has.

    Both have what ``signature`` has; shapes of the same width may differ. What ``inner`` offers on
    a stream is all zeros outside while it is not valid, so that it may be undefined.
    """
    for (path, member, outside), (_, _, inside) in zip(
        leaves(signature, outer), leaves(signature, inner), strict=True
    ):
        outside, inside = Value.cast(outside), Value.cast(inside)
        if member.flow is In:
            yield inside.eq(outside)
        elif path[-1] == "payload":
            yield outside.eq(Mux(_valid(inner, path), inside, 0))
        else:
            yield outside.eq(inside)


def _valid(interface, path):
    """The valid bit of the stream whose payload is at ``path``."""
    for name in path[:-1]:
        interface = getattr(interface, name)
    return interface.valid


def leaves(signature, interface):
    """(path, member, value) of everything in an interface that is no constant."""
    for path, member, value in signature.flatten(interface):
        if not isinstance(value, Const):
            yield path, member, value


class VerilogBlock(wiring.Component):
    """An instance of a Verilog module that has the ports of ``signature``.

    Parameters
    ----------
    signature : Signature
        The ports, as :func:`ports` names them.
    module : str
        Name of the Verilog module.
    parameters : dict
        Values of its parameters.
    """

    def __init__(self, signature, module, parameters=None):
        self._module = module
        self._parameters = dict(parameters or {})
        super().__init__(signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = Instance(
            self._module,
            **{f"p_{name}": value for name, value in self._parameters.items()},
            i_clk=ClockSignal(),
            i_rst=ResetSignal(),
            **pins(self.signature, self),
        )
        return m
