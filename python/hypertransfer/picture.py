"""A line chart as SVG, without another library: notebooks show it, `save` writes it."""

from __future__ import annotations

import html
import math
from typing import Dict, List, Sequence, Tuple

_COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#666666")
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 640, 300, 64, 30, 12, 34


class Picture:
    """Lines by label, each (xs, ys); with `log` the y axis is logarithmic."""

    def __init__(self, title: str, lines: Dict[str, Tuple[Sequence[float], Sequence[float]]], log: bool = False, x: str = "step"):
        self.title, self.lines, self.log, self.x = title, lines, log, x

    def save(self, path: str) -> "Picture":
        """Writes an .svg file."""
        with open(path, "w", encoding="utf-8") as out:
            out.write(self._repr_svg_())
        return self

    def _repr_svg_(self) -> str:
        points = {label: [(x, y) for x, y in zip(*line) if math.isfinite(y) and (y > 0 or not self.log)]
                  for label, line in self.lines.items()}
        xs = [x for some in points.values() for x, _ in some] or [0.0, 1.0]
        ys = [self._y(y) for some in points.values() for _, y in some] or [0.0, 1.0]
        x0, x1, y0, y1 = min(xs), max(xs), min(ys), max(ys)
        x1, y1 = (x1 if x1 > x0 else x0 + 1), (y1 if y1 > y0 else y0 + 1e-9 + abs(y0) / 10)

        def at(x: float, y: float) -> Tuple[float, float]:
            return (_LEFT + (x - x0) / (x1 - x0) * (_WIDTH - _LEFT - _RIGHT),
                    _HEIGHT - _BOTTOM - (y - y0) / (y1 - y0) * (_HEIGHT - _TOP - _BOTTOM))

        out: List[str] = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" font-family="sans-serif"'
            f' font-size="12"><rect width="100%" height="100%" fill="white"/>'
            f'<text x="{_LEFT}" y="18" font-weight="bold">{html.escape(self.title)}</text>']
        for i in range(5):
            x, y = x0 + (x1 - x0) * i / 4, y0 + (y1 - y0) * i / 4
            px, _ = at(x, y0)
            _, py = at(x0, y)
            value = math.exp(y) if self.log else y
            out.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{py:.1f}" y2="{py:.1f}" stroke="#ddd"/>'
                       f'<text x="{_LEFT - 6}" y="{py + 4:.1f}" text-anchor="end">{value:.3g}</text>'
                       f'<text x="{px:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{x:.4g}</text>')
        out.append(f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 4}" text-anchor="end">{html.escape(self.x)}</text>')
        for i, (label, some) in enumerate(points.items()):
            colour, dash = _COLOURS[i % len(_COLOURS)], ' stroke-dasharray="5 4"' if i % 2 else ""
            path = " ".join(f"{px:.1f},{py:.1f}" for px, py in (at(x, self._y(y)) for x, y in some))
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
                       f'<text x="{_WIDTH - _RIGHT - 6}" y="{_TOP + 14 + 16 * i}" text-anchor="end" fill="{colour}">'
                       f'{html.escape(label)}</text>')
        return "".join(out) + "</svg>\n"

    def _y(self, y: float) -> float:
        return math.log(y) if self.log else y
