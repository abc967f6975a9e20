"""What counts as a matrix in a parameter: all of it, its heads, a fused qkv in three, a convolution laid flat.

Each part has a norm, a radius, a momentum and an orthogonalisation of its own.

    whole            the parameter as it is
    rows:3           three parts, one below the other: a fused qkv, or the heads of queries, keys and values
    columns:12       twelve parts beside each other: the heads of an output projection
    blocks:3x2       both
    stack            a parameter of three dimensions is a stack of matrices, such as experts; also stack:3x2
    flat             the first dimension against all others: a convolution as out x (in h w); also flat:3
"""

from __future__ import annotations

import re
from typing import NamedTuple, Tuple

from torch import Tensor

from .algebra import Refusal

_FORM = re.compile(r"(whole|stack|flat|rows|columns|blocks)(?::(\d+)(?:x(\d+))?)?")


class View(NamedTuple):
    """How a parameter becomes parts of one shape; DJL's `View` in the Java side is the same."""

    form: str
    down: int
    across: int

    @staticmethod
    def parse(text: str) -> "View":
        """Reads one of the forms above."""
        match = _FORM.fullmatch(text) if isinstance(text, str) else None
        form, first, second = match.groups() if match else ("", None, None)
        a, b = int(first or 1), int(second or 1)
        wrong = not match or a < 1 or b < 1 or second and form in ("rows", "columns", "flat") or first and form == "whole"
        if wrong or form == "blocks" and not second or form in ("rows", "columns") and not first:
            raise Refusal(f"view is {text!r}; it must be whole, rows:3, columns:12, blocks:3x2, stack or flat")
        if form in ("rows", "columns", "blocks"):
            return View("whole", b if form == "columns" else a, a if form == "columns" else b)
        return View(form, a, b)

    @property
    def plain(self) -> bool:
        return self == ("whole", 1, 1)

    def parts(self, name: str, shape: Tuple[int, ...]) -> int:
        """How many parts a parameter of this shape has."""
        if self.plain:
            return 1
        first = 1 if self.form == "stack" else 0
        fits = len(shape) == 2 + first if self.form != "flat" else len(shape) >= 2
        if not fits or shape[first] % self.down or self.form != "flat" and shape[first + 1] % self.across:
            form = "blocks" if self.form == "whole" else self.form
            fix = "choose a view whose parts have one shape" if len(shape) > 1 else "give it to adamw, without a view"
            raise Refusal(f"{name} has the shape {tuple(shape)}, which the view {form}:{self.down}x{self.across} does not divide; {fix}")
        return (shape[0] if first else 1) * self.down * self.across

    def shape(self, shape: Tuple[int, ...]) -> Tuple[int, ...]:
        """The shape of a part, a matrix unless the view is plain."""
        if self.plain:
            return tuple(shape)
        first = 1 if self.form == "stack" else 0
        cols = 1
        for size in shape[first + 1:]:
            cols *= size
        return shape[first] // self.down, cols // self.across

    def place(self, whole: Tensor, k: int) -> Tensor:
        """Part k where it lies: a change of it changes the whole."""
        if self.plain:
            return whole
        matrix, block = divmod(k, self.down * self.across)
        t = whole[matrix] if self.form == "stack" else whole
        rows = t.shape[0] // self.down
        top = block // self.across * rows
        t = t[top:top + rows]
        if self.across > 1:
            cols = t.shape[1] // self.across
            left = block % self.across * cols
            t = t[:, left:left + cols]
        return t

    def take(self, whole: Tensor, k: int) -> Tensor:
        """Part k as a matrix: not always where it lies."""
        return whole if self.plain else self.place(whole, k).reshape(self.shape(tuple(whole.shape)))


def part_name(name: str, k: int, parts: int) -> str:
    """`qkv.weight#2`, or the name itself where the parameter is whole."""
    return name if parts == 1 else f"{name}#{k}"
