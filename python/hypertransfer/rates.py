"""Tuned rates carried to another optimizer, weight decay, space, width or length, without a run.

    print(rates(model, optimizer="muon", lr=0.02, weight_decay=0.1, steps=5000, to="muonh"))

The effective rates that the tuned run is predicted to have, from shapes and first norms only, are the ones that the
other run must have. For the lab's networks the numbers are those of `ht rates`. Two errors are stated: `error`, of one
peak and final ratio for all matrices instead of a schedule for each; and `measured_error`, of the prediction itself
where a run like this one was measured.
"""

from __future__ import annotations

import functools
import math
import numbers
import re
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import nn

from .algebra import Base, Hyperball, Refusal, Schedule, Space
from .directions import COEFFICIENTS, SHAPE_FACTORS
from .groups import split
from .prediction import Carried, Expected, Onset, Pair, adam_expected, carry, initial_norm, muon_expected, predict, singular_value
from .settings import boolean, choice, number, whole

OPTIMIZERS: Dict[str, Tuple[str, bool]] = {  # direction, whether on a Hyperball
    "muon": ("muon", False), "muonh": ("muon", True), "adamw": ("adam", False), "adamh": ("adam", True)}

_KINDS = [(kind, re.compile(pattern, re.I)) for kind, pattern in (
    ("qkv", r"qkv|c_attn|in_proj|query_key_value"), ("q", r"\b(q|wq|to_q|q_proj|query)\b"), ("k", r"\b(k|wk|to_k|k_proj|key)\b"),
    ("v", r"\b(v|wv|to_v|v_proj|value)\b"), ("o", r"\b(o|wo|to_out|o_proj|out_proj)\b|attn.*\b(c_proj|proj|out)\b|attention.*dense"),
    ("fc", r"\b(fc|fc1|c_fc|up|up_proj|gate|gate_proj|w1|w3|dense_h_to_4h|linear1)\b"),
    ("proj", r"\b(proj|fc2|c_proj|down|down_proj|w2|dense_4h_to_h|linear2)\b"))]
# |u| at the first step at width 128, as a part of what it becomes; of kinds that were not measured, the mean
_FIRST = dict(q=0.80, k=0.80, v=0.66, o=0.66, fc=0.91, proj=0.86, qkv=0.75)
_OTHER_FIRST = 0.78
# how long directions resemble each other, as a part of what the momentum says; 1 for the others
_LASTING = dict(q=0.85, k=0.85, v=1.20, o=1.05, qkv=0.97)

# relative errors (rms) of predictions, measured: direction, width, scale-invariant, steps, effective rate, norm at the end
_MEASURED = [
    ("muon", 128, True, 400, 0.079, 0.072), ("muon", 128, True, 200, 0.137, 0.077), ("muon", 128, False, 400, 0.051, 0.089),
    ("muon", 256, True, 25, 0.238, 0.014), ("muon", 256, True, 400, 0.103, 0.104), ("muon", 256, False, 400, 0.095, 0.118),
    ("muon", 384, True, 5723, 0.103, 0.064), ("muon", 384, False, 5723, 0.233, 0.137),
    ("muon", 384, False, 610, 0.233, 0.179), ("muon", 768, True, 5723, 0.115, 0.138), ("muon", 768, True, 610, 0.267, 0.249),
    ("muon", 768, True, 70, 0.306, 0.219), ("muon", 768, False, 5723, 0.165, 0.198), ("muon", 768, False, 610, 0.344, 0.169),
    ("muon", 768, False, 100, 0.243, 0.300), ("muon", 1280, True, 300, 0.725, 0.248), ("adam", 128, True, 200, 0.270, 0.017),
    ("adam", 384, True, 5723, 0.248, 0.090), ("adam", 768, True, 610, 0.620, 0.253)]


class Matrix(NamedTuple):
    """A hidden matrix: its name tells its kind; a norm of None is that of a normal initialisation, 1/sqrt(fan_in)."""

    name: str
    rows: int
    cols: int
    norm: Optional[float] = None

    @property
    def kind(self) -> str:
        return next((kind for kind, pattern in _KINDS if pattern.search(self.name)), "other")


class Kind(NamedTuple):
    """The matrices of one kind and shape: what the tuned run does to them, and the rates that serve them best."""

    name: str
    count: int
    effective_peak: float
    end_to_peak: float
    lr: float
    final_ratio: float
    error: float
    rates: List[float]  # one per step: no error from sharing a schedule is left


class Rates(NamedTuple):
    """The answer; print it."""

    tuned: str
    other: str
    lr: float
    final_ratio: float
    weight_decay: float
    steps: int
    schedule: str
    warmup: float
    error: float
    measured_error: float
    kinds: List[Kind]
    notes: List[str]

    def __str__(self) -> str:
        lines = [f"from {self.tuned}", f"to   {self.other}",
                 f"{'kind':16} {'matrices':>8} {'peak eff.':>10} {'end/peak':>9} {'lr':>11} {'final ratio':>11} {'error':>7}"]
        lines += [f"{k.name:16} {k.count:8d} {k.effective_peak:10.5f} {k.end_to_peak:9.4f} {k.lr:11.5f} {k.final_ratio:11.4f}"
                  f" {k.error:7.1%}" for k in self.kinds]
        lines.append(f"{'all':16} {sum(k.count for k in self.kinds):8d} {'':10} {'':9} {self.lr:11.5f} {self.final_ratio:11.4f}"
                     f" {self.error:7.1%}")
        return "\n".join(lines + self.notes)


def rates(model: Union[nn.Module, Iterable[Any]], *, lr: float, steps: int, optimizer: str = "muon", weight_decay: float = 0.1,
          schedule: str = "linear", warmup: float = 0.05, final_ratio: float = 0.0, momentum: float = 0.95,
          beta1: float = 0.9, shape_factor: str = "none", coefficients: str = "jordan", scale_invariant: bool = False,
          batch: Optional[int] = None, to: Optional[str] = None, to_weight_decay: Optional[float] = None,
          to_shape_factor: Optional[str] = None, to_schedule: Optional[str] = None, to_width: Optional[int] = None,
          to_steps: Optional[int] = None, to_batch: Optional[int] = None) -> Rates:
    """The rate of another optimizer, weight decay, shape factor, schedule, width or length that does the same.

    `model`: a module, whose hidden matrices (`split`) are read with their norms, a list of them, (name, parameter), or names
    with shapes, (name, rows, cols) or (name, rows, cols, norm). `optimizer` and `to` are muon, muonh, adamw or adamh.
    `scale_invariant`: whether a norm follows every matrix. `to_batch` with `batch` keeps the number of tokens, so it changes
    the number of steps; another number of steps scales rate and decay by sqrt(steps / to_steps), the horizon law.
    """
    to = to or optimizer
    for name in (optimizer, to):
        choice("optimizer", name, OPTIMIZERS)
    for name in (shape_factor, to_shape_factor or "none"):
        choice("shape_factor", name, SHAPE_FACTORS)
    choice("coefficients", coefficients, COEFFICIENTS)
    boolean("scale_invariant", scale_invariant)
    if (batch is None) != (to_batch is None):
        raise Refusal("give batch and to_batch together, or neither")
    finite = dict(lr=lr, weight_decay=weight_decay, to_weight_decay=to_weight_decay or 0, final_ratio=final_ratio)
    for name, value in finite.items():
        number(name, value, 0, math.inf)
    for name, value in dict(warmup=warmup, momentum=momentum, beta1=beta1).items():
        number(name, value, 0, 1)
    for name, count in dict(steps=steps, to_steps=to_steps, to_width=to_width, batch=batch, to_batch=to_batch).items():
        if count is not None:
            whole(name, int(count) if isinstance(count, numbers.Integral) else count, 1)  # numpy's too
    matrices = _matrices(model)
    if batch is not None and to_batch is not None:
        to_steps = max(1, round(steps * batch / to_batch))
    k = math.sqrt(steps / to_steps) if to_steps else 1.0
    width = sorted(min(m.rows, m.cols) for m in matrices)[len(matrices) // 2]
    other_width = to_width or width

    tuned_space = _space(optimizer, k * weight_decay)
    other_decay = k * weight_decay if to_weight_decay is None else to_weight_decay
    space = _space(to, other_decay)
    tuned = Schedule(k * lr, to_steps or steps, warmup, final_ratio, schedule)
    like = tuned._replace(shape=to_schedule or schedule)

    def expected(m: Matrix, name: str, factor: str, width: int, scale: float) -> Expected:
        rows, cols = round(m.rows * scale), round(m.cols * scale)
        norm = initial_norm(rows) if m.norm is None else m.norm * math.sqrt(scale)
        if OPTIMIZERS[name][0] == "adam":
            return adam_expected(rows, cols, beta1, norm)
        own = 1.0 if coefficients == "jordan" else 1 / singular_value(rows, cols)
        made = muon_expected(rows, cols, SHAPE_FACTORS[factor](rows, cols) * own, _lasting(m.kind, momentum), norm)
        return made._replace(onset=_onset(m.kind, width, scale_invariant, momentum))

    alike: Dict[Tuple[str, int, int], List[Matrix]] = {}
    for m in matrices:
        alike.setdefault((m.kind, m.rows, m.cols), []).append(m)
    several = {kind for kind, _, _ in alike if sum(other == kind for other, _, _ in alike) > 1}
    parts: List[Tuple[str, Carried]] = []
    for (kind, rows, cols), some in alike.items():
        norms = [m.norm for m in some if m.norm is not None]
        mean = Matrix(some[0].name, rows, cols, math.sqrt(sum(n * n for n in norms) / len(norms)) if norms else None)
        both = Carried(expected(mean, optimizer, shape_factor, width, 1.0),
                       expected(mean, to, to_shape_factor or shape_factor, other_width, other_width / width), len(some))
        parts.append((f"{kind} {rows}x{cols}" if kind in several or kind == "other" else kind, both))

    @functools.lru_cache(None)
    def own(both: Carried) -> Pair:
        return carry([both], tuned_space, tuned, space, like)

    kinds = []
    for name, both in parts:
        run = predict(both.tuned, tuned_space, tuned.rates())
        pair = own(both._replace(count=1))
        kinds.append(Kind(name, both.count, run.peak, run.final_to_peak, pair.peak, pair.final_ratio, pair.error,
                          predict(both.other, space, run.effective, effective=True).nominal))
    pair = carry(_merged([both for _, both in parts]), tuned_space, tuned, space, like)
    sides = [(optimizer, width), (to, other_width)]
    measured, notes = _accuracy([(OPTIMIZERS[name][0], wide) for name, wide in sides if not OPTIMIZERS[name][1]], scale_invariant, tuned.steps)
    if OPTIMIZERS[optimizer][0] != OPTIMIZERS[to][0]:
        notes.append("another direction at the same effective rates: a place to start a search, not a tuned rate")
    if k != 1:
        notes.append(f"another number of steps: rate and weight decay were multiplied by {k:.4g} (horizon law; trained with a quarter"
                     " and a ninth of the steps, effective rates were within 12 and 22 %, against 57 and 82 % unscaled; the law was"
                     " right for MuonH's rate, and at a ninth at least twice too large for Muon's)")
    return Rates(_described(optimizer, lr, weight_decay, final_ratio, schedule, steps, width),
                 _described(to, pair.peak, space.decay, pair.final_ratio, like.shape, tuned.steps, other_width),
                 pair.peak, pair.final_ratio, space.decay, tuned.steps, like.shape, warmup, pair.error, measured, kinds, notes)


def _matrices(model: Union[nn.Module, Iterable[Any]]) -> List[Matrix]:
    made = []
    for item in split(model)[0] if isinstance(model, nn.Module) else model:
        if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[1], torch.Tensor) and item[1].ndim == 2:
            if item[1].is_meta:
                raise Refusal(f"{item[0]} is on the device meta and has no norm; give names with shapes, such as ('blocks.0.fc', 512, 128)")
            item = (item[0], *item[1].shape, torch.linalg.vector_norm(item[1].detach(), dtype=torch.float64).item())
        if not isinstance(item, (tuple, list)) or len(item) not in (3, 4):
            raise Refusal(f"{type(item).__name__} is not a name with a shape; give the module itself, what `split` returned as hidden,"
                          " or items such as ('blocks.0.fc', 512, 128)")
        made.append(Matrix(str(item[0]), *item[1:]))
        for side in (made[-1].rows, made[-1].cols):
            whole(f"a side of {item[0]}", int(side) if isinstance(side, numbers.Integral) else side, 1)
        norm = made[-1].norm
        if norm is not None and not 0 < norm < math.inf:
            raise Refusal(f"{item[0]} has the norm {norm}; it must be above zero and finite: initialise it, leave it out of the list"
                          " of hidden matrices and give that list, or give names with shapes")
    if not made:
        raise Refusal("there is no hidden matrix; give names with shapes, such as ('blocks.0.fc', 512, 128)")
    return made


def _space(optimizer: str, decay: float) -> Space:
    return Hyperball() if OPTIMIZERS[optimizer][1] else Base(decay)


def _lasting(kind: str, momentum: float) -> float:
    """The momentum of independent gradients whose directions resemble each other as long as these do."""
    kept = _LASTING.get(kind, 1.0) * momentum
    return kept / (1 - momentum + kept)


def _onset(kind: str, width: int, scale_invariant: bool, momentum: float) -> Onset:
    """Wide networks begin with a lower rank, apart from the MLP where no norm follows, and leave it later."""
    scale = width / 128
    same = not scale_invariant and kind in ("fc", "proj")
    part = _FIRST.get(kind, _OTHER_FIRST) * (1 if same else scale ** (-1 / 6))
    return Onset(min(1.0, part), 25 * scale**1.4, math.sqrt(momentum))


def _merged(parts: List[Carried]) -> List[Carried]:
    counts: Dict[Tuple[Expected, Expected], int] = {}
    for tuned, other, count in parts:
        counts[tuned, other] = counts.get((tuned, other), 0) + count
    return [Carried(tuned, other, count) for (tuned, other), count in counts.items()]


def _accuracy(sides: List[Tuple[str, int]], invariant: bool, steps: int) -> Tuple[float, List[str]]:
    """The larger error of the directions and widths given; a Hyperball sets its effective rates, so it has none."""
    found = []
    for direction, width in sides:
        def distance(m: Any) -> float:  # widths count twice: what a longer run adds is its easier part
            return 2 * abs(math.log(width / m[1])) + abs(math.log(steps / m[3])) + (0 if invariant == m[2] else 0.5)

        best = min((m for m in _MEASURED if m[0] == direction), key=distance)
        found.append((best[4], best, distance(best) > 2))
    if not found:
        return 0.0, []
    error, best, _ = max(found)
    more = "; no run like this one was measured, so expect more" if any(far for _, _, far in found) else ""
    return error, [f"the prediction's own error, measured (rms): effective rate {error:.0%}, norm at the end {best[5]:.0%}"
                   f" ({'AdamW' if best[0] == 'adam' else 'Muon'}, width {best[1]}, {best[3]} steps){more}"]


def _described(name: str, lr: float, decay: float, final_ratio: float, shape: str, steps: int, width: int) -> str:
    decays = "" if OPTIMIZERS[name][1] else f", weight_decay {decay:.4g}"
    return f"{name}{decays}, width {width}: lr {lr:.4g}, final ratio {final_ratio:.4f}, {shape}, {steps} steps"
