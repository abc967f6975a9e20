"""The named schedule nearest to measured rates, as `ht effective` finds it."""

from __future__ import annotations

import math
from typing import List, NamedTuple, Sequence, Tuple

import torch
from torch import Tensor

from .algebra import warmup_steps

_SHAPES = ("linear", "cosine", "constant", "trapezoid:0.2", "1-sqrt:0.2")
_MOST = 128  # points of a curve that are compared

Curve = Sequence[Tuple[float, float]]  # step and rate


class Fit(NamedTuple):
    """A schedule; `error` is the root mean square of the logarithm of the ratio, for small errors the relative error."""

    shape: str
    peak: float
    warmup: float
    final_ratio: float
    error: float


def _factors(shape: str, t: Tensor, steps: int, warmup: float, end: Tensor) -> Tensor:
    """The schedules of peak 1 at these steps: a row for each final ratio, which `end` has as a column."""
    w = warmup_steps(warmup, steps)
    x = ((t - w) / (steps - w)).clamp(min=0)
    late = (1 - (1 - x) / 0.2).clamp(min=0)
    name = shape.partition(":")[0]
    fall = {"linear": lambda: 1 - (1 - end) * x, "constant": lambda: torch.ones_like(end * x),
            "cosine": lambda: end + (1 - end) * (1 + torch.cos(math.pi * x)) / 2,
            "trapezoid": lambda: 1 - (1 - end) * late, "1-sqrt": lambda: 1 - (1 - end) * late.sqrt()}[name]()
    return torch.where(t < w, (t + 1) / max(w, 1), fall)


def fit(curves: Sequence[Curve], steps: int, peaks: Sequence[int]) -> Fit:
    """The best of the named shapes for all curves together; `peaks` are steps at which warm-ups may have ended."""
    points: List[Tuple[float, float]] = []
    for curve in curves:
        every = max(1, len(curve) * len(curves) // (_MOST * min(4, len(curves))))
        points += [curve[i] for i in range(0, len(curve), every)]
    at = torch.tensor([p[0] for p in points], dtype=torch.float64)
    logs = torch.tensor([math.log(max(p[1], 1e-300)) for p in points], dtype=torch.float64)
    low = at.floor().clamp(0, steps - 1)
    high, part = (low + 1).clamp(max=steps - 1), at - low
    best = Fit("constant", 0.0, 0.0, 0.0, math.inf)
    for shape in _SHAPES:
        for warmup in sorted({0.0, 0.01, 0.02, 0.05, 0.1, *(min(0.9, (p + 1) / steps) for p in list(peaks)[:4])}):
            step, first, last = 0.05, 0.0, 0.0 if shape == "constant" else 1.0
            for _ in range(3):  # finer around the best
                ratios = [min(1.0, first + i * step) for i in range(int((last - first + 1e-12) / step) + 1)]
                end = torch.tensor(ratios, dtype=torch.float64)[:, None]
                between = (1 - part) * _factors(shape, low, steps, warmup, end) + part * _factors(shape, high, steps, warmup, end)
                off = logs - between.clamp(min=1e-12).log()
                means = off.mean(1)
                errors = (off.square().mean(1) - means * means).clamp(min=0).sqrt().tolist()
                least = min(range(len(ratios)), key=errors.__getitem__)
                middle = ratios[least]
                if errors[least] < best.error:
                    best = Fit(shape, math.exp(means[least].item()), warmup, middle, errors[least])
                first, last = max(0.0, middle - step), 0.0 if shape == "constant" else min(1.0, middle + step)
                step /= 8
    return best
