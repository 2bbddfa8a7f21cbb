"""What a run found: spans, latencies, stages and bytes. All numbers are made from spans."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cosim.conservation import check_bytes
from cosim.firmware_use import core_use, page_use, translation_use
from cosim.queue_depths import Depths, depth_table, depths_of_table, queue_use
from cosim.spans import Span, SpanLog, critical_path, stage_totals
from rtl.contract.kernel import BACKGROUND_REQUEST, Cause

__all__ = [
    "BatchResult",
    "RunResult",
    "SubgraphsDiffer",
    "SystemResult",
    "UnknownBytes",
    "load_system",
    "moved_bytes",
    "save_system",
    "summarize",
    "write_tables",
]

DIRECTIONS = {
    "pcie.ssd.down": "host_to_device",
    "pcie.fpga.down": "host_to_device",
    "pcie.ssd.up": "device_to_host",
    "pcie.fpga.up": "device_to_host",
    "pcie.p2p": "p2p",
    "pcie.p2p.to-ssd": "p2p",
}
"""What crosses which link, by the unit of its span."""
FLIGHT = ".flight"
"""End of the units whose spans are bytes on their way, counted when they left already."""

FLASH_STAGE = "flash.transfer"
PAYLOAD_KINDS = frozenset({"data", "result"})
"""Kinds that are neighbour ids on their way; all others serve to move them."""
OVERHEAD_KINDS = {
    "ns_config": "ns_config",
    "descriptor": "descriptors",
    "positions": "positions",
    "sqe": "queue_entries",
    "cqe": "queue_entries",
    "prp": "prp_lists",
    "doorbell": "doorbells",
    "card_registers": "doorbells",
    "acknowledgement": "doorbells",
    "interrupt": "interrupts",
    "hop_order": "hop_orders",
    "hop_answer": "hop_orders",
}
"""Key under ``overheads`` of each other kind."""

ENGINE_COUNTERS = frozenset({"channel.clock_stops"})
"""Counters that tell of the engine and not of the system: no result depends on how it runs."""

SPAN_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("unit", pa.string()),
        ("stage", pa.string()),
        ("start_ps", pa.int64()),
        ("end_ps", pa.int64()),
        ("cause", pa.int64()),
        ("ready_ps", pa.int64()),
        ("request", pa.int64()),
        ("kind", pa.string()),
        ("payload_bytes", pa.int64()),
        ("overhead_bytes", pa.int64()),
    ]
)
"""Columns of a span table: the fields of :class:`cosim.spans.Span`."""


class SubgraphsDiffer(Exception):
    """A system did not sample what the reference sampled: none of its numbers counts."""


class UnknownBytes(Exception):
    """A span moved bytes of a kind that reports do not know: they would be lost."""


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """One mini-batch, from its submission to the span that completed it."""

    request: int
    start_ps: int
    end: Cause

    @property
    def latency_ps(self) -> int:
        return self.end.at_ps - self.start_ps


@dataclass(frozen=True, kw_only=True)
class SystemResult:
    """One system on the whole trace.

    ``counters`` are whole numbers by name, ``depths`` those of the SSD's queues; ``assumed_costs``
    gives for each routine whose cost is not counted from code the reason. ``hypothetical`` says
    what of it no real system has, and is empty for those that may be.
    """

    name: str
    spans: SpanLog
    batches: tuple[BatchResult, ...]
    subgraph_sha256: str
    counters: Mapping[str, int] = field(default_factory=dict)
    assumed_costs: Mapping[str, str] = field(default_factory=dict)
    depths: Depths = field(default_factory=dict)
    hypothetical: str = ""

    @property
    def window(self) -> tuple[int, int]:
        """Times of the first mini-batch's begin and of the last one's end."""
        return self.batches[0].start_ps, self.batches[-1].end.at_ps


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """All systems of a run, in the order of the configuration."""

    engine: str
    trace_sha256: str
    reference_sha256: str
    systems: tuple[SystemResult, ...]


def summarize(result: RunResult) -> dict[str, Any]:
    """The content of ``summary.json``; a pure function of the run.

    Raises
    ------
    CausalityError
        If a request's time is not owned by spans from its submission to its completion.
    SubgraphsDiffer
        If a system's subgraphs are not those of the reference.
    BytesLost
        If bytes that left one part of a system did not enter the next.
    UnknownBytes
        If bytes would be left out.
    """
    for system in result.systems:
        check_bytes(system.spans)
        if system.subgraph_sha256 != result.reference_sha256:
            raise SubgraphsDiffer(
                f"Subgraphs of {system.name} must be those of the reference "
                f"({result.reference_sha256}), not {system.subgraph_sha256}"
            )
    return {
        "engine": result.engine,
        "trace_sha256": result.trace_sha256,
        "reference_sha256": result.reference_sha256,
        "systems": {system.name: _summarize_system(system) for system in result.systems},
    }


def moved_bytes(spans: Iterable[Span]) -> tuple[dict[str, int], dict[str, int]]:
    """Payload by boundary, and everything else that moved, by what it was.

    Raises
    ------
    UnknownBytes
        For a link that is not known, or a kind on a link that is neither payload nor overhead.
    """
    payload: Counter[str] = Counter(dict.fromkeys(["flash", *DIRECTIONS.values()], 0))
    names = ["flash_spare", "link_headers", *OVERHEAD_KINDS.values()]
    overheads: Counter[str] = Counter(dict.fromkeys(names, 0))
    for span in spans:
        if span.stage == FLASH_STAGE:
            payload["flash"] += span.payload_bytes
            overheads["flash_spare"] += span.overhead_bytes
        elif span.unit in DIRECTIONS:
            overheads["link_headers"] += span.overhead_bytes
            if span.kind in PAYLOAD_KINDS:
                payload[DIRECTIONS[span.unit]] += span.payload_bytes
            elif span.kind in OVERHEAD_KINDS:
                overheads[OVERHEAD_KINDS[span.kind]] += span.payload_bytes
            elif span.payload_bytes:
                raise UnknownBytes(
                    f"Span {span.number} on {span.unit} must move bytes of a known kind, "
                    f"not {span.kind!r}"
                )
        elif span.unit.startswith("pcie.") and not span.unit.endswith(FLIGHT):
            raise UnknownBytes(f"Span {span.number} must be on a known link, not {span.unit!r}")
    return dict(payload), dict(overheads)


def write_tables(result: RunResult, folder: Path) -> None:
    """Write spans, queue depths and latencies, with the system's name as first column."""
    for name, table_of in (
        ("spans", lambda system: _span_table(system.spans)),
        ("queues", lambda system: depth_table(system.depths)),
    ):
        tables = [_with_system(system.name, table_of(system)) for system in result.systems]
        pq.write_table(pa.concat_tables(tables), folder / f"{name}.parquet", compression="zstd")
    rows = [
        {
            "system": system.name,
            "batch": batch.request - 1,
            "start_ps": batch.start_ps,
            "end_ps": batch.end.at_ps,
            "latency_ps": batch.latency_ps,
        }
        for system in result.systems
        for batch in system.batches
    ]
    schema = pa.schema(
        [
            ("system", pa.string()),
            *((key, pa.int64()) for key in ("batch", "start_ps", "end_ps", "latency_ps")),
        ]
    )
    table = pa.Table.from_pylist(rows, schema=schema)
    pq.write_table(table, folder / "latencies.parquet", compression="zstd")


def save_system(system: SystemResult, folder: Path) -> None:
    """Write one system's result, for :func:`load_system` in another process."""
    pq.write_table(_span_table(system.spans), folder / "spans.parquet", compression="zstd")
    pq.write_table(depth_table(system.depths), folder / "queues.parquet", compression="zstd")
    document = {
        "name": system.name,
        "subgraph_sha256": system.subgraph_sha256,
        "counters": dict(system.counters),
        "assumed_costs": dict(system.assumed_costs),
        "hypothetical": system.hypothetical,
        "batches": [[b.request, b.start_ps, b.end.at_ps, b.end.span] for b in system.batches],
    }
    (folder / "system.json").write_text(json.dumps(document))


def load_system(folder: Path) -> SystemResult:
    """Read what :func:`save_system` wrote."""
    document = json.loads((folder / "system.json").read_text())
    rows = pq.read_table(folder / "spans.parquet").to_pylist()
    log = SpanLog()
    for _ in range(max((row["number"] for row in rows), default=-1) + 1):
        log.reserve()
    for row in rows:
        log.add(Span(**row))
    batches = tuple(
        BatchResult(request=request, start_ps=start, end=Cause(end, span))
        for request, start, end, span in document.pop("batches")
    )
    depths = depths_of_table(pq.read_table(folder / "queues.parquet"))
    return SystemResult(spans=log, batches=batches, depths=depths, **document)


def _summarize_system(system: SystemResult) -> dict[str, Any]:
    payload, overheads = moved_bytes(
        span for span in system.spans if span.request != BACKGROUND_REQUEST
    )
    translation = translation_use(system.counters)
    return {
        "batches": [_summarize_batch(system, batch) for batch in system.batches],
        "subgraph_sha256": system.subgraph_sha256,
        "bytes": payload,
        "overheads": overheads,
        "busy_ps": _busy(system.spans),
        "cores": core_use(system.spans),
        "pages": page_use(system.counters),
        **({"queues": _queues(system)} if system.depths else {}),
        **({"translation": translation} if translation else {}),
        **_background(system),
        "counters": {
            name: count for name, count in system.counters.items() if name not in ENGINE_COUNTERS
        },
        "assumed_costs": dict(system.assumed_costs),
        **({"hypothetical": system.hypothetical} if system.hypothetical else {}),
    }


def _queues(system: SystemResult) -> dict[str, Any]:
    return {name: queue_use(found, *system.window) for name, found in system.depths.items()}


def _background(system: SystemResult) -> dict[str, Any]:
    """``background``: what ran beside the mini-batches; nothing where there is none."""
    if "background.reads" not in system.counters:
        return {}
    payload, overheads = moved_bytes(
        span for span in system.spans if span.request == BACKGROUND_REQUEST
    )
    found: dict[str, Any] = {"bytes": payload, "overheads": overheads}
    for kind in ("read", "write"):
        count = system.counters[f"background.{kind}s"]
        whole_ps = system.counters[f"background.{kind}_latency_ps"]
        found[f"{kind}s"] = count
        found[f"mean_{kind}_latency_ps"] = whole_ps // count if count else None
    return {"background": found}


def _summarize_batch(system: SystemResult, batch: BatchResult) -> dict[str, Any]:
    stages = stage_totals(critical_path(system.spans, batch.end, batch.start_ps))
    return {"latency_ps": batch.latency_ps, "stages_ps": stages}


def _busy(spans: Iterable[Span]) -> dict[str, int]:
    """Time of all spans of a stage, overlapped or not: not a part of any latency."""
    busy: Counter[str] = Counter()
    for span in spans:
        busy[span.stage] += span.end_ps - span.start_ps
    return dict(busy)


def _span_table(log: SpanLog) -> pa.Table:
    spans = list(log)
    columns = {name: [getattr(span, name) for span in spans] for name in SPAN_SCHEMA.names}
    return pa.Table.from_pydict(columns, schema=SPAN_SCHEMA)


def _with_system(name: str, table: pa.Table) -> pa.Table:
    return table.add_column(0, "system", pa.array([name] * len(table), pa.string()))
