"""The page of a run: one file with figures, plot, configuration and what is assumed."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from cosim.config.load import LoadedConfig
from cosim.config.platform import constants
from cosim.report.firmware import render_firmware
from cosim.report.label import hypothetical_systems, label, labels
from cosim.report.queues import render_queues
from cosim.report.stages import FAMILIES, by_family, family_of, in_order
from cosim.report.table import duration, ratio_sentence, size
from cosim.results import SystemResult
from rtl.contract.gather import BUSY_PARTS

__all__ = ["render_page"]

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 68rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: .6rem 0; }
th, td { padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd; text-align: left;
         vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; } code, pre { font-size: 12.5px; }
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .5em; }
.scroll { overflow-x: auto; } p.small { color: #666; font-size: 13px; }
"""

STAGES = """At every instant of a mini-batch exactly one span owns the time: the one on the
critical path, found by walking back from the completion, from each span to the one that released
it. The stages therefore add up to the latency, to the picosecond. Work that overlaps with the
critical path does not appear here."""

ASSUMED = """These constants come from no source. All others name one in the configuration below."""

GATHER = (
    ("busy", "clocks with a launch in the unit"),
    ("transfers", "of them with result words delivered"),
    ("output_stalls", "with a word that was not taken"),
    ("memory_stalls", "with none, and a read asked for or on the bus"),
    ("gaps", "with neither"),
    ("ids", "ids delivered"),
    ("beats", "beats read from DRAM"),
    ("id_reads", "of them for ids"),
    ("merges", "ids that are in the beat read for the id before them"),
)


def render_page(
    summary: Mapping[str, Any],
    loaded: LoadedConfig,
    configuration: str,
    plot: bytes,
    systems: Sequence[SystemResult] = (),
) -> str:
    """The page as HTML; it refers to nothing outside itself.

    ``systems`` are those whose queue depths are shown.
    """
    image = base64.b64encode(plot).decode()
    body = [
        "<h1>csd-cosim: sampling by computational storage devices</h1>",
        f"<p>{escape(ratio_sentence(summary))}</p>",
        *_hypothetical(summary),
        "<h2>Latency</h2>",
        _latencies(summary),
        f'<img alt="Latency of each mini-batch by stage" src="data:image/png;base64,{image}">',
        "<h2>What the stages mean</h2>",
        f"<p>{STAGES}</p>",
        _families(summary),
        "<h2>Stages in full</h2>",
        _stages(summary),
        "<h2>Bytes moved</h2>",
        _bytes(summary),
        *render_firmware(summary, _table),
        *render_queues(summary, systems, _table),
        *_gather(summary),
        "<h2>The same subgraph</h2>",
        _hashes(summary),
        "<h2>What is assumed</h2>",
        _assumed(summary, loaded),
        "<h2>Configuration</h2>",
        _configuration(configuration),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>csd-cosim run</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 10**6) -> str:
    """Columns from ``numbers`` on are right-aligned. Cells are HTML already."""

    def row(cells: Sequence[str], tag: str) -> str:
        marks = ['class="n"' if place >= numbers else "" for place in range(len(cells))]
        inner = (f"<{tag} {m}>{c}</{tag}>" for m, c in zip(marks, cells, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    lines = [row([escape(cell) for cell in head], "th"), *(row(cells, "td") for cells in rows)]
    return '<div class="scroll"><table>' + "\n".join(lines) + "</table></div>"


def _hypothetical(summary: Mapping[str, Any]) -> list[str]:
    """What of the systems no real one has; nothing where all may be."""
    return [
        f"<p><strong>{escape(name)} is hypothetical.</strong> {escape(reason)}</p>"
        for name, reason in hypothetical_systems(summary).items()
    ]


def _latencies(summary: Mapping[str, Any]) -> str:
    systems = summary["systems"]
    count = max(len(system["batches"]) for system in systems.values())
    rows = [
        [
            escape(label(name, system)),
            *(duration(batch["latency_ps"]) for batch in system["batches"]),
        ]
        for name, system in systems.items()
    ]
    return _table(["system", *(f"batch {number}" for number in range(count))], rows, 1)


def _families(summary: Mapping[str, Any]) -> str:
    found = (
        family
        for system in summary["systems"].values()
        for batch in system["batches"]
        for family in by_family(batch["stages_ps"])
    )
    rows = [
        [
            f'<span class="key" style="background:{family.colour}"></span>{escape(family.title)}',
            escape(family.meaning),
        ]
        for family in in_order(found)
    ]
    return _table(["part of a bar", "meaning"], rows)


def _stages(summary: Mapping[str, Any]) -> str:
    batches = {
        f"{label(name, system)}, {number}": batch["stages_ps"]
        for name, system in summary["systems"].items()
        for number, batch in enumerate(system["batches"])
    }
    stages = dict.fromkeys(stage for parts in batches.values() for stage in parts)
    order = [family.title for family in FAMILIES]
    ranked = sorted(
        stages, key=lambda stage: order.index(t) if (t := family_of(stage).title) in order else 99
    )
    rows = [
        [
            f"<code>{escape(stage)}</code>",
            *(duration(parts[stage]) if stage in parts else "" for parts in batches.values()),
        ]
        for stage in ranked
    ]
    rows.append(["sum", *(duration(sum(parts.values())) for parts in batches.values())])
    return _table(["stage", *batches], rows, 1)


def _bytes(summary: Mapping[str, Any]) -> str:
    systems = summary["systems"]
    kinds = [("bytes", "payload"), ("overheads", "overhead")]
    rows = []
    for group, what in kinds:
        for key in dict.fromkeys(key for system in systems.values() for key in system[group]):
            values = [system[group].get(key, 0) for system in systems.values()]
            if any(values):
                rows.append([what, key.replace("_", " "), *map(size, values)])
    return _table(["", "what", *labels(summary)], rows, 2)


def _gather(summary: Mapping[str, Any]) -> list[str]:
    """What the gather units' clocks went to, and what they counted; nothing where there is none."""
    counted = {
        label(name, system): system["counters"]
        for name, system in summary["systems"].items()
        if system["counters"].get("gather.busy")
    }
    if not counted:
        return []
    rows = []
    for key, meaning in GATHER:
        cells = []
        for counters in counted.values():
            count, busy = counters.get(f"gather.{key}"), counters["gather.busy"]
            if count is None:
                cells.append("not counted: own RTL")
                continue
            share = f" ({100 * count / busy:.1f} %)" if key in BUSY_PARTS else ""
            cells.append(f"{count:,}{share}")
        rows.append([f"<code>gather.{key}</code>", escape(meaning), *cells])
    return ["<h2>The gather unit</h2>", _table(["counter", "meaning", *counted], rows, 2)]


def _hashes(summary: Mapping[str, Any]) -> str:
    rows = [["plain NumPy reference", f"<code>{escape(summary['reference_sha256'])}</code>"]]
    rows += [
        [escape(label(name, system)), f"<code>{escape(system['subgraph_sha256'])}</code>"]
        for name, system in summary["systems"].items()
    ]
    trace = escape(summary["trace_sha256"])
    return (
        _table(["subgraphs of", "SHA-256"], rows)
        + f'<p class="small">trace {trace}, engine {escape(summary["engine"])}</p>'
    )


def _assumed(summary: Mapping[str, Any], loaded: LoadedConfig) -> str:
    platforms = loaded.platforms
    rows = [
        [f"<code>{part}.{escape(key)}</code>", escape(_shown(constant)), escape(constant.source)]
        for part in ("ssd", "fpga", "host")
        for key, constant in constants(getattr(platforms, part))
        if constant.mark in ("assumed", "configured")
    ]
    routines = {
        routine: reason
        for system in summary["systems"].values()
        for routine, reason in system["assumed_costs"].items()
    }
    rows += [
        [f"<code>firmware routine {escape(name)}</code>", "", escape(reason)]
        for name, reason in sorted(routines.items())
    ]
    return f"<p>{ASSUMED}</p>" + _table(["constant", "value", "why"], rows)


def _configuration(text: str) -> str:
    head = "<details><summary>with all defaults and platform constants</summary>"
    return f"{head}<pre>{escape(text)}</pre></details>"


def _shown(constant: Any) -> str:
    return str(constant.model_dump(mode="json")["value"])
