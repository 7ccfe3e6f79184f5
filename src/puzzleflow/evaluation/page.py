"""The report as one HTML page that needs nothing beside it: no script, no network."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape

from puzzleflow.core.intervals import Estimate
from puzzleflow.evaluation import tables
from puzzleflow.evaluation.report import (
    COMPARISON_NOTE,
    COST_NOTE,
    INTERVAL_NOTE,
    NO_ANSWER_NOTE,
    OTHER_DATA,
    refusal_lines,
)
from puzzleflow.evaluation.results import CLASSES, SHOWN
from puzzleflow.evaluation.tables import Report

_COLOURS = ("#2e8b57", "#8fbc5a", "#4682b4", "#87a9cf", "#c0504d", "#8c8c8c")

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; margin: 2rem 0 .6rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: left; }
th { background: var(--soft); }
.other { border: 2px dashed #b8860b; padding: .2rem 1rem 1rem; border-radius: .5rem; }
.bar { display: flex; height: 1.2rem; width: 100%; border-radius: .2rem; overflow: hidden; }
.legend span { display: inline-block; margin-right: 1rem; }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .3rem; }
img { max-width: 100%; height: auto; border: 1px solid var(--line); }
figure { margin: 1rem 0; } figcaption { font-size: .9rem; opacity: .8; }
dl { display: grid; grid-template-columns: max-content auto; gap: .1rem 1rem; }
dd { margin: 0; }
"""


def as_html(
    report: Report,
    sheets: Mapping[str, Mapping[str, bytes]],
    captions: Mapping[str, Mapping[str, Sequence[str]]],
) -> str:
    """The page.

    sheets    WebP bytes of contact sheets: ``sheets[solver]["best"]``
    captions  what each case of such a sheet is, in its order
    """
    body = ["<h1>Benchmark</h1>", _facts(report.facts)]
    body += ["<h2>Accuracy</h2>", f"<p>{escape(INTERVAL_NOTE)}</p>"]
    body += [_intervals(report), _table(tables.accuracy_table(report))]
    refused = [results for results in report.results if results.num_refused]
    if refused:
        reasons = "".join(f"<li>{escape(line)}</li>" for line in refusal_lines(refused))
        body += [f"<p>{escape(NO_ANSWER_NOTE)}</p>", f"<ul>{reasons}</ul>"]
    if report.published_table:
        note = OTHER_DATA.format(table=report.published_table).replace("**", "")
        body += ['<section class="other"><h2>Published figures: other data</h2>']
        body += [f"<p>{escape(note)}</p>", _table(tables.published_table(report)), "</section>"]
    body += ["<h2>How layouts fail</h2>", _failures(report), _table(tables.failure_table(report))]
    if report.comparisons:
        body += ["<h2>Paired comparison</h2>", f"<p>{escape(COMPARISON_NOTE)}</p>"]
        body += [_table(tables.comparison_table(report))]
    body += ["<h2>Cost</h2>", f"<p>{escape(COST_NOTE)}</p>", _table(tables.cost_table(report))]
    for solver, cases in sheets.items():
        body.append(f"<h2>Cases of {escape(solver)}</h2>")
        body.append("<p>Each case: pieces as given, layout (wrong pieces outlined), truth.</p>")
        for kind, webp in cases.items():
            body.append(f"<h3>{kind.capitalize()}</h3>")
            body.append(_figure(webp, f"{kind} cases of {solver}", captions[solver][kind]))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>PuzzleFlow benchmark</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _facts(facts: Mapping[str, str]) -> str:
    items = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    return f"<dl>{items}</dl>"


def _table(rows: list[list[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows[0])
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows[1:]
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _intervals(report: Report) -> str:
    """An SVG with one row per solver and metric: a dot and its interval on 0..100."""
    rows = [
        (f"{results.solver} {metric}", report.estimates[results.solver][metric])
        for metric in SHOWN
        for results in report.results
    ]
    height = 22 * len(rows) + 28
    ticks = "".join(
        f'<line x1="{_x(value)}" x2="{_x(value)}" y1="0" y2="{height - 24}" stroke="#8886"/>'
        f'<text x="{_x(value)}" y="{height - 6}" text-anchor="middle">{value}</text>'
        for value in range(0, 101, 20)
    )
    marks = "".join(
        _mark(name, estimate, 22 * place + 14) for place, (name, estimate) in enumerate(rows)
    )
    return (
        f'<svg viewBox="0 0 900 {height}" width="100%" role="img" font-size="13" '
        f'fill="currentColor" aria-label="Accuracy with intervals">{ticks}{marks}</svg>'
    )


def _mark(name: str, estimate: Estimate, y: int) -> str:
    return (
        f'<text x="292" y="{y + 4}" text-anchor="end">{escape(name)}</text>'
        f'<line x1="{_x(estimate.low)}" x2="{_x(estimate.high)}" y1="{y}" y2="{y}" '
        f'stroke="#4682b4" stroke-width="4" stroke-linecap="round"/>'
        f'<circle cx="{_x(estimate.value)}" cy="{y}" r="5" fill="#c0504d"/>'
    )


def _x(percent: float) -> float:
    return round(310 + 5.7 * percent, 1)


def _failures(report: Report) -> str:
    legend = "".join(
        f'<span><i style="background:{colour}"></i>{escape(name)}</span>'
        for name, colour in zip(CLASSES, _COLOURS, strict=True)
    )
    bars = []
    for results in report.results:
        counts = results.class_counts()
        parts = "".join(
            f'<div style="background:{colour};width:{100 * counts[name] / len(results):.2f}%" '
            f'title="{escape(name)}: {counts[name]}"></div>'
            for name, colour in zip(CLASSES, _COLOURS, strict=True)
        )
        bars.append(f'<p>{escape(results.solver)}</p><div class="bar">{parts}</div>')
    return f'<p class="legend">{legend}</p>' + "".join(bars)


def _figure(webp: bytes, title: str, cases: Sequence[str]) -> str:
    source = base64.b64encode(webp).decode()
    caption = "; ".join(cases)
    return (
        f'<figure><img alt="{escape(title)}" src="data:image/webp;base64,{source}">'
        f"<figcaption>In reading order: {escape(caption)}</figcaption></figure>"
    )
