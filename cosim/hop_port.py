"""The hop sequencer as the host sees it: one doorbell, then results and an answer.

Hypothetical, as the sequencer is; see ``cosim.card_hops``.
"""

from collections.abc import Generator
from typing import Any

from cosim.card_hops import HopSequencer
from cosim.fpga_card import INTERRUPT_BYTES, REGISTER_BYTES
from cosim.kernel import Kernel
from cosim.links import PcieLink
from host.costs import HostCpu
from host.hop_order import encode_answer
from rtl.contract.kernel import Cause, latest

__all__ = ["HopPort"]


class HopPort:
    """The card as the host sees it; see ``rtl.contract.kernel.HopPort``.

    Results leave as soon as a round has them, by the card's DMA engine, which needs no software of
    the host: where to is part of the order's doorbell. Answer and interrupt come behind them.

    Parameters
    ----------
    link : PcieLink
        Between host and card.
    cpu : HostCpu
        The host's core that rings.
    launch_ps : int
        Host software of one doorbell: as of a launch of the gather unit.
    """

    def __init__(
        self,
        kernel: Kernel,
        link: PcieLink,
        sequencer: HopSequencer,
        cpu: HostCpu,
        *,
        launch_ps: int,
    ) -> None:
        if launch_ps < 0:
            raise ValueError(f"launch_ps must not be negative, not {launch_ps!r}")
        self._kernel = kernel
        self._link = link
        self._sequencer = sequencer
        self._cpu = cpu
        self._launch_ps = launch_ps

    def sample(
        self, order: bytes, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, tuple[bytes, bytes, Cause]]:
        """Doorbell, order, hops, results, answer, interrupt."""
        cause = yield from self._cpu.work("launch", self._launch_ps, cause, request=request)
        cause = yield from self._link.down.write(
            REGISTER_BYTES, cause, request=request, kind="card_registers"
        )
        cause = yield from self._fetch(order, cause, request)
        results: list[bytes] = []
        flights: list[Any] = []

        def deliver(raw: bytes, released: Cause) -> Any:
            results.append(raw)
            return self._kernel.env.process(self._send(raw, released, request, flights))

        end, cause = yield from self._sequencer.run(order, cause, deliver, request=request)
        yield self._kernel.env.all_of(flights)
        cause = latest([cause, *(flight.value for flight in flights)])
        answer = encode_answer(end)
        up = self._link.up
        cause = yield from up.write(len(answer), cause, request=request, kind="hop_answer")
        cause = yield from up.write(INTERRUPT_BYTES, cause, request=request, kind="interrupt")
        return answer, b"".join(results), cause

    def _send(
        self, raw: bytes, cause: Cause, request: int, flights: list[Any]
    ) -> Generator[Any, Any, Cause]:
        """Bring results to the host; ends when the last byte has left, and it then flies."""
        up = self._link.up
        cause = yield from up.send(len(raw), cause, request=request, kind="result")
        flights.append(self._kernel.env.process(up.fly(cause, request=request, kind="result")))
        return cause

    def _fetch(self, order: bytes, cause: Cause, request: int) -> Generator[Any, Any, Cause]:
        """The card reads the order in host memory."""
        up, down = self._link.up, self._link.down
        header = up.parameters.header_bytes
        cause = yield from up.occupy(0, header, cause, request=request, kind="hop_order")
        cause = yield from up.fly(cause, request=request, kind="hop_order")
        return (yield from down.write(len(order), cause, request=request, kind="hop_order"))
