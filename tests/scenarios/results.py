"""A made-up run of two systems: small, hand-countable, with every kind of byte."""

from dataclasses import replace

from cosim.results import BatchResult, RunResult, SystemResult
from cosim.spans import Span, SpanLog
from rtl.contract.kernel import Cause

US = 10**6


def chain(steps, *, request=1, start_ps=US, log=None):
    """Spans one after the other: (unit, stage, duration in us, payload, overhead, kind)."""
    log = SpanLog() if log is None else log
    cause = Cause(start_ps, -1)
    for unit, stage, duration_us, payload, overhead, kind in steps:
        end_ps = cause.at_ps + duration_us * US
        number = log.reserve()
        span = Span(
            number=number, unit=unit, stage=stage, start_ps=cause.at_ps, end_ps=end_ps,
            cause=cause.span, ready_ps=cause.at_ps, request=request, kind=kind,
            payload_bytes=payload, overhead_bytes=overhead,
        )  # fmt: skip
        cause = log.add(span)
    return log, BatchResult(request=request, start_ps=start_ps, end=cause)


FIRMWARE_STEPS = (
    ("host-cpu", "host.draw", 2, 0, 0, ""),
    ("pcie.ssd.down", "pcie.ssd.down", 1, 4, 24, "doorbell"),
    ("pcie.ssd.up", "pcie.ssd.up", 1, 0, 24, "sqe"),
    ("pcie.ssd.down", "pcie.ssd.down", 1, 64, 24, "sqe"),
    ("pcie.ssd.down", "pcie.ssd.down", 2, 4096, 384, "ns_config"),
    ("ssd-dram", "dram.dma-in", 0, 4096, 0, "ns_config"),
    ("core0", "firmware.isp-control", 7, 0, 0, ""),
    ("flash.ch0", "flash.queue", 1, 0, 0, ""),
    ("flash.ch0", "flash.sense", 50, 0, 0, ""),
    ("flash.ch0", "flash.transfer", 89, 16384, 1344, "page"),
    ("ssd-dram", "dram.flash-in", 4, 16384, 0, "page"),
    ("core1", "firmware.gather", 9, 0, 0, ""),
    ("dma", "dma.setup", 1, 0, 0, "result"),
    ("ssd-dram", "dram.dma-out", 0, 84, 0, "result"),
    ("pcie.ssd.up", "pcie.ssd.up", 1, 84, 24, "result"),
    ("pcie.ssd.up", "pcie.ssd.up", 1, 16, 24, "cqe"),
    ("pcie.ssd.up", "pcie.ssd.up", 1, 4, 24, "interrupt"),
    ("host-cpu", "host.complete", 3, 0, 0, ""),
)
FPGA_STEPS = (
    ("host-cpu", "host.draw", 2, 0, 0, ""),
    ("pcie.ssd.down", "pcie.ssd.down", 1, 16, 24, "prp"),
    ("ssd-dram", "dram.dma-in", 0, 16, 0, "prp"),
    ("flash.ch0", "flash.sense", 50, 0, 0, ""),
    ("flash.ch0", "flash.transfer", 89, 16384, 1344, "page"),
    ("ssd-dram", "dram.flash-in", 0, 16384, 0, "page"),
    ("ssd-dram", "dram.dma-out", 0, 4096, 0, "data"),
    ("pcie.p2p", "pcie.p2p", 5, 4096, 384, "data"),
    ("gather", "gather.stage", 1, 4096 + 128, 0, "stage"),
    ("pcie.fpga.down", "pcie.fpga.down", 1, 64, 24, "descriptor"),
    ("pcie.fpga.down", "pcie.fpga.down", 1, 64, 24, "positions"),
    ("pcie.fpga.down", "pcie.fpga.down", 1, 4, 24, "card_registers"),
    ("gather", "gather.run", 3, 0, 0, ""),
    ("gather", "gather.stream", 0, 88, 0, "result"),
    ("pcie.fpga.up", "pcie.fpga.up", 2, 88, 24, "result"),
    ("host-cpu", "host.complete", 3, 0, 0, ""),
)
HOP_STEPS = (
    ("host-cpu", "host.launch", 2, 0, 0, ""),
    ("pcie.fpga.down", "pcie.fpga.down", 1, 36, 24, "hop_order"),
    ("hops", "hops.order", 0, 36, 0, "hop_order"),
    ("hops", "hops.build", 0, 64, 0, "positions"),
    ("gather", "gather.stage", 1, 64, 0, "stage"),
    ("gather", "gather.stream", 0, 24, 0, "result"),
    ("hops", "hops.pointers", 1, 24, 0, "pointers"),
    ("host-cpu", "host.parse", 3, 0, 0, ""),
)


def two_batches(name, steps, **facts):
    log, first = chain(steps)
    log, second = chain(steps[1:], request=2, start_ps=first.end.at_ps + 5 * US, log=log)
    return SystemResult(
        name=name, spans=log, batches=(first, second), subgraph_sha256="5a" * 32, **facts
    )


def hypothetical_run():
    """The example with a third system, of which no real one has the hop sequencer."""
    run = example_run()
    third = two_batches("hops", HOP_STEPS, hypothetical="No card has it.")
    return replace(run, systems=(*run.systems, third))


def example_run():
    return RunResult(
        engine="verilator",
        trace_sha256="7e" * 32,
        reference_sha256="5a" * 32,
        systems=(
            two_batches(
                "firmware-csd",
                FIRMWARE_STEPS,
                counters={"page_buffer.hits": 3},
                assumed_costs={"sqe_fetch": "not yet written in C"},
            ),
            two_batches("fpga-csd", FPGA_STEPS),
        ),
    )
