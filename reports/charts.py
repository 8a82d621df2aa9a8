"""The charts of a run, each one function from numbers to SVG.

Every mark carries `data-t` and `data-l`, the places of its tokenizer and language in the data of
the page, so that a reader (and the page's script) can find the row it shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from tokbench.reports import svg

ROW = 17.0
"""Height of one line of a chart, in px."""

LABELS = 108.0
"""Width of the labels at the left, in px."""


class Scale(NamedTuple):
    """A linear or logarithmic axis from values to px."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value.

        >>> Scale(0, 10, 100, 200).at(5), Scale(1, 100, 0, 10, log=True).at(10)
        (150.0, 5.0)
        """
        low, high, v = (
            (math.log(x) for x in (self.low, self.high, value))
            if self.log
            else (self.low, self.high, value)
        )
        return self.start + (v - low) / ((high - low) or 1) * (self.end - self.start)


def ticks(low: float, high: float, n: int = 6) -> list[float]:
    """Return round numbers within a range, about n.

    >>> ticks(1, 7.3), ticks(0, 1)
    ([2.0, 4.0, 6.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    rough = (high - low or 1) / n
    base = 10 ** math.floor(math.log10(rough))
    step = next(base * m for m in (1, 2, 5, 10) if base * m >= rough)
    first = math.ceil(low / step)
    return [round(float(k * step), 10) for k in range(first, math.floor(high / step + 1e-9) + 1)]


class Whisker(NamedTuple):
    """A value and its ends; both ends are None where there is no interval."""

    value: float
    low: float | None
    high: float | None


def dots(
    values: Mapping[tuple[int, int], Whisker],
    languages: Sequence[tuple[int, str]],
    *,
    label: str,
    width: float = 720,
) -> Markup:
    """Draw one line for each language, one mark with its interval for each tokenizer.

    `values` is keyed by the places of tokenizer and language; `languages` are places and names, in
    the order of the lines.
    """
    found = list(values.values())
    if not found:
        return Markup("")
    top = max(v.high or v.value for v in found)
    low = min(1.0, min(v.low or v.value for v in found))
    scale = Scale(low, top, LABELS + 8, width - 12, log=True)
    height = 30 + ROW * len(languages)
    lines = []
    for line, (place, name) in enumerate(languages):
        marks = [(t, v) for (t, language), v in sorted(values.items()) if language == place]
        lines.append(_line(line, place, name, marks, scale))
    return svg.drawing(
        [*_axis(scale, height), svg.group(lines, class_="rows")],
        width=width,
        height=height,
        label=label,
    )


def _line(
    at: int, place: int, name: str, marks: Sequence[tuple[int, Whisker]], scale: Scale
) -> Markup:
    """Draw one language; its group is moved as a whole when lines are sorted or left out."""
    return svg.group(
        [
            svg.text(LABELS, 4, name, text_anchor="end", class_="label"),
            *(_dot(t, place, v, scale) for t, v in marks),
        ],
        data_l=place,
        transform=f"translate(0 {30 + ROW * at})",
    )


def _dot(t: int, language: int, v: Whisker, scale: Scale) -> Markup:
    bar = []
    if v.low is not None and v.high is not None:
        left, right = scale.at(v.low), scale.at(v.high)
        bar = [svg.element("path", d=f"M{left:.1f} 0H{right:.1f}")]
    circle = svg.element("circle", cx=scale.at(v.value), cy=0, r=3.5)
    return svg.group([*bar, circle], class_=f"mark t{t}", data_t=t, data_l=language)


def _axis(scale: Scale, height: float, name: str = "") -> Iterator[Markup]:
    """Draw vertical lines at round numbers, their labels on top."""
    for value in _across_ticks(scale):
        x = scale.at(value)
        yield svg.element("path", d=f"M{x:.1f} 18V{height:.0f}", class_="grid")
        yield svg.text(x, 12, f"{value:g}", text_anchor="middle", class_="tick")
    if name:
        yield svg.text(scale.start - 14, 12, name, text_anchor="end", class_="tick")


class StackedLine(NamedTuple):
    """One bar of a stacked chart: its label, its parts, and the row it shows."""

    label: str
    parts: Sequence[float]
    t: int | None = None
    language: int | None = None


class CurvePoint(NamedTuple):
    """A tokenizer on a curve over vocabulary sizes."""

    t: int
    x: float
    y: float


class ChartPoint(NamedTuple):
    """A tokenizer in a chart of two measures."""

    t: int
    name: str
    x: float
    y: float
    front: bool
    ranked: bool = True
    """False where it loses text or was trained on it: shown, and not comparable."""


def front(points: Sequence[tuple[float, float]], *, larger_x: bool) -> list[bool]:
    """Return which points no other beats in both directions; smaller y is better.

    >>> front([(1, 5), (2, 3), (3, 4)], larger_x=False)
    [True, True, False]
    """
    sign = -1 if larger_x else 1

    def beaten(one: tuple[float, float]) -> bool:
        return any(sign * x <= sign * one[0] and y <= one[1] and (x, y) != one for x, y in points)

    return [not beaten(one) for one in points]


def scatter(
    points: Sequence[ChartPoint],
    *,
    x_name: str,
    y_name: str,
    log_x: bool = False,
    width: float = 440,
) -> Markup:
    """Draw tokenizers by two measures; those on the front of best trade-offs are filled."""
    height, pad = 300.0, 44.0
    xs, ys = [p.x for p in points], [p.y for p in points]
    low, high = (min(xs) / 1.4, max(xs) * 1.4) if log_x else (min(xs), max(xs))
    margin = (max(ys) - min(ys)) * 0.08 or 1
    across = Scale(low, high, pad + 10, width - 70, log_x)
    down = Scale(min(ys) - margin, max(ys) + margin, height - 36, 14)
    return svg.drawing(
        [
            *_frame(across, down, x_name, y_name, height),
            *_points([(p, across.at(p.x), down.at(p.y)) for p in points]),
        ],
        width=width,
        height=height,
        label=f"{y_name} against {x_name}",
    )


def _frame(across: Scale, down: Scale, x_name: str, y_name: str, height: float) -> Iterator[Markup]:
    lines: list[Markup] = []
    for value in ticks(down.low, down.high):
        y = down.at(value)
        grid = f"M{across.start - 8:.1f} {y:.1f}H{across.end + 60:.1f}"
        lines.append(svg.element("path", d=grid, class_="grid"))
        lines.append(
            svg.text(across.start - 12, y + 4, f"{value:g}", text_anchor="end", class_="tick")
        )
    # the page's script draws these again for the languages in focus
    yield svg.group(lines, class_="down", data_start=down.start, data_end=down.end)
    for value in _across_ticks(across):
        x = across.at(value)
        yield svg.text(x, height - 20, _short(value), text_anchor="middle", class_="tick")
    yield svg.text(across.end + 60, height - 4, f"{x_name} →", text_anchor="end", class_="axis")
    yield svg.text(2, 10, f"↑ {y_name}", class_="axis")


def _across_ticks(scale: Scale) -> list[float]:
    if not scale.log:
        return ticks(scale.low, scale.high, 5)
    powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    steps = (1, 2, 3, 5, 7) if scale.high / scale.low < 30 else (1, 3)
    found = [m * 10.0**p for p in powers for m in steps]
    return [v for v in found if scale.low <= v <= scale.high]


def _short(value: float) -> str:
    """Write a number for an axis.

    >>> _short(30000), _short(0.5), _short(2_000_000)
    ('30k', '0.5', '2M')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


class _Box(NamedTuple):
    """Where a label or a mark is, in px."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def _points(placed: Sequence[tuple[ChartPoint, float, float]]) -> Iterator[Markup]:
    """Draw points; a label goes where it covers no other: right of its mark, left, above, below."""
    taken = [_Box(x - 5, y - 5, x + 5, y + 5) for _, x, y in placed]
    for p, x, y in placed:
        name = p.name if p.ranked else f"{p.name} †"
        wide = 6.2 * len(name)
        places = [(x + 8, y + 4), (x - 8 - wide, y + 4)]
        places += [(x + 8, y + 4 + d) for d in (-12, 12, -24, 24, -36, 36)]
        boxes = [_Box(left, base - 9, left + wide, base + 3) for left, base in places]
        free = (i for i, box in enumerate(boxes) if box.left > 0 and not any(map(box.meets, taken)))
        chosen = next(free, 0)
        taken.append(boxes[chosen])
        yield svg.group(
            [
                svg.element("circle", cx=x, cy=y, r=4.5),
                svg.text(*places[chosen], name, class_="label"),
            ],
            class_="mark front" if p.front else "mark" if p.ranked else "mark unranked",
            data_t=p.t,
        )


def stacked(
    lines: Sequence[StackedLine], names: Sequence[str], *, labels: float = LABELS
) -> Markup:
    """Draw one bar for each line, made of parts; the longest bar takes the whole width.

    `labels` is the width of the labels at the left, in px.
    """
    longest = max((sum(line.parts) for line in lines), default=0)
    if not longest:
        return Markup("")
    width, top = 720.0, 40.0
    scale = Scale(0, longest * 100, labels + 40, width - 12)
    height = top + 8 + ROW * len(lines)
    rows = [
        svg.group(
            _bar(line, names, scale),
            data_l=line.language,
            transform=f"translate(0 {top + ROW * i:g})",
        )
        for i, line in enumerate(lines)
    ]
    used = [i for i in range(len(names)) if any(line.parts[i] for line in lines)]
    axis = svg.group(_axis(scale, height - 18), transform="translate(0 18)")
    return svg.drawing(
        [*_key(used, names, scale.start), axis, svg.group(rows, class_="rows")],
        width=width,
        height=height,
        label="bytes lost, in % of bytes",
    )


def _key(used: Sequence[int], names: Sequence[str], x: float) -> Iterator[Markup]:
    """Say which colour is which part."""
    yield svg.text(x - 8, 10, "% of bytes", text_anchor="end", class_="tick")
    for kind in used:
        yield svg.element("rect", x=x, y=1, width=10, height=10, class_=f"part{kind}")
        yield svg.text(x + 14, 10, names[kind], class_="label")
        x += 26 + 6.2 * len(names[kind])


def _bar(line: StackedLine, names: Sequence[str], scale: Scale) -> Iterator[Markup]:
    yield svg.text(scale.start - 8, 11, line.label, text_anchor="end", class_="label")
    x = scale.start
    for kind, part in enumerate(line.parts):
        end = scale.at(sum(line.parts[: kind + 1]) * 100)
        if part:
            yield svg.element(
                "rect", x=x, y=0, width=end - x, height=ROW - 4, class_=f"mark part{kind}",
                data_part=names[kind], data_t=line.t, data_l=line.language,
            )  # fmt: skip
        x = end


def curves(
    lines: Sequence[tuple[str, Sequence[CurvePoint]]], *, x_name: str, y_name: str
) -> Markup:
    """Draw lines through points over a logarithmic axis, each with its name at its end."""
    width, height = 720.0, 300.0
    xs, ys = ([getattr(p, axis) for _, line in lines for p in line] for axis in "xy")
    margin = (max(ys) - min(ys)) * 0.08 or 1
    across = Scale(min(xs) / 1.2, max(xs) * 1.2, 54, width - 130, log=True)
    down = Scale(min(ys) - margin, max(ys) + margin, height - 36, 14)
    marks: list[Markup] = []
    for name, line in lines:
        places = [(p.t, across.at(p.x), down.at(p.y)) for p in line]
        path = "L".join(f"{x:.1f} {y:.1f}" for _, x, y in places)
        series = [svg.element("path", d=f"M{path}", class_="curve")]
        series += [
            svg.group([svg.element("circle", cx=x, cy=y, r=4.5)], class_="mark", data_t=t)
            for t, x, y in places
        ]
        series.append(svg.text(places[-1][1] + 8, places[-1][2] + 4, name, class_="label"))
        marks.append(svg.group(series, class_="series"))
    frame = _frame(across, down, x_name, y_name, height)
    return svg.drawing([*frame, *marks], width=width, height=height, label=f"{y_name} by {x_name}")


def ridges(
    histograms: Sequence[tuple[int, str, Sequence[float]]],
    edges: Sequence[float],
    *,
    name: str,
    width: float = 720,
) -> Markup:
    """Draw one small histogram for each tokenizer over the same axis."""
    scale = Scale(edges[0], edges[-1], LABELS + 40, width - 12)
    tall = 26.0
    height = 34 + tall * len(histograms)
    marks = [*_axis(scale, height, name)]
    for line, (t, label, counts) in enumerate(histograms):
        base, top = 30 + tall * (line + 1) - 4, max(counts) or 1
        steps = "".join(
            f"V{base - (tall - 6) * c / top:.1f}H{scale.at(edge):.1f}"
            for c, edge in zip(counts, edges[1:], strict=True)
        )
        marks.append(svg.text(LABELS + 32, base - 4, label, text_anchor="end", class_="label"))
        path = f"M{scale.start:.1f} {base:.1f}{steps}V{base:.1f}Z"
        marks.append(svg.element("path", d=path, class_="mark ridge", data_t=t, data_tall=tall - 6))
    return svg.drawing(marks, width=width, height=height, label=name)


def heat_file(
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[tuple[str, float | None]]]],
    style: str,
) -> str:
    """Return a heat map as an SVG file: `rows` are a label and (text, 0 to 1) for each column."""
    cell, left, head = 62.0, LABELS, 84.0
    ends = (cell * (c + 0.5) + 6 * len(name) for c, name in enumerate(columns))
    width = left + max(cell * len(columns) + 14, *ends)  # the last labels lean over the edge
    height = head + ROW * len(rows) + 6
    marks = [svg.text(4, 16, title, class_="axis")]
    for c, column in enumerate(columns):
        x = left + cell * c + cell / 2
        marks.append(
            svg.text(
                0,
                0,
                column,
                transform=f"translate({x:.0f} {head - 8:.0f}) rotate(-30)",
                class_="label",
            )
        )
    for r, (label, cells) in enumerate(rows):
        y = head + ROW * r
        marks.append(svg.text(left - 6, y + 12, label, text_anchor="end", class_="label"))
        for c, (shown, share) in enumerate(cells):
            step = "none" if share is None else f"heat{round(share * 8)}"
            marks.append(
                svg.element(
                    "rect", x=left + cell * c, y=y, width=cell - 1, height=ROW - 1, class_=step
                )
            )
            marks.append(
                svg.text(
                    left + cell * (c + 0.5),
                    y + 12,
                    shown,
                    text_anchor="middle",
                    class_=f"value {step}",
                )
            )
    return svg.file(marks, width=width, height=height, label=title, style=style)
