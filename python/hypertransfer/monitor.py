"""What a run's learning rate really was: the effective rate of every matrix, for any optimizer.

    rates = EffectiveRates(model, optimizer, "norms.csv")      # before the loop
    ...                                                        # the loop, unchanged
    rates.close()                                              # prints what it found

It watches `optimizer.step()`. At every tenth step (`every`) it keeps a copy of the hidden matrices, compares them with
those after the step and computes norm, step, angle and effective rate; results are read from the device at the next
such step, so nothing waits. The file has the columns that `ht effective` reads.

The effective rate of a step w <- (1 - lr decay) w - lr u is |lr u| / ((1 - lr decay) |w|), an angle.
"""

from __future__ import annotations

import csv
import itertools
import math
import os
import types
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, TextIO, Tuple

import torch
from torch import Tensor, distributed, nn

from . import shards, tensors
from .algebra import Hyperball, Refusal, Step
from .fit import Fit, fit
from .groups import split
from .optimizer import HyperTransfer
from .picture import Picture
from .settings import whole
from .wrap import decoupled

COLUMNS = ("step", "matrix", "weight_norm", "update_norm", "inner_product", "rate", "decay")


class Row(NamedTuple):
    """One matrix at one step. `kept` is what decay leaves of it, `after` its norm after the step, `lr` the schedule's."""

    step: int
    matrix: str
    norm: float
    effective: float
    angle: float
    kept: float
    after: float
    lr: float

    @property
    def implied_decay(self) -> float:
        """What decay takes, per unit of effective rate."""
        return (1 - self.kept) / self.effective if self.effective else 0.0


def _opened(path: str, first: int) -> TextIO:
    """A new file, with what an older one has of the steps before this one; the older one gets another name."""
    rows: List[List[str]] = []
    if os.path.isdir(path):
        raise Refusal(f"{path} is a folder; give the name of a file, such as {os.path.join(path, 'norms.csv')}")
    if os.path.exists(path):
        if first:
            with open(path, newline="", encoding="utf-8") as file:
                rows = [row for row in csv.reader(file) if len(row) == len(COLUMNS) and row[0].isdigit() and int(row[0]) < first]
        base, end = os.path.splitext(path)
        os.rename(path, next(name for k in itertools.count(1) if not os.path.exists(name := f"{base}.{k}{end}")))
    made = open(path, "w", 1, newline="", encoding="utf-8")
    csv.writer(made, lineterminator="\n").writerows([list(COLUMNS)] + rows)
    return made


class EffectiveRates:
    """Measures a run; see the module's text.

    path                    a file for `ht effective`; one that is there already is kept, as norms.1.csv. Of several
                            processes the first writes it, and prints
    every                   steps from one measurement to the next
    first                   steps taken before, of a run that is continued: then its file is continued too
    matrices                names and parameters to watch; None for the model's hidden matrices
    decoupled_weight_decay  whether weight_decay shrinks weights apart from the gradient, as AdamW's; known for torch's own
    """

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, path: Optional[str] = None, every: int = 10,
                 matrices: Optional[Iterable[Tuple[str, Tensor]]] = None, decoupled_weight_decay: Optional[bool] = None,
                 first: int = 0):
        whole("every", every, 1)
        whole("first", first, 0)
        if not hasattr(optimizer, "param_groups"):
            raise Refusal(f"{type(optimizer).__name__} is given where a torch optimizer is needed: EffectiveRates(model, optimizer)")
        trained = {id(p) for group in optimizer.param_groups for p in group["params"]}
        chosen = list(matrices) if matrices is not None else split(model)[0] or [
            (name, p) for name, p in model.named_parameters() if p.ndim >= 2]
        if not all(isinstance(item, (tuple, list)) and len(item) == 2 for item in chosen):
            raise Refusal(f"matrices has a {type(chosen[0]).__name__}; give names with parameters: [(name, parameter), ...]")
        self.matrices = [(name, p) for name, p in chosen if id(p) in trained]
        if not self.matrices:
            raise Refusal("the optimizer trains none of the model's hidden matrices; give matrices=[(name, parameter), ...]")
        self.optimizer, self.every, self.steps, self.rows = optimizer, every, first, []  # type: ignore[var-annotated]
        self._decoupled, self._first = decoupled_weight_decay, first
        self._before: List[Tensor] = []
        self._taken: Dict[str, Step] = {}  # before the step, of our own optimizers
        self._waiting: Optional[Tuple[int, List[Tuple[float, float]], Tensor]] = None
        self._fixed: Optional[bool] = None
        self._speaks = not (distributed.is_available() and distributed.is_initialized() and distributed.get_rank())
        self._file = _opened(path, first) if path and self._speaks else None
        self._csv = csv.writer(self._file, lineterminator="\n") if self._file else None
        self._handles = self._hook()

    def _hook(self) -> List[Any]:
        o = self.optimizer
        if hasattr(o, "register_step_pre_hook"):
            return [o.register_step_pre_hook(lambda *_: self._start()), o.register_step_post_hook(lambda *_: self._end())]
        step = o.step  # before PyTorch 2

        def watched(_: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._handles:  # closed, but somebody has replaced o.step since then and calls this
                return step(*args, **kwargs)
            self._start()
            result = step(*args, **kwargs)
            self._end()
            return result

        watched._with_counter = getattr(step, "_with_counter", False)  # type: ignore[attr-defined]
        o.step = mine = types.MethodType(watched, o)  # type: ignore[method-assign]
        return [types.SimpleNamespace(remove=lambda: setattr(o, "step", step) if o.step is mine else None)]

    @torch.no_grad()
    def _start(self) -> None:
        if self.steps % self.every:
            return
        if isinstance(self.optimizer, HyperTransfer):
            self._taken = dict(self.optimizer.taken)
        else:
            self._before = [shards.own(p.detach()).clone() for _, p in self.matrices]

    @torch.no_grad()
    def _end(self) -> None:
        t, self.steps = self.steps, self.steps + 1
        if t % self.every:
            return
        self._read()
        if isinstance(self.optimizer, HyperTransfer):
            self._ours(t, self.optimizer)
            return
        columns: List[List[Tensor]] = [[], [], []]
        for (_, p), w in zip(self.matrices, self._before):
            d = shards.own(p.detach()) - w
            for column, value in zip(columns, (tensors.square(w), tensors.square(d), tensors.inner(d, w))):
                column.append(value)
        self._before = []
        sums = shards.summed(tensors.table(columns), [p for _, p in self.matrices])
        self._waiting = (t, [self._settings(p) for _, p in self.matrices], sums)

    def _settings(self, p: Tensor) -> Tuple[float, float]:
        group = self._group(p)
        apart = decoupled(self.optimizer, group) if self._decoupled is None else self._decoupled
        return float(group["lr"]), float(group.get("weight_decay") or 0.0) if apart else 0.0

    def _group(self, p: Tensor) -> Dict[str, Any]:
        return next(group for group in self.optimizer.param_groups if any(q is p for q in group["params"]))

    def _ours(self, t: int, optimizer: HyperTransfer) -> None:
        """Our own optimizers have measured already."""
        for name, p in self.matrices:
            own, lr = optimizer.name(p), self._settings(p)[0]
            for key in [k for k in optimizer.taken if k == own or k.startswith(own + "#")]:
                step, reading = optimizer.taken[key], optimizer.readings[key]
                if step is not self._taken.get(key) and 0 < step.effective < math.inf:
                    self._add(Row(t, name + key[len(own):], step.norm, step.effective, step.angle, step.keep, step.next.norm, lr),
                              step.push * reading.u, reading.uw, step.push)

    def _read(self) -> None:
        """Takes in what was measured at the last such step."""
        if self._waiting is None:
            return
        t, settings, sums = self._waiting
        self._waiting = None
        values = sums.tolist()
        moved = [(dd, dw) for _, dd, dw in values if dd > 0]
        if self._fixed is None and moved:  # norms that no step changes: somebody's Hyperball
            self._fixed = all(abs(2 * dw + dd) < 0.01 * dd for dd, dw in moved)
        for (name, p), (lr, decay), (ww, dd, dw) in zip(self.matrices, settings, values):
            if lr == 0 or ww == 0 or dd == 0 or not math.isfinite(ww + dd + dw):  # without a gradient nothing is touched
                continue
            # on a Hyperball the projection's part is not known: u is taken to be at right angles to w
            kept = 1 + dw / ww if self._fixed else 1 - lr * decay
            if kept <= 0:
                continue
            lost = 1 - kept
            update = math.sqrt(max(0.0, dd + 2 * lost * dw + lost * lost * ww))
            angle = math.atan2(math.sqrt(max(0.0, ww * dd - dw * dw)), ww + dw)
            norm = math.sqrt(ww)
            digits = torch.finfo(torch.float64 if p.dtype == torch.float64 else torch.float32).eps
            if update <= norm * max(digits, 1e-7 * abs(lost)):  # only decay, and its rounding
                continue
            after = math.sqrt(max(0.0, ww + 2 * dw + dd))
            self._add(Row(t, name, norm, update / (kept * norm), angle, kept, after, lr), update, -(dw + lost * ww) / lr, lr)

    def _add(self, row: Row, update: float, inner: float, rate: float) -> None:
        self.rows.append(row)
        if self._csv:
            self._csv.writerow([row.step, row.matrix, row.norm, update, inner, rate, (1 - row.kept) / rate])

    # ---------------------------------------------------------------------------------------------------- what it says

    def curves(self) -> Dict[str, List[Row]]:
        """The rows of each matrix."""
        self._read()
        made: Dict[str, List[Row]] = {}
        for row in self.rows:
            made.setdefault(row.matrix, []).append(row)
        return made

    def schedule(self) -> List[Tuple[int, float]]:
        """(step, effective rate), the geometric mean over matrices: the angles with which a Hyperball does the same."""
        self._read()
        logs: Dict[int, List[float]] = {}
        for row in self.rows:
            logs.setdefault(row.step, []).append(math.log(row.effective))
        return [(step, math.exp(sum(some) / len(some))) for step, some in sorted(logs.items())]

    def _points(self) -> List[Tuple[int, float]]:
        points = self.schedule()
        if not points:
            raise Refusal("no step with a rate above zero was measured; call this after the first steps, and see `every`")
        return points

    def rate_at(self, t: int) -> float:
        """The schedule at any step, between those that were measured."""
        points = self._points()
        later = next((i for i, (step, _) in enumerate(points) if step >= t), len(points) - 1)
        (t0, a), (t1, b) = points[max(0, later - 1)], points[later]
        x = 1.0 if t1 == t0 else min(1.0, max(0.0, (t - t0) / (t1 - t0)))
        return math.exp((1 - x) * math.log(a) + x * math.log(b))

    def fit(self) -> Fit:
        """The named schedule nearest to all matrices' effective rates."""
        curves = list(self.curves().values())
        peaks = [max(rows, key=lambda row: row.effective).step for rows in curves]
        return fit([[(row.step, row.effective) for row in rows] for rows in curves], self.steps, sorted(set(peaks)))

    def report(self) -> str:
        """What people do not know of their run, one sentence per line."""
        curves = self.curves()
        if not curves:
            return "no step with a rate above zero was measured"
        count, points = len(curves), self.schedule()
        last = self.rows[-1].step
        ends = [rows[-1].effective / max(row.effective for row in rows) for rows in curves.values()]
        since = f" (here from step {self._first} on)" if self._first else ""
        says = [f"measured every {self.every} of {self.steps} steps{since}, {count} matrices",
                f"at step {last}, the last measured, your schedule is at {self._scheduled(curves)[last]:.2%} of its peak"
                f" and your effective rate at {sum(ends) / count:.2%} of its peak (mean over matrices)",
                self._rest(curves)]
        if self._norms_fixed(curves) and all(abs(row.effective - row.lr) < 0.01 * row.lr for row in self.rows):
            return "\n".join(says + ["your optimizer keeps norms fixed: its rate is its effective rate"])
        parts = [(0, 5), (5, 25), (25, 50), (50, 75), (75, 100)]
        means = []
        for low, high in parts:
            some = [math.log(rate) for step, rate in points if low <= 100 * step / self.steps < high]
            if some:
                means.append(f"{math.exp(sum(some) / len(some)):.4g} for {'the first' if low == 0 else f'{low}% to'} {high}%")
        best = self.fit()
        says += ["the rate that a Hyperball (MuonH, AdamH) needs to take the same steps: " + ", then ".join(means),
                 f"as one schedule: {best.shape}, peak {best.peak:.4g}, warm-up {best.warmup:.3f}, final ratio"
                 f" {best.final_ratio:.4f}, error {best.error:.1%}"]
        return "\n".join(says)

    @staticmethod
    def _scheduled(curves: Dict[str, List[Row]]) -> Dict[int, float]:
        """At each step lr over its peak, which groups have each for themselves: the mean over matrices."""
        made: Dict[int, List[float]] = {}
        for rows in curves.values():
            peak = max(row.lr for row in rows)
            for row in rows:
                made.setdefault(row.step, []).append(row.lr / peak)
        return {step: sum(some) / len(some) for step, some in made.items()}

    def _norms_fixed(self, curves: Dict[str, List[Row]]) -> bool:
        o = self.optimizer
        if isinstance(o, HyperTransfer):
            return all(isinstance(o._rule(self._group(p)).carrier, Hyperball) for _, p in self.matrices)
        return bool(self._fixed) or all(  # and the run was long enough for free norms to change
            abs(rows[-1].after / rows[0].norm - 1) < 1e-5 < 0.05 * sum(row.effective**2 for row in rows) for rows in curves.values())

    def _rest(self, curves: Dict[str, List[Row]]) -> str:
        """Norms at the end beside where decay and growth of the last tenth of the run balance."""
        if self._norms_fixed(curves):
            return "norms are fixed"
        ratios, decayed = [], False
        for rows in curves.values():
            last = rows[-max(1, len(rows) // 10):]
            grown = sum(row.after**2 - (row.kept * row.norm) ** 2 for row in last)
            taken = sum(1 - row.kept**2 for row in last)
            decayed |= taken > 0
            if taken > 0 and grown > 0:
                ratios.append(rows[-1].after / math.sqrt(grown / taken))
        grew = sorted(rows[-1].after / rows[0].norm for rows in curves.values())
        span = f"from start to end they changed by factors of {grew[0]:.3g} to {grew[-1]:.3g}"
        if not ratios:
            why = "where the gradient itself shrinks them" if decayed else "without weight decay"
            return f"norms have no equilibrium {why}; {span}"
        ratios.sort()
        near = sum(abs(ratio - 1) < 0.1 for ratio in ratios) >= 0.9 * len(ratios)
        return (f"norms have {'' if near else 'not '}reached equilibrium: they end at {ratios[0]:.2f} to {ratios[-1]:.2f} times"
                f" the norm at which decay and growth balance; {span}")

    def picture(self) -> Picture:
        """The effective rate beside the schedule, both over their peaks."""
        points, lrs = self._points(), self._scheduled(self.curves())
        top, most = max(rate for _, rate in points), max(lrs.values())
        steps = [step for step, _ in points]
        return Picture("rate over its peak", {"schedule": (steps, [lrs[step] / most for step in steps]),
                                              "effective rate": (steps, [rate / top for _, rate in points])}, log=True)

    def close(self, quiet: bool = False) -> str:
        """Stops watching, completes the file and prints the report."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        said = self.report()
        if self._file:
            self._file.close()
            self._file = self._csv = None
        if not quiet and self._speaks:
            print(said)
        return said

    def __enter__(self) -> "EffectiveRates":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
