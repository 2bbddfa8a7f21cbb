"""Spans of a launch of the gather unit, from its stamps."""

from rtl.contract.kernel import Cause, Kernel

__all__ = ["RESULT_WORD_BYTES", "UNIT", "record_launch"]

UNIT = "gather"
RESULT_WORD_BYTES = 8


def record_launch(
    kernel: Kernel,
    period_ps: int,
    fields: dict[str, int],
    edge_ps: int,
    cause: Cause,
    *,
    request: int,
    ready_ps: int,
) -> Cause:
    """Lay the spans of a launch end to end: ``fields`` are a ``GatherDone`` within its event."""
    stages = (
        ("gather.start", fields["done.started"] * period_ps),
        ("gather.first-word", fields["done.first"] * period_ps),
        ("gather.stream", fields["done.last"] * period_ps),
        ("gather.complete", edge_ps),
    )
    for stage, end_ps in stages:
        is_stream = stage == "gather.stream"
        cause = kernel.record(
            UNIT,
            stage,
            cause.at_ps,
            end_ps,
            cause,
            request=request,
            ready_ps=ready_ps if stage == "gather.start" else None,
            payload_bytes=fields["done.words"] * RESULT_WORD_BYTES if is_stream else 0,
            kind="result" if is_stream else "",
        )
    return cause
