"""Blocks in place of the gather core that are refused, and how; and mutants of one that passes."""

from textwrap import dedent

__all__ = ["AMARANTH", "MUTANTS", "VERILOG"]

VERILOG = [
    # A change of an empty module with all ports, and the refusal.
    (
        ("    input wire abort,\n", ""),
        "c.yaml:7: systems[1].gather: port abort, an input of 1 bit, must be there, and is not",
    ),
    (
        ("output wire busy", "input wire busy"),
        "c.yaml:7: systems[1].gather: port busy must be an output, not an input",
    ),
    (
        ("[127:0] launches__payload", "[63:0] launches__payload"),
        "c.yaml:7: systems[1].gather: port launches__payload must have 128 bits, not 64",
    ),
    (
        ("input wire abort,", "input wire abort, input wire halt,"),
        "c.yaml:7: systems[1].gather: port halt must not be an input: nothing drives it",
    ),
    (
        ("output wire busy", "inout wire busy"),
        (
            "c.yaml:7: systems[1].gather: port busy of my_gather must be an input or output "
            "vector; it is an inout"
        ),
    ),
    (
        ("output wire busy", "output wire busy [1:0]"),
        (
            "c.yaml:7: systems[1].gather: port busy of my_gather must be an input or output "
            "vector; it is no plain vector"
        ),
    ),
    (("endmodule", "assign = 3;\nendmodule"), "own.v:30: must be Verilog: syntax error"),
    (("endmodule", "other it(clk);\nendmodule"), "own.v:30: must be Verilog: Cannot find file"),
    (("endmodule", '`include "no.vh"\nendmodule'), "own.v:30: must be Verilog: Cannot find incl"),
    (
        ("module my_gather", "module my_gathers"),
        (
            "c.yaml:7: systems[1].gather: top must be a module of these files, not 'my_gather'; "
            "did you mean 'my_gathers'?"
        ),
    ),
    (
        ("endmodule", "endmodule\nmodule my_gather; endmodule"),
        "own.v:31: must be Verilog: Duplicate declaration of module: 'my_gather'",
    ),
    (
        ("endmodule", "endmodule\nmodule sim_ram; endmodule"),
        "c.yaml:7: systems[1].gather.verilog must not declare modules of our names: sim_ram",
    ),
    (
        ("endmodule", "`timescale 1ns/1fs\nendmodule"),
        "c.yaml:7: systems[1].gather.verilog must have no timescale below 1 ps: own.v",
    ),
]

AMARANTH = [
    ("raise RuntimeError('no')", "can be imported: RuntimeError: no"),
    ("import no_such_module_anywhere", "can be imported: ModuleNotFoundError: No module named"),
    ("import sys; sys.exit(3)", "can be imported: SystemExit: 3"),
    ("class Core(:", "own_core_1.py:1: must be Python: invalid syntax"),
    ("Core = 3", ".amaranth must name a wiring.Component of own_core_1; there are none"),
    (
        dedent("""\
            from amaranth.lib import wiring
            class Cores(wiring.Component):
                pass
            """),
        "must name a wiring.Component of own_core_1; did you mean 'Cores'?",
    ),
    (
        dedent("""\
            from amaranth.lib.wiring import In, Component
            class Core(Component):
                now: In(48)
                def elaborate(self, platform):
                    raise NotImplementedError
            """),
        "port launches__payload, an input of 128 bits, must be there, and is not (and 16 more)",
    ),
    (
        dedent("""\
            from rtl.gather.core import GatherUnit
            class Core(GatherUnit):
                def elaborate(self, platform):
                    return 1 / 0
            """),
        "own_core_1.py:4: ZeroDivisionError: division by zero",
    ),
    (
        dedent("""\
            from amaranth.hdl import Module
            from rtl.gather.core import GatherUnit
            class Core(GatherUnit):
                def elaborate(self, platform):
                    m = Module()
                    m.d.fast += self.busy.eq(1)
                    return m
            """),
        "Domain 'fast' is used but not defined",
    ),
    (
        dedent("""\
            from rtl.gather.core import GatherUnit
            class Core(GatherUnit):
                def __init__(self):
                    raise SystemExit("enough")
            """),
        "own_core_1.py:4: SystemExit: enough",
    ),
    (
        dedent("""\
            from rtl.gather.core import GatherUnit
            class Core(GatherUnit):
                def __init__(self):
                    super().__init__(id_bits=3)
            """),
        "systems[1].gather: port axi__ar__payload must have 83 bits, not 80 (and 1 more)",
    ),
]
"""A module's text, and what is in the refusal."""

MUTANTS = [
    # A change of the example, the case that must find it, and what that says.
    ("{32'd0, beat[31:0]}", "beat[63:0]", "draw-4-byte-ids", "id 0 of target 0 of launch 0"),
    ("state == ASK;", "state == ASK && now[0];", "stalls-ar", "m_axi_arvalid must stay until"),
    ("state != IDLE;", "state != IDLE && state != DONE;", "empty", "busy must be high"),
    ("is_last_of_target && ends", "is_last_of_target || ends", "boundaries", "results.last"),
    ("m_axi_arlen = 0", "m_axi_arlen = 64", "boundaries", "must not cross 4 KB"),
    ("list_end <= LIMIT", "1", "bad-descriptors", "the header of target"),
    ("position >= degree", "position > degree", "bad-descriptors", "the header of target"),
    ("if (words == 0) first", "if (words != 0) first", "stalls-results", "done.first of launch"),
    ("giving_up <= 1;", "", "abort", "launch 0, given up, must not ask for"),
    ("targets_left == 1 ||", "", "boundaries", "results.last must mark the last word"),
    ("if (rst) state <= IDLE;", "", "empty", "must be 0 or 1 after reset, not X"),
    ("(degree == 0) finish(OK)", "(degree == 0) state <= CHECK", "empty", "launch 0 hangs after 0"),
    ("(mode == DRAW ||", "(mode == DRAW || mode == 2 ||", "draw-distinct-8-byte-ids", "header of"),
]
