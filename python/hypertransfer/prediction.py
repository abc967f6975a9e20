"""Norms and effective rates of a run before the run: Java's module `prediction`, in plain floats.

With c = |u|, k = 1 - e l and the memory's terms i:  s^2 <- k^2 s^2 + e^2 c^2 + 2 e k c sum(weight_i q_i)  and
q_i <- decay_i (k q_i + e c). While the run is early, directions are shorter and resemble each other for longer: Onset.
These are estimates; `rates` states how far they were off where they were measured.
"""

from __future__ import annotations

import math
from typing import List, NamedTuple, Sequence, Tuple

from .algebra import Base, Refusal, Schedule, Space, effective_rate, fair_rate


class Onset(NamedTuple):
    """What is different early in a run: |u| as a part of what it becomes, for how many steps, and its memory."""

    part: float = 1.0
    steps: float = 0.0
    decay: float = 0.0


class Expected(NamedTuple):
    """What can be said of a matrix before its run. `memory`: (weight, decay) of the expected cosine of two directions."""

    norm: float
    direction: float
    memory: Tuple[Tuple[float, float], ...]
    onset: Onset = Onset()


class Prediction(NamedTuple):
    """One number per step, before its update."""

    norm: List[float]
    nominal: List[float]
    effective: List[float]

    @property
    def peak(self) -> float:
        return max(self.effective)

    @property
    def final_to_peak(self) -> float:
        return self.effective[-1] / self.peak if self.peak else 0.0


_CUT = 0.8796256610342398  # what is left of a normal deviation that is cut at two of them


def initial_norm(rows: int) -> float:
    """Of a matrix whose elements are normal with deviation 1/sqrt(cols), cut at two deviations."""
    return _CUT * math.sqrt(rows)


def singular_value(rows: int, cols: int) -> float:
    """The root mean square of the singular values that five steps of Newton-Schulz leave."""
    return 0.95 - 0.07 * min(rows, cols) / max(rows, cols)


def muon_expected(rows: int, cols: int, factor: float = 1.0, momentum: float = 0.95, norm: float = 0.0) -> Expected:
    """Muon; orthogonalisation turns small singular directions quickly, so a square matrix forgets most."""
    y = min(rows, cols) / max(rows, cols)
    memory = ((0.95 - 0.33 * y, momentum), (0.02 + 0.30 * y, momentum * momentum * momentum))
    return Expected(norm or initial_norm(rows), singular_value(rows, cols) * factor * math.sqrt(min(rows, cols)), memory)


def adam_expected(rows: int, cols: int, beta1: float = 0.9, norm: float = 0.0) -> Expected:
    """Adam: every element is a mean of gradients over their root mean square."""
    element = math.sqrt((1 - beta1) / (1 + beta1))
    return Expected(norm or initial_norm(rows), element * math.sqrt(rows * cols), ((1.0, beta1),))


def predict(matrix: Expected, space: Space, rates: Sequence[float], effective: bool = False) -> Prediction:
    """A whole run with these nominal rates; or, with `effective`, the run that has these effective rates."""
    l, s = space.decay, matrix.norm
    norms, nominal, made = [], [], []
    if not isinstance(space, Base):
        return Prediction([s] * len(rates), list(rates), list(rates))
    part, late, early_decay = matrix.onset
    terms = matrix.memory
    q = [0.0] * len(terms)
    persistent = 0.0  # -<u,w> / c as long as all is early
    for t, rate in enumerate(rates):
        if not effective and rate * l >= 1:
            raise Refusal(f"learning rate {rate} of step {t} times weight decay {l} is 1 or more; lower either of them")
        early = math.exp(-t / late) if late else 0.0
        c = matrix.direction * (1 - early * (1 - part))
        e = fair_rate(rate, l, c, s) if effective else rate
        norms.append(s)
        nominal.append(e)
        made.append(rate if effective else effective_rate(e, l, c, s))
        k, push = 1 - e * l, e * c
        along = early * persistent
        persistent = early_decay * (k * persistent + push)
        for i, (weight, decay) in enumerate(terms):
            along += (1 - early) * weight * q[i]
            q[i] = decay * (k * q[i] + push)
        cosine = min(max(along / s, -1.0), 1.0)
        s = math.sqrt(max(0.0, k * k * s * s + push * push + 2 * k * push * cosine * s))
    return Prediction(norms, nominal, made)


def equilibrium(matrix: Expected, rate: float, decay: float) -> Tuple[float, float]:
    """(norm, effective rate) that a long run at a constant rate comes to rest at."""
    if not (rate > 0 and decay > 0 and rate * decay < 1):
        raise Refusal(f"an equilibrium needs a rate and a weight decay above zero whose product is below 1; they are {rate}"
                      f" and {decay}")
    k = 1 - rate * decay
    grown = 1.0
    for weight, forgets in matrix.memory:
        grown += 2 * k * weight * forgets / (1 - forgets * k)
    norm = rate * matrix.direction * math.sqrt(max(0.0, grown) / (rate * decay * (1 + k)))
    return norm, effective_rate(rate, decay, matrix.direction, norm)


class Carried(NamedTuple):
    """A matrix on both sides, and how many are like it."""

    tuned: Expected
    other: Expected
    count: int = 1


class Pair(NamedTuple):
    """One peak and final ratio for all matrices; `error` is the rms logarithm of the ratio of effective rates that remains."""

    peak: float
    final_ratio: float
    error: float


def carry(matrices: Sequence[Carried], tuned_space: Space, tuned: Schedule, space: Space, like: Schedule) -> Pair:
    """The peak and final ratio with which the other run's effective rates are nearest to the tuned run's."""
    if not matrices or tuned.peak == 0:
        raise Refusal(f"there are {len(matrices)} matrices and the rate is {tuned.peak}; both must be above zero")
    rates = tuned.rates()
    wanted = [predict(m.tuned, tuned_space, rates).effective for m in matrices]
    middle, peak, count = tuned.steps // 2, 0.0, 0  # the peak itself is often short: the middle of the run says more
    for m, effective in zip(matrices, wanted):
        nominal = predict(m.other, space, effective, effective=True).nominal
        peak += nominal[middle] / rates[middle] * tuned.peak * m.count
        count += m.count

    def off(top: float, ratio: float) -> float:
        if top * space.decay >= 1:
            return math.inf
        schedule = like._replace(peak=top, final_ratio=ratio).rates()
        squares = compared = 0.0
        for m, effective in zip(matrices, wanted):
            got = predict(m.other, space, schedule).effective
            logs = [math.log(x / y) for x, y in zip(got, effective) if x > 0 and y > 0]
            squares += sum(x * x for x in logs) * m.count
            compared += len(logs) * m.count
        return math.sqrt(squares / compared)

    best, ratio = peak / count, tuned.final_ratio
    error, step = off(best, ratio), 0.25
    while step > 1e-7:  # neighbours in log peak and final ratio; half the step when none is better
        moved = False
        for way in range(4):
            sign = step if way % 2 == 0 else -step
            top = best * math.exp(sign) if way < 2 else best
            end = ratio if way < 2 else min(max(ratio + sign / 4, 0.0), 1.0)
            candidate = off(top, end)
            if candidate < error:
                best, ratio, error, moved = top, end, candidate, True
        if not moved:
            step /= 2
    return Pair(best, ratio, error)
