"""The transitions of one sentence as a page to step through, with buttons, keys or a slider."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from covington.display import report
from covington.display.drawing import (
    LEVEL,
    MARGIN,
    STYLE,
    TAG_SIZE,
    WORD_SIZE,
    Layout,
    draw_arcs,
    draw_words,
    lay_out,
)
from covington.display.tracing import BuiltArc, LeftOver, Step, summary_text
from covington.display.trees import Arc, Tree, right_to_left

PAGE_STYLE = """
main{max-width:1600px}
.said{max-width:none}
.tree .added{stroke:var(--series-0)}.tree text.added,.tree path.tip.added{fill:var(--series-0)}
.tree .removed{stroke:var(--series-1);stroke-dasharray:2 3}
.tree text.removed,.tree path.tip.removed{fill:var(--series-1)}
.tree text.label{stroke:var(--panel)}.tree path.tip{stroke:none}
.state{display:none}.state.on{display:inline}
.calm .removed{display:none}
.calm .added{stroke:var(--faint)}.calm text.added,.calm path.tip.added{fill:var(--ink)}
.calm text.added{stroke:var(--panel)}
.band{opacity:.13}.band.l1{fill:var(--series-0)}.band.l2{fill:var(--series-3)}.band.b{fill:var(--series-2)}
.band-name{font-size:11px;fill:var(--faint);text-anchor:middle}
.focus{fill:none;stroke:var(--ink);stroke-width:1.5;rx:6px}
.controls{display:flex;flex-wrap:wrap;gap:8px;align-items:center;margin:14px 0;position:sticky;top:0;
background:var(--paper);padding:8px 0;z-index:1}
.controls button{font:inherit;padding:6px 14px;border:1px solid var(--line);border-radius:8px;
background:var(--panel);color:var(--ink);cursor:pointer}
.controls button:disabled{opacity:.4;cursor:default}
.controls input{flex:1 1 160px;min-width:120px;accent-color:var(--mark)}
.controls output{font-variant-numeric:tabular-nums;color:var(--faint);min-width:5.5em;text-align:right}
.now{font-size:1.1rem;min-height:3.2em;margin:6px 0}
.now b{font-weight:650}.now .repair{color:var(--series-1);display:block}
.steps{max-height:22em;overflow:auto}
.steps td{text-align:left;cursor:pointer;padding:4px 14px}
.steps tr.repair td{color:var(--series-1)}
.steps tr.on td{background:var(--wash)}
"""

SCRIPT = """
(()=>{const data=JSON.parse(document.getElementById('trace').textContent),$=id=>document.getElementById(id),
rows=[...document.querySelectorAll('.steps tbody tr')],
states=[...document.querySelectorAll('.state')],last=data.steps.length;
let at=0;
function band(id,from,to){const e=$(id),n=$(id+'-name'),w=data.words;
 if(from>to){e.setAttribute('width',0);n.textContent='';return}
 const a=Math.min(w[from-1][0],w[to-1][0]),b=Math.max(w[from-1][1],w[to-1][1]);
 e.setAttribute('x',a);e.setAttribute('width',b-a);n.setAttribute('x',(a+b)/2);n.textContent=n.dataset.name}
function focus(id,word){const e=$(id),w=data.words[word-1];e.style.display=w?'':'none';
 if(w){e.setAttribute('x',w[0]);e.setAttribute('width',w[1]-w[0])}}
function show(step,scroll){at=Math.max(0,Math.min(last,step));
 const s=at?data.steps[at-1]:null,n=data.words.length,next=data.steps[at],
 i=s?s.left:0,j=s?s.right:1;
 states.forEach((g,k)=>g.classList.toggle('on',k===(s?s.state:0)));
 $('drawing').classList.toggle('calm',!(s&&s.arc));
 band('l1',1,i);band('l2',i+1,j-1);band('b',j,n);focus('fi',i);focus('fj',j<=n?j:0);
 $('now').innerHTML=s?s.html:data.start;
 $('slider').value=at;$('count').textContent=at+' / '+last;
 $('first').disabled=$('back').disabled=at===0;$('next').disabled=$('end').disabled=at===last;
 rows.forEach((r,k)=>r.classList.toggle('on',k===at-1));
 if(scroll!==false&&at){const box=rows[at-1].closest('.steps'),r=rows[at-1];
  box.scrollTop=r.offsetTop-box.clientHeight/2;
  const pane=$('pane'),w=data.words[j-1],v=data.words[i-1]||w;if(w&&pane.scrollWidth>pane.clientWidth){
   const a=Math.min(w[0],v[0]),b=Math.max(w[1],v[1]),both=b-a<pane.clientWidth,
   view=(both?(a+b)/2:(w[0]+w[1])/2)-pane.clientWidth/2;
   pane.scrollLeft=data.mirror?view-(pane.scrollWidth-pane.clientWidth):view}}}
$('first').onclick=()=>show(0);$('back').onclick=()=>show(at-1);$('next').onclick=()=>show(at+1);
$('end').onclick=()=>show(last);$('slider').oninput=e=>show(+e.target.value);
$('repair').onclick=()=>{const k=data.steps.findIndex((s,k)=>k>=at&&s.repair);
 show(k<0?data.steps.findIndex(s=>s.repair)+1:k+1)};
$('repair').disabled=!data.steps.some(s=>s.repair);
rows.forEach((r,k)=>r.onclick=()=>show(k+1));
addEventListener('keydown',e=>{const go={ArrowRight:at+1,ArrowLeft:at-1,Home:0,End:last}[e.key];
 if(go!==undefined&&e.target.id!=='slider'){e.preventDefault();show(go)}
 else if(e.key==='r')$('repair').click()});
const asked=/^#(\\d+)$/.exec(location.hash);show(asked?+asked[1]:0,!!asked)})();
"""


def html(tree: Tree, steps: list[Step], left: Sequence[LeftOver] = (), title: str = "Trace") -> str:
    """The page; without scripts it still shows the list of steps."""
    states, numbers = _states(steps, left)
    union = _arcs([arc for state in states for arc in state])
    words = lay_out(tree, union, []).centres
    layouts = [lay_out(tree, state, [], words) for state in states]
    drawn, spans, mirror = _drawing(tree, layouts)
    data: dict[str, Any] = {
        "words": spans,
        "mirror": mirror,
        "start": escape("Before the first transition: all words are in the buffer."),
        "steps": [
            {
                "left": step.left,
                "right": step.right,
                "state": numbers[place],
                "arc": step.added is not None,
                "repair": step.repair,
                "html": _sentence(tree, step),
            }
            for place, step in enumerate(steps)
        ],
    }
    if left:
        end = {
            "left": 0,
            "right": len(tree.words) + 1,
            "state": len(states) - 1,
            "arc": True,
            "repair": False,
        }
        data["steps"].append(end | {"html": _end(tree, left)})
    gold = any(step.verdict for step in steps)
    direction = ' dir="rtl"' if mirror else ""
    body = [
        f'<p class="note said"{direction}>{escape(tree.text or " ".join(tree.words))}</p>',
        report.paragraph(summary_text(steps, left, gold=gold) + "."),
        '<div class="controls"><button id="first">start</button>'
        '<button id="back">← back</button><button id="next">next →</button><button id="end">end</button>'
        '<button id="repair">next repair ↻</button>'
        f'<input id="slider" type="range" min="0" max="{len(data["steps"])}" value="0" aria-label="step">'
        '<output id="count"></output></div>',
        '<div class="now" id="now" aria-live="polite"></div>',
        f'<div class="scroll" id="pane"{direction}>{drawn}</div>',
        report.paragraph(
            "Keys: ← and → step, Home and End jump, r goes to the next repair. λ1 holds the words up to the "
            "left focus word, λ2 those between the focus words, the buffer those from the right one on. "
            "Blue: the new arc; orange: arcs it takes away."
        ),
        _table(tree, steps, left),
        f'<script type="application/json" id="trace">{_json(data)}</script>',
    ]
    return report.page(title, tree.sent_id or "one sentence", body, style=STYLE + PAGE_STYLE, script=SCRIPT)


def _json(data: object) -> str:
    """JSON that cannot end its script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _arcs(arcs: list[Arc]) -> list[Arc]:
    """Each pair of words once, with its longest label, to find how far apart words must stand."""
    widest: dict[tuple[int, int], Arc] = {}
    for arc in arcs:
        known = widest.get((arc.left, arc.right))
        if known is None or len(arc.label) > len(known.label):
            widest[arc.left, arc.right] = arc
    return list(widest.values())


def _states(steps: list[Step], left: Sequence[LeftOver]) -> tuple[list[list[Arc]], list[int]]:
    """The distinct pictures (a new one after every arc transition), and which one each step shows."""
    states: list[list[Arc]] = [[]]
    numbers = []
    for step in steps:
        if step.added is not None:
            kept = [_drawn(arc, "both") for arc in step.arcs if arc != step.added]
            gone = [_drawn(arc, "removed") for arc in step.removed]
            states.append([*kept, _drawn(step.added, "added"), *gone])
        numbers.append(len(states) - 1)
    if left:
        new = {one.arc.dependent: _drawn(one.arc, "added") for one in left}
        kept = [_drawn(arc, "both") for arc in (steps[-1].arcs if steps else ()) if arc.dependent not in new]
        states.append([*kept, *new.values()])
    return states, numbers


def _drawn(arc: BuiltArc, kind: str) -> Arc:
    return Arc(arc.head, arc.dependent, arc.label, kind, False)


def _drawing(tree: Tree, layouts: list[Layout]) -> tuple[str, list[tuple[float, float]], bool]:
    """All pictures in one SVG, only one of them shown; and where the words stand."""
    levels = max((arc.level for layout in layouts for arc in layout.above), default=0)
    line = MARGIN + levels * LEVEL + WORD_SIZE + 18
    first = layouts[0]
    width = max(layout.width for layout in layouts)
    mirror = right_to_left(tree.words)

    def across(x: float) -> float:
        return width - x if mirror else x

    top, tall = line - WORD_SIZE - 3, WORD_SIZE + TAG_SIZE + 16
    named = (("l1", "λ1"), ("l2", "λ2"), ("b", "buffer"))
    bands = "".join(
        f'<rect id="{name}" class="band {name}" y="{top}" height="{tall}" rx="6"/>'
        f'<text id="{name}-name" data-name="{text}" class="band-name" y="{top + tall + 14}"></text>'
        for name, text in named
    )
    frames = "".join(f'<rect id="{name}" class="focus" y="{top}" height="{tall}"/>' for name in ("fi", "fj"))
    pictures = "".join(
        f'<g class="state">{"".join(draw_arcs(layout.above, layout, line - WORD_SIZE - 4, -1, across))}</g>'
        for layout in layouts
    )
    spans = []
    for centre, box in zip(first.centres, first.boxes, strict=True):
        edges = sorted((across(centre - box / 2 - 6), across(centre + box / 2 + 6)))
        spans.append((round(edges[0], 1), round(edges[1], 1)))
    height = line + tall + MARGIN
    direction = ' direction="rtl"' if mirror else ""
    text = "".join(draw_words(tree, first, line, across))
    drawn = (
        f'<svg id="drawing" class="tree" role="img" aria-label="arcs"{direction} width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">{bands}{frames}{pictures}{text}</svg>'
    )
    return drawn, spans, mirror


def _sentence(tree: Tree, step: Step) -> str:
    """What happened, in words."""
    names = ["", *tree.words]
    left = f"<b>“<bdi>{escape(names[step.left])}</bdi>”</b>" if step.left else "<b>ROOT</b>"
    right = f"<b>“<bdi>{escape(names[step.right])}</bdi>”</b>"
    label = escape(step.label or "")
    told = {
        "Shift": f"<b>Shift</b>: {right} is done with; the next word of the buffer comes into focus.",
        "NoArc": f"<b>NoArc</b>: no arc between {left} and {right}.",
        "LeftArc": f"<b>LeftArc {label}</b>: {right} becomes the head of {left}.",
        "RightArc": f"<b>RightArc {label}</b>: {left} becomes the head of {right}.",
    }[step.transition]
    if step.verdict:
        told += " ✓ The head is that of gold." if step.verdict == "gold" else " ✗ Not the head that gold has."
    for arc, was_right in zip(step.removed, step.removed_gold, strict=True):
        head = f"“<bdi>{escape(names[arc.head])}</bdi>”" if arc.head else "ROOT"
        why = (
            "one head only"
            if step.added and arc.dependent == step.added.dependent
            else "it would close a cycle"
        )
        lost = f"“<bdi>{escape(names[arc.dependent])}</bdi>”"
        told += f'<span class="repair">↻ takes away {head} → {lost} ({why})'
        told += ", which was right.</span>" if was_right else ".</span>"
    return told


def _end(tree: Tree, left: Sequence[LeftOver]) -> str:
    """What happened to words without a head, in words."""
    names = ["", *tree.words]
    told = ["<b>The end</b>: words without a head are attached, without a transition."]
    for one in left:
        head = f"“<bdi>{escape(names[one.arc.head])}</bdi>”" if one.arc.head else "ROOT"
        verdict = {"gold": " ✓", "wrong": " ✗", "": ""}[one.verdict]
        told.append(
            f"{head} → “<bdi>{escape(names[one.arc.dependent])}</bdi>” ({escape(one.arc.label)}){verdict}"
        )
    return " ".join(told)


def _table(tree: Tree, steps: list[Step], left: Sequence[LeftOver]) -> str:
    names = ["ROOT", *tree.words]
    rows = []
    for step in steps:
        name = escape(f"{step.transition} {step.label}" if step.label else step.transition)
        word = escape(names[step.left]) if step.left or step.added else ""
        cells = [str(step.number), "↻" if step.repair else "", name, word, escape(names[step.right])]
        verdict = {"gold": "✓", "wrong": "✗", "": ""}[step.verdict]
        shade = ' class="repair"' if step.repair else ""
        rows.append(f"<tr{shade}>" + "".join(f"<td>{cell}</td>" for cell in [*cells, verdict]) + "</tr>")
    if left:
        words = ", ".join(escape(names[one.arc.dependent]) for one in left)
        rows.append(f"<tr><td></td><td></td><td>the end</td><td></td><td>{words}</td><td></td></tr>")
    return f'<div class="scroll steps"><table><tbody>{"".join(rows)}</tbody></table></div>'
