"""One self-contained HTML file per study: tables and plots, for a screen of any size, light or dark.

The functions take plain values and escape them; they return HTML, which only they may put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from html import escape
from typing import IO

from covington.display.plots import score_text
from covington.files.atomic import atomic_file

# Series colours follow Okabe and Ito (2008): told apart with any colour vision, and lighter in the dark.
STYLE = """
:root{color-scheme:light dark;--paper:#fcfbf9;--ink:#22252a;--faint:#6b7078;--line:#e3e0da;--panel:#fff;
--mark:#0b6aa8;--wash:#eef4f8;--series-0:#0072b2;--series-1:#d55e00;--series-2:#009e73;--series-3:#b5548a;
--series-4:#b07d00;--series-5:#2b9fd9}
@media (prefers-color-scheme:dark){:root{--paper:#15171a;--ink:#e4e2dd;--faint:#989ca3;--line:#2f3338;
--panel:#1b1e22;--mark:#6db8ea;--wash:#1d2932;--series-0:#5aaee6;--series-1:#f0894a;--series-2:#3cc79d;
--series-3:#dd92bd;--series-4:#e3b341;--series-5:#8fd3f7}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",
Roboto,"Noto Sans",Ubuntu,Cantarell,sans-serif;-webkit-text-size-adjust:100%}
main{max-width:1040px;margin:0 auto;padding:40px 20px 72px}
h1{font-size:1.8rem;line-height:1.2;font-weight:650;letter-spacing:-.015em;margin:0 0 6px}
h2{font-size:1.2rem;font-weight:650;letter-spacing:-.005em;margin:52px 0 6px}
h3{font-size:1rem;font-weight:600;margin:26px 0 4px}
p{margin:6px 0 14px;max-width:68ch}
h1,h2,h3,p{overflow-wrap:anywhere}
.subtitle,.note,figcaption{color:var(--faint)}
.note{font-size:.92rem}
.scroll{overflow-x:auto;-webkit-overflow-scrolling:touch;margin:14px 0;border:1px solid var(--line);
border-radius:10px;background:var(--panel)}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:8px 14px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left;position:sticky;left:0;background:var(--panel)}
td.text,th.text{text-align:left}
thead th{white-space:normal;min-width:4.6em;
font-weight:600;color:var(--faint);font-size:.85rem;vertical-align:bottom}
tbody tr:last-child td{border-bottom:0}
td.best{font-weight:700;color:var(--mark)}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:20px;margin:14px 0}
.plots>div{min-width:0;
border:1px solid var(--line);border-radius:10px;background:var(--panel);padding:12px 14px}
.plots h3{margin:0 0 6px}
figure{margin:0}
.plot>svg{display:block;width:100%;height:auto}
.plot text{font-size:12px;fill:var(--faint)}
.plot .axis{fill:var(--ink)}
.plot .grid{stroke:var(--line)}
.legend{display:flex;flex-wrap:wrap;gap:2px 16px;font-size:.85rem;margin:0 0 6px}
.key{display:inline-flex;align-items:center;gap:6px}
.key svg{width:22px;height:10px;flex:none}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(132px,1fr));gap:12px;margin:22px 0}
.card{border:1px solid var(--line);border-radius:10px;background:var(--panel);padding:12px 16px}
.card b{display:block;
font-size:1.5rem;font-weight:650;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.card span{color:var(--faint);font-size:.85rem}
details{margin:12px 0}
summary{cursor:pointer;color:var(--mark)}
code{font:.9em ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
footer{margin-top:64px;color:var(--faint);font-size:.85rem}
@media (max-width:520px){main{padding:26px 16px 56px}h1{font-size:1.45rem}th,td{padding:7px 10px}}
@media print{body{background:#fff}.scroll{overflow:visible}}
"""


def page(title: str, subtitle: str, body: Iterable[str], *, style: str = "", script: str = "") -> str:
    """The whole file. `style` and `script` are the program's own text, never data."""
    scripts = f"<script>{script}</script>" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head>\n<body><main>"
        f'<h1>{escape(title)}</h1><p class="subtitle">{escape(subtitle)}</p>\n'
        + "\n".join(body)
        + f"\n<footer>Made by covington.</footer></main>{scripts}</body></html>\n"
    )


def section(title: str, *parts: str, note: str = "") -> str:
    """A heading, a sentence on how to read what follows, and what follows."""
    return f"<section><h2>{escape(title)}</h2>{paragraph(note) if note else ''}{''.join(parts)}</section>"


def paragraph(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def command(text: str) -> str:
    """A command line that made the numbers."""
    return f'<p class="note"><code>{escape(text)}</code></p>'


def cards(values: Sequence[tuple[str, str]]) -> str:
    """Big numbers with what they are."""
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{escape(v)}</b><span>{escape(k)}</span></div>' for k, v in values)
        + "</div>"
    )


def plots(named: Sequence[tuple[str, str]]) -> str:
    """Plots side by side where there is room, one below the other on a phone."""
    return (
        '<div class="plots">'
        + "".join(f"<div><h3>{escape(t)}</h3>{plot}</div>" for t, plot in named)
        + "</div>"
    )


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    best: Iterable[tuple[int, int]] = (),
    text_columns: Iterable[int] = (),
) -> str:
    """Numbers are set to two decimals and to the right; `best` cells (row, column) stand out."""
    marked, texts = set(best), {0, *text_columns}

    def attribute(row: int, column: int) -> str:
        names = ["best"] * ((row, column) in marked) + ["text"] * (column in texts)
        return f' class="{" ".join(names)}"' if names else ""

    head = "".join(f'<th scope="col"{attribute(-1, c)}>{escape(name)}</th>' for c, name in enumerate(header))
    body = "".join(
        "<tr>" + "".join(f"<td{attribute(r, c)}>{cell(value)}</td>" for c, value in enumerate(row)) + "</tr>"
        for r, row in enumerate(rows)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def cell(value: object) -> str:
    """Any value as escaped text."""
    if value is None or isinstance(value, float):
        return score_text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return escape(str(value))


def details(summary: str, *parts: str) -> str:
    """What is there for those who open it."""
    return f"<details><summary>{escape(summary)}</summary>{''.join(parts)}</details>"


def write(
    path: str, text: str, create: Callable[[str], AbstractContextManager[IO[bytes]]] = atomic_file
) -> None:
    """Write a file whole or not at all; `-` is the terminal."""
    if path == "-":
        print(text, end="")
        return
    with create(path) as file:
        file.write(text.encode())
