"""Spans of a flash command, end to end, from what its completion says."""

from collections.abc import Iterator
from typing import Any

from cosim.units.channel_state import ChannelState, Command, last_release
from cosim.units.lun_array import Work
from rtl.contract.channel import ChannelStatus
from rtl.contract.kernel import Cause, Kernel, latest
from rtl.contract.operations import OPERATIONS, Finish
from rtl.contract.page import PageLayout

__all__ = ["ChannelSpans", "moved_data"]

PAGE = "page"
DATA_FINISHES = (Finish.TRANSFER, Finish.OUTPUT)


def moved_data(command: Command, status: int) -> bool:
    """Whether a command that ended with ``status`` has brought data."""
    finish = OPERATIONS[command.operation].finish
    return finish in DATA_FINISHES and status in (ChannelStatus.OK, ChannelStatus.UNCORRECTABLE)


class ChannelSpans:
    """Records the spans of one channel's commands; :class:`ChannelPort` says which there are.

    Parameters
    ----------
    kernel : Kernel
    unit : str
        Whose spans they are.
    layout : PageLayout
        Tells data from parity.
    period_ps : int
        Of the channel's clock, in which completions count.
    has_decoder : bool
        Data passes an ECC decoder.
    """

    def __init__(
        self, kernel: Kernel, unit: str, layout: PageLayout, *, period_ps: int, has_decoder: bool
    ) -> None:
        self._kernel = kernel
        self._unit = unit
        self._layout = layout
        self._period_ps = period_ps
        self._has_decoder = has_decoder

    def record(
        self, state: ChannelState, command: Command, completion: dict[str, int], edge_ps: int
    ) -> Cause:
        """Lay a command's spans end to end, from its submission to its completion event."""
        cause, stamps = command.cause, self._stamps(completion)
        ready_ps = command.ready_ps
        for stage, end_ps in self._stages(state, command, completion["status"], stamps, edge_ps):
            named: dict[str, Any] = {}
            if stage == "flash.queue":
                cause = last_release(cause, end_ps, state.bus_releases)
            elif stage == "flash.bus-wait":
                slot = cause
                if moved_data(command, completion["status"]):
                    slot = state.slot_release(cause, end_ps)
                cause = latest([last_release(cause, end_ps, state.bus_releases), slot])
            elif stage == "flash.command" and command.data:
                named = self._bytes(command) | {"span": command.bus_span}
            elif stage == "flash.transfer":
                named = self._bytes(command)
            elif stage == "flash.answer":
                named = {"payload_bytes": command.length}
            cause = self._kernel.record(
                self._unit,
                stage,
                cause.at_ps,
                end_ps,
                cause,
                request=command.request,
                ready_ps=ready_ps,
                kind=PAGE,
                **named,
            )
            ready_ps = cause.at_ps
            self._release(state, command, cause, stage, stamps, edge_ps)
        return cause

    def _stamps(self, completion: dict[str, int]) -> dict[str, int]:
        names = ("accepted", "command", "issued", "ready", "transfer", "received", "last")
        return {name: completion[name] * self._period_ps for name in names}

    def _stages(
        self,
        state: ChannelState,
        command: Command,
        status: int,
        stamps: dict[str, int],
        edge_ps: int,
    ) -> Iterator[tuple[str, int]]:
        yield "flash.hand-over", stamps["accepted"]
        if status != ChannelStatus.BAD_COMMAND:
            work = state.begun(command, stamps["issued"])
            yield "flash.queue", stamps["command"]
            yield from self._before_ready(command, work, stamps)
            yield from self._after_ready(command, status, stamps)
        yield "flash.complete", edge_ps

    @staticmethod
    def _before_ready(
        command: Command, work: Work | None, stamps: dict[str, int]
    ) -> Iterator[tuple[str, int]]:
        if OPERATIONS[command.operation].first is not None:
            yield "flash.command", stamps["issued"] if work is None else work.begin_ps
        if work is None:
            return
        for stage, end_ps in work.stages:
            # A LUN that is given up may be ready later on.
            yield stage, min(end_ps, stamps["ready"])
        yield "flash.poll", stamps["ready"]

    def _after_ready(
        self, command: Command, status: int, stamps: dict[str, int]
    ) -> Iterator[tuple[str, int]]:
        finish = OPERATIONS[command.operation].finish
        if moved_data(command, status):
            yield "flash.bus-wait", stamps["transfer"]
            is_page = finish is Finish.TRANSFER
            yield "flash.transfer" if is_page else "flash.answer", stamps["received"]
            if self._has_decoder:
                yield "flash.ecc", stamps["last"]
        elif finish is Finish.STATUS and status != ChannelStatus.TIMEOUT:
            yield "flash.bus-wait", stamps["transfer"]
            yield "flash.status", stamps["received"]

    @staticmethod
    def _release(
        state: ChannelState,
        command: Command,
        cause: Cause,
        stage: str,
        stamps: dict[str, int],
        edge_ps: int,
    ) -> None:
        """Note what others may have waited for."""
        if stage in ("flash.transfer", "flash.answer"):
            state.release_bus(cause)
        elif stage == "flash.command" and command.data and command.bus_span is None:
            state.release_bus(Cause(stamps["issued"], cause.span))
        elif stage == "flash.ecc":
            state.decoding.append((stamps["received"], edge_ps))

    def _bytes(self, command: Command) -> dict[str, int]:
        """Data bytes, and parity with what is behind the data codewords."""
        first, end = command.column, command.column + command.length
        payload = self._data_before(end) - self._data_before(first)
        return {"payload_bytes": payload, "overhead_bytes": command.length - payload}

    def _data_before(self, column: int) -> int:
        layout = self._layout
        codeword, rest = divmod(min(column, layout.data_bytes), layout.codeword_bytes)
        return int(codeword * layout.chunk_bytes + min(rest, layout.chunk_bytes))
