"""Which LUNs of a die hold a program or an erase that was put aside; simulation only."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import ArrayOperation
from rtl.nand.die_commands import RESUMES, SUSPENDS

__all__ = ["DieSuspends"]

ERASES = (ArrayOperation.ERASE_SUSPEND, ArrayOperation.ERASE_RESUME)


class DieSuspends(wiring.Component):
    """Follows each LUN's program or erase from its start through suspends and resumes.

    A LUN suspends a program by 10h or an erase by D0h while its array works on it, and on nothing
    else. If that is over before the suspend begins, the suspend does not.

    Parameters
    ----------
    luns : int

    Members
    -------
    start, lun, operation : In
        An operation starts in ``lun``.
    reset : In(1)
        That is a reset: all LUNs forget what they hold.
    begins, begin_operation : In
        LUN whose tWB is over, and its operation.
    busy, waits, works, idle : In(luns)
        LUNs that go on being busy; whose start waits for its tWB; whose array works behind a cache;
        that take commands.
    answered, cached : In(luns)
        The kernel has answered the LUN's last operation, and with ``is_cached``.
    asked : In(ArrayOperation)
        Operation that ``suspends`` and ``resumes`` are about.
    suspending, held : Out(luns)
        LUNs that are about to put something aside, and that have.
    void : Out(1)
        The suspend in ``begins`` has come too late.
    suspends, resumes : Out(luns)
        LUNs that can suspend, or resume, the kind of ``asked``.
    """

    def __init__(self, luns):
        self._luns = luns
        super().__init__(
            {
                "start": In(1),
                "lun": In(range(max(luns, 2))),
                "operation": In(ArrayOperation),
                "reset": In(1),
                "begins": In(luns),
                "begin_operation": In(ArrayOperation),
                "busy": In(luns),
                "waits": In(luns),
                "works": In(luns),
                "idle": In(luns),
                "answered": In(luns),
                "cached": In(luns),
                "asked": In(ArrayOperation),
                "suspending": Out(luns),
                "held": Out(luns),
                "void": Out(1),
                "suspends": Out(luns),
                "resumes": Out(luns),
            }
        )

    def elaborate(self, platform):
        m = Module()
        programs, erases, holds = (Signal(self._luns) for _ in range(3))
        begins_suspend = self.begin_operation.matches(*SUSPENDS)
        begins_resume = self.begin_operation.matches(*RESUMES)
        suspended = self.begins & self.busy & begins_suspend.replicate(self._luns)
        stops = self.suspending | suspended
        kind = Mux(self.asked.matches(*ERASES), erases, programs)
        m.d.comb += [
            self.void.eq(begins_suspend & ~(self.begins & self.busy).any()),
            self.held.eq(holds | self.answered & self.cached & self.suspending),
            self.suspends.eq(
                (self.busy | self.begins) & kind & ~(self.waits | self.works | self.held | stops)
            ),
            self.resumes.eq(self.idle & kind & self.held),
        ]
        with m.If((self.answered | self.begins).any()):
            resumed = self.begins & begins_resume.replicate(self._luns)
            m.d.sync += holds.eq(self.held & ~resumed)
            m.d.sync += self.suspending.eq(stops & ~self.answered)
        with m.If(self.start & ~self.operation.matches(*SUSPENDS)):
            # A read, or the resume itself, leaves what is held.
            own = (1 << self.lun) & ~self.held
            for luns, operation in (
                (programs, ArrayOperation.PROGRAM),
                (erases, ArrayOperation.ERASE),
            ):
                m.d.sync += luns.eq(Mux(self.operation == operation, luns | own, luns & ~own))
        with m.If(self.reset):
            m.d.sync += [programs.eq(0), erases.eq(0), holds.eq(0), self.suspending.eq(0)]
        return m
