"""The algebra on floats: plain Python, no tensors, no torch.

One step moves a matrix by

    w <- keep * w - push * u

and keep and push follow from |w|, |u|, <u,w>, the scheduled rate and a few floats of state. This is the algebra of the
Java module `core`; test vectors hold it to `core` within 1e-15. docs/IDEA.md explains the formulas.

Letters: R radius, rC the carrier's norm |w|, rT the target's norm, e the target's rate, l its decay, a the angular step.
"""

from __future__ import annotations

import difflib
import math
from typing import Callable, Dict, Iterable, NamedTuple, Optional, Tuple, Union


class Refusal(ValueError):
    """Input that cannot be used: the value met, what was expected, what to do next."""


class Diverged(Refusal):
    """The input was fine, but the training ran away: a NaN, an infinity, a step onto the origin."""


def nearest(word: object, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` where something known is close, else all that is known."""
    names = list(known)
    plain = str(word).lower().replace("+", "-plus")  # as the paper writes it
    close = difflib.get_close_matches(plain, names, 1, 0.6)
    return f"; did you mean '{close[0]}'?" if close else f"; known are {', '.join(names)}"


class Base(NamedTuple):
    """The norm is free: w <- (1 - e l) w - e u. Muon, AdamW.

    With a policy, as records in "steps to a loss" have them: w <- (1 - e pull) w - e lift u. docs/IDEA.md has the formulas.
    """

    decay: float
    floor: float = 0.0  # the least |u|/|w|: a smaller direction is made longer
    brake: float = 1.0  # what is left of a direction's part along w where it goes outward
    pinned: bool = False  # whether the norm ends at its part along w

    def pull(self, r: float, u: float, cos: float) -> float:
        return self.decay - self.lift(r, u, cos) * (1 - self.brake) * u * min(cos, 0) / r

    def lift(self, r: float, u: float, cos: float) -> float:
        braked = u * math.sqrt(1 - (1 - self.brake**2) * cos * cos) if cos < 0 else u
        return 1.0 if braked == 0 else max(1.0, self.floor * r / braked)


class Hyperball(NamedTuple):
    """The norm is fixed at its first value R, and a rate is an angle. MuonH, AdamH."""

    decay: float = 0.0


Space = Union[Base, Hyperball]


class State(NamedTuple):
    """All that the algebra remembers of one matrix between two steps."""

    step: int
    R: float
    norm: float
    target_norm: float

    @staticmethod
    def start(norm: float) -> "State":
        """Carrier and target start from the same matrix, of this norm."""
        return State(0, norm, norm, norm)

    @staticmethod
    def zero(radius: float) -> "State":
        """Carrier and target start from a matrix of zeros; the first direction puts a Hyperball at this radius."""
        if not 0 < radius < math.inf:
            raise Refusal(f"the radius of a matrix that starts at zero is {radius}; it must be a finite number above zero")
        return State(0, radius, 0.0, radius)

    @property
    def unmoved(self) -> bool:
        """Whether the matrix is still the zeros that `zero` began with."""
        return self.norm == 0 and self.R > 0


class Reading(NamedTuple):
    """Measured on the tensors at every step, summed in double precision: |w|, |u|, <u,w>."""

    w: float
    u: float
    uw: float


class Step(NamedTuple):
    """w <- keep * w - push * u, and what is worth logging of it."""

    keep: float
    push: float
    nominal: float
    effective: float
    angle: float
    norm: float
    target_norm: float
    next: State

    @property
    def implied_decay(self) -> float:
        """The weight decay that this step's shrinking amounts to, (1 - keep) / a; zero where nothing moved."""
        return 0.0 if self.effective == 0 else (1 - self.keep) / self.effective


AS_IS, RESCALED, REPRESENTATIVE, AT_RADIUS = GRADIENT_RULES = ("as-is", "rescaled", "representative", "at-radius")


class Transfer(NamedTuple):
    """A matrix that lives in a carrier space and follows the dynamics of a target space."""

    target: Space
    carrier: Space
    gradient: str = AS_IS

    @property
    def plain(self) -> bool:
        """Whether the target is the carrier itself."""
        own = self.gradient in (AS_IS, AT_RADIUS)
        return own and type(self.target) is type(self.carrier) and self.target == self.carrier

    @property
    def evaluates_elsewhere(self) -> bool:
        """Whether the network is evaluated at a multiple of w."""
        return self.gradient in (REPRESENTATIVE, AT_RADIUS)

    def evaluation_scale(self, s: State) -> float:
        """The network is evaluated at this multiple of w."""
        if not self.evaluates_elsewhere or s.unmoved:  # at zero, carrier and target are one matrix
            return 1.0
        self._positive(s, s.norm, s.target_norm)
        return (s.R if self.gradient == AT_RADIUS else s.target_norm) / s.norm

    def gradient_scale(self, s: State) -> float:
        """The gradient is multiplied by this before the direction sees it."""
        if self.gradient in (AS_IS, REPRESENTATIVE) or s.unmoved:
            return 1.0
        self._positive(s, s.norm, s.target_norm)
        return (s.R if self.gradient == AT_RADIUS else s.norm) / s.target_norm

    def step(self, s: State, reading: Reading, e: float, l: Optional[float] = None) -> Step:
        """One step: the target's angular step, taken by the carrier.

        With `l` the plain Base optimizer takes a weight decay that is this step's own, also one below zero.
        """
        l = self.target.decay if l is None else l
        self.check(s, e, l)
        if not all(map(math.isfinite, reading)):
            raise Diverged(f"step {s.step}: |w|, |u|, <u,w> are {tuple(reading)}: the training has diverged; lower the"
                           " learning rate and continue from the last checkpoint")
        rC, u, uw = reading
        base = isinstance(self.target, Base)
        one = self.gradient == AS_IS or abs(rC - s.target_norm) <= 1e-12 * rC  # or its own space at another norm
        free = self.plain and base and one
        if rC == 0 and free:  # a zero matrix has no direction: no angle is defined, but the plain optimizer is
            moved = e * u
            return Step(1 - e * l, e, e, math.inf if moved else 0.0, 0.0, 0.0, 0.0, self._next(s, moved, moved))
        if rC == 0 and s.unmoved:
            return self._first(s, u, e)
        rT = rC if free and self.gradient == AS_IS else s.target_norm
        self._positive(s, rC, rT)

        cos = 0.0 if u == 0 else min(max(uw / u / rC, -1.0), 1.0)
        pull = self.target.pull(rT, u, cos) if base and l == self.target.decay else l
        kept = 1 - e * pull
        if not kept > 0:
            raise Refusal(f"step {s.step}: learning rate {e} times what {self.target} takes of the matrix, {pull}, is 1 or"
                          " more; lower the rate")
        # The angular step for each unit of u, so that a = p |u| and |u| = 0 needs no case of its own.
        p = e * self.target.lift(rT, u, cos) / (kept * rT) if base else 0.0 if u == 0 else e / u
        a = p * u
        along = 1 - a * cos
        across = a * math.sqrt((1 - cos) * (1 + cos))
        stretch = math.hypot(along, across)  # |w/rC - p u|, the length that a Hyperball projects away
        angle = math.atan2(across, along)
        target = self._after(s, self.target, kept * rT, stretch, along) if base else rT

        if isinstance(self.carrier, Base):
            lift = self.carrier.lift(rC, u, cos)
            keep = kept if free else 1 / (1 + p * self.carrier.pull(rC, u, cos) * rC / lift)
            nominal = e if free else p * rC * keep / lift
            norm, length = self._after(s, self.carrier, keep * rC, stretch, along), keep * rC * stretch
            scale = 1.0 if norm == length else norm / length
            return Step(scale * keep, scale * lift * nominal, nominal, a, angle, rC, rT, self._next(s, norm, target))
        if not stretch > 0:
            raise Diverged(f"step {s.step}: the step of angle {a} lands on the origin, and a Hyperball has no direction"
                           " there; lower the learning rate")
        keep = s.R / (rC * stretch)
        return Step(keep, keep * p * rC, a, a, angle, rC, rT, self._next(s, s.R, target))

    def _first(self, s: State, u: float, e: float) -> Step:
        """From zero: every direction is equally far away, so the first one is taken, and no angle is defined."""
        if e == 0 or u == 0:
            return Step(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, s.target_norm, self._next(s, 0.0, s.target_norm))
        rT = e * u if isinstance(self.target, Base) else s.target_norm
        norm = rT if isinstance(self.carrier, Base) else s.R
        push = norm / u
        return Step(1.0, push, push, math.inf, 0.0, 0.0, s.target_norm, self._next(s, norm, rT))

    @staticmethod
    def _after(s: State, space: Base, length: float, stretch: float, along: float) -> float:
        """The norm that a Base space ends the step with."""
        if space.pinned and stretch > 0 >= along:
            raise Diverged(f"step {s.step}: the step turns the matrix by 90 degrees or more, and nothing along it is left to pin the"
                           " norm to; lower the learning rate")
        return length * (along if space.pinned else stretch)

    @staticmethod
    def _next(s: State, norm: float, target_norm: float) -> State:
        if not (norm < math.inf and target_norm < math.inf):
            raise Diverged(f"step {s.step}: the norm becomes {norm} and the target's {target_norm}; lower the rate")
        return State(s.step + 1, s.R, norm, target_norm)

    def check(self, s: State, e: float, l: Optional[float] = None) -> None:
        """Refuses a rate or a decay that no step can take; needs no tensor."""
        l = self.target.decay if l is None else l
        if l != self.target.decay and not (self.plain and self.target == Base(self.target.decay) and math.isfinite(l)):
            raise Refusal(f"step {s.step}: its weight decay at this step is {l}; only the plain Base optimizer takes another"
                          " decay at every step, a finite number")
        if not 0 <= e < math.inf:
            raise Refusal(f"step {s.step}: the learning rate is {e}; it must be a finite number, zero or more")
        if e * l >= 1:
            raise Refusal(f"step {s.step}: learning rate {e} times weight decay {l} is 1 or more, which"
                          " would erase the matrix; lower either of them")

    def _positive(self, s: State, rC: float, rT: float) -> None:
        if not (rC > 0 and rT > 0):
            raise Refusal(f"step {s.step}: its norm is {rC} and its target's {rT}; both must be above zero: initialise"
                          " it, give its group zero_radius (the norm that its first step takes it to), or use"
                          " mode='base'")


_POLICIES = {"floor": math.inf, "brake": 1.0}  # with the largest number of each


def _policy(mode: str, text: Optional[str]) -> Base:
    """A Base space with `floor:0.4`, `brake:0.5`, `pinned`, or several of them with a plus between."""
    base = Base(0.0)
    if mode == "hyperball" and text is not None:
        raise Refusal(f"policy is {text!r}, and mode 'hyperball' has no Base space, whose norm it would change; leave it out")
    for part in str(text).split("+") if text is not None else ():
        if part == "pinned":
            base = base._replace(pinned=True)
            continue
        name, _, number = part.partition(":")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not (name in _POLICIES and 0 <= value <= _POLICIES[name] and value < math.inf):
            raise Refusal(f"policy is {text!r}; it must be some of floor:NUMBER (zero or more), brake:NUMBER (from 0 to 1) and"
                          " pinned, with a plus between them")
        base = base._replace(**{name: value})
    return base


def transfer(mode: str, decay: float = 0.0, target_decay: float = 0.0, gradient: Optional[str] = None,
             policy: Optional[str] = None) -> Transfer:
    """The transfer that a mode of MODES names. `decay` is the Base space's, or the carrier's where both are Base.

    `gradient` replaces the mode's own gradient rule; `policy` is what its Base spaces do about the norm.
    """
    for name, value in (("weight_decay", decay), ("target_weight_decay", target_decay)):
        if not 0 <= value < math.inf:
            raise Refusal(f"{name} is {value}; it must be a finite number, zero or more")
    if mode not in MODES:
        raise Refusal(f"unknown mode {mode!r}{nearest(mode, MODES)}")
    if gradient is not None and gradient not in GRADIENT_RULES:
        raise Refusal(f"unknown gradient rule {gradient!r}{nearest(gradient, GRADIENT_RULES)}")
    base = _policy(mode, policy)
    target, carrier, rule = MODES[mode](base._replace(decay=decay), Hyperball(), base._replace(decay=target_decay))
    return Transfer(target, carrier, gradient or rule)


MODES: Dict[str, Callable[[Base, Hyperball, Base], Tuple[Space, Space, str]]] = {
    "base": lambda base, ball, other: (base, base, AS_IS),
    "hyperball": lambda base, ball, other: (ball, ball, AS_IS),
    "hypertransfer": lambda base, ball, other: (base, ball, RESCALED),
    "inverse-hypertransfer": lambda base, ball, other: (ball, base, RESCALED),
    "hypertransfer-plus": lambda base, ball, other: (base, ball, REPRESENTATIVE),
    "inverse-hypertransfer-plus": lambda base, ball, other: (ball, base, REPRESENTATIVE),
    "fair": lambda base, ball, other: (ball, base, AS_IS),
    "decay-transfer": lambda base, ball, other: (other, base, RESCALED),
}


def effective_rate(eta: float, decay: float, u: float, w: float) -> float:
    """The effective rate of a Base optimizer: eta |u| / ((1 - eta lambda) |w|)."""
    if not (eta >= 0 and eta * decay < 1 and u >= 0 and w > 0):
        raise Refusal(f"there is no effective rate for eta {eta}, decay {decay}, |u| {u} and |w| {w}; eta and |u| must be"
                      " zero or more, |w| above zero, and eta times decay below 1")
    return eta * u / ((1 - eta * decay) * w)


def fair_rate(effective: float, decay: float, u: float, w: float) -> float:
    """The nominal rate whose effective rate is the one prescribed."""
    if not (effective >= 0 and decay >= 0 and u > 0 and w > 0):
        raise Refusal(f"no rate gives the effective rate {effective} with decay {decay}, |u| {u} and |w| {w}; the first two"
                      " must be zero or more, the norms above zero")
    return effective * w / (u + effective * decay * w)


def transferred_rate(eta1: float, decay1: float, s1: float, decay2: float, s2: float) -> float:
    """The rate with which decay2 at norm s2 turns by the angle of eta1 with decay1 at norm s1."""
    if not (eta1 >= 0 and eta1 * decay1 < 1 and decay2 >= 0 and s1 > 0 and s2 > 0):
        raise Refusal(f"eta1 {eta1}, decay1 {decay1}, s1 {s1}, decay2 {decay2} and s2 {s2} give no rate; norms must be"
                      " above zero, the others zero or more, and eta1 times decay1 below 1")
    return eta1 * s2 / ((1 - eta1 * decay1) * s1 + eta1 * decay2 * s2)


SHAPES: Dict[str, Callable[[float, float, float], float]] = {
    "linear": lambda x, end, number: 1 - (1 - end) * x,
    "constant": lambda x, end, number: 1.0,
    "cosine": lambda x, end, number: end + (1 - end) * (1 + math.cos(math.pi * x)) / 2,
    "trapezoid": lambda x, end, number: 1 - (1 - end) * max(0.0, 1 - (1 - x) / number),
    "1-sqrt": lambda x, end, number: 1 - (1 - end) * math.sqrt(max(0.0, 1 - (1 - x) / number)),
    "power": lambda x, end, number: end + (1 - end) * (1 - x) ** number,
}


_NUMBERS = {"trapezoid": 0.2, "1-sqrt": 0.2, "power": 2.0}  # where none is given


def _read(shape: str) -> Tuple[str, float]:
    """A shape's name and its number."""
    name, colon, number = str(shape).partition(":")
    if name not in SHAPES:
        raise Refusal(f"unknown schedule {shape!r}{nearest(name, SHAPES)}")
    if not colon:
        return name, _NUMBERS.get(name, 0.0)
    if name not in _NUMBERS:
        raise Refusal(f"schedule {shape!r} takes no number; write {name}")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (0 < value < math.inf and (name == "power" or value <= 1)):
        most = "" if name == "power" else " and at most 1"
        raise Refusal(f"schedule {shape!r} needs a number above 0{most} after the colon, such as {name}:{_NUMBERS[name]:g}")
    return name, value


def warmup_steps(warmup: float, steps: int) -> int:
    """The steps of a warm-up that is this part of a run."""
    return math.floor(warmup * steps * (1 + 2**-52))  # as a double, 0.29 * 100 is just below 29


class Schedule(NamedTuple):
    """A linear warm-up, then a shape of SHAPES, some with a number: `linear`, `cosine`, `trapezoid:0.2`, `power:2`."""

    peak: float
    steps: int
    warmup: float = 0.05
    final_ratio: float = 0.0
    shape: str = "linear"

    def rates(self) -> list:
        """The rate of each step."""
        name, value = _read(self.shape)
        if not (0 <= self.peak < math.inf and self.steps > 0 and 0 <= self.warmup < 1 and 0 <= self.final_ratio <= 1):
            raise Refusal(f"{self}: peak must be finite and zero or more, steps one or more, warmup from 0 to less than"
                          " 1, final_ratio from 0 to 1")
        w = warmup_steps(self.warmup, self.steps)
        return [self.peak * (t + 1) / w if t < w
                else self.peak * SHAPES[name]((t - w) / (self.steps - w), self.final_ratio, value)
                for t in range(self.steps)]


def linear(t: int, peak: float, steps: int, warmup: float = 0.05, final_ratio: float = 0.0) -> float:
    """The paper's schedule: the rate of step t, counted from zero."""
    w = warmup_steps(warmup, steps)
    if t < w:
        return peak * (t + 1) / w
    return peak * (1 - (1 - final_ratio) * ((t - w) / (steps - w)))
