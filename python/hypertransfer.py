"""HyperTransfer for PyTorch: norm-fixed (Hyperball) and ordinary optimizers, and the transfers between them.

The first half is scalar algebra on floats and needs nothing but Python: one step moves a matrix by

    w <- keep * w - push * u

and keep and push follow from |w|, |u|, <u,w>, the scheduled rate and a few floats of state. It is the algebra of the
Java module `core`, line for line, and a test holds it to `core` within 1e-15. docs/IDEA.md explains the formulas.

The second half is one torch optimizer around it:

    opt = HyperTransfer([
        muonh(hidden, lr=0.0125),                                          # or muon, adamw, adamh
        muon(others, lr=0.02, decay=0.1, mode="hypertransfer-plus"),       # or any other of MODES
        adamw(rest, lr=0.01, decay=0.1)])
    with opt.evaluation():                        # needed for the + forms and `at-radius`, harmless for all others
        loss = model(batch)
        loss.backward()
    opt.step()

`lr` is read as the target reads it: a learning rate if the target is Base, an angle in radians if it is a Hyperball.
Letters: R radius, rC the carrier's norm |w|, rT the target's norm, e the target's rate, l its decay, a the angular step.
"""

import contextlib
import math
from typing import NamedTuple, Optional

try:
    import torch
except ImportError:  # the algebra is of use without it
    torch = None


# ---------------------------------------------------------------------------------------------- the algebra, on floats


class Refusal(ValueError):
    """Input that cannot be honoured: the value met, what was expected, what to do next."""


class Base(NamedTuple):
    """The norm is free: w <- (1 - e l) w - e u. Muon, AdamW."""

    decay: float


class Hyperball(NamedTuple):
    """The norm is fixed at its first value R, and a rate is an angle. MuonH, AdamH."""

    decay: float = 0.0


class State(NamedTuple):
    """All that the algebra remembers of one matrix between two steps."""

    step: int
    R: float
    norm: float
    target_norm: float

    @staticmethod
    def start(norm):
        """Carrier and target start from the same matrix, of this norm."""
        return State(0, norm, norm, norm)

    @staticmethod
    def zero(radius):
        """Carrier and target start from a matrix of zeros; the first direction puts a Hyperball at this radius."""
        if not 0 < radius < math.inf:
            raise Refusal(f"the radius of a matrix that starts at zero is {radius}; it must be a finite number above zero")
        return State(0, radius, 0.0, radius)

    @property
    def unmoved(self):
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
    def implied_decay(self):
        return 0.0 if self.effective == 0 else (1 - self.keep) / self.effective


AS_IS, RESCALED, REPRESENTATIVE, AT_RADIUS = GRADIENT_RULES = ("as-is", "rescaled", "representative", "at-radius")


class Transfer(NamedTuple):
    """A matrix that lives in a carrier space and follows the dynamics of a target space."""

    target: object
    carrier: object
    gradient: str = AS_IS

    @property
    def plain(self):
        """Whether the target is the carrier itself."""
        return self.gradient == AS_IS and type(self.target) is type(self.carrier) and self.target == self.carrier

    @property
    def evaluates_elsewhere(self):
        """Whether the network is evaluated at a multiple of w."""
        return self.gradient in (REPRESENTATIVE, AT_RADIUS)

    def evaluation_scale(self, s):
        """The network is evaluated at this multiple of w."""
        if not self.evaluates_elsewhere or s.unmoved:  # at zero, carrier and target are one matrix
            return 1.0
        self._positive(s, s.norm, s.target_norm)
        return (s.R if self.gradient == AT_RADIUS else s.target_norm) / s.norm

    def gradient_scale(self, s):
        """The gradient is multiplied by this before the direction sees it."""
        if self.gradient in (AS_IS, REPRESENTATIVE) or s.unmoved:
            return 1.0
        self._positive(s, s.norm, s.target_norm)
        return (s.R if self.gradient == AT_RADIUS else s.norm) / s.target_norm

    def step(self, s, reading, e, l=None):
        """One step: the target's angular step, taken by the carrier.

        With `l` the plain Base optimizer takes a weight decay that is this step's own, also one below zero.
        """
        l = self.target.decay if l is None else l
        self._check(s, reading, e, l)
        rC, u, uw = reading
        base = isinstance(self.target, Base)
        free = self.plain and base
        if rC == 0 and free:  # a zero matrix has no direction: no angle is defined, but the plain optimizer is
            moved = e * u
            return Step(1 - e * l, e, e, math.inf if moved else 0.0, 0.0, 0.0, 0.0, self._next(s, moved, moved))
        if rC == 0 and s.unmoved:
            return self._first(s, u, e)
        rT = rC if free else s.target_norm
        self._positive(s, rC, rT)

        # The angular step for each unit of u, so that a = p |u| and |u| = 0 needs no case of its own.
        p = e / ((1 - e * l) * rT) if base else 0.0 if u == 0 else e / u
        a = p * u
        cos = 0.0 if u == 0 else min(max(uw / u / rC, -1.0), 1.0)
        along = 1 - a * cos
        across = a * math.sqrt((1 - cos) * (1 + cos))
        stretch = math.hypot(along, across)  # |w/rC - p u|, the length that a Hyperball projects away
        angle = math.atan2(across, along)
        target = (1 - e * l) * rT * stretch if base else rT

        if isinstance(self.carrier, Base):
            lc = self.carrier.decay
            keep = 1 - e * l if free else 1 / (1 + p * lc * rC)
            push = e if free else p * rC * keep
            return Step(keep, push, push, a, angle, rC, rT, self._next(s, keep * rC * stretch, target))
        if not stretch > 0:
            raise Refusal(f"step {s.step}: the step of angle {a} lands on the origin, and a Hyperball has no direction"
                          " there; lower the learning rate")
        keep = s.R / (rC * stretch)
        return Step(keep, keep * p * rC, a, a, angle, rC, rT, self._next(s, s.R, target))

    def _first(self, s, u, e):
        """From zero: every direction is as far away, so the first that is there is taken, and no angle is defined."""
        if e == 0 or u == 0:
            return Step(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, s.target_norm, self._next(s, 0.0, s.target_norm))
        rT = e * u if isinstance(self.target, Base) else s.target_norm
        norm = rT if isinstance(self.carrier, Base) else s.R
        push = norm / u
        return Step(1.0, push, push, math.inf, 0.0, 0.0, s.target_norm, self._next(s, norm, rT))

    @staticmethod
    def _next(s, norm, target_norm):
        if not (math.isfinite(norm) and math.isfinite(target_norm)):
            raise Refusal(f"step {s.step}: the norm becomes {norm} and the target's {target_norm}; lower the rate")
        return State(s.step + 1, s.R, norm, target_norm)

    def _check(self, s, reading, e, l):
        if l != self.target.decay and not (self.plain and isinstance(self.target, Base) and math.isfinite(l)):
            raise Refusal(f"step {s.step}: its weight decay at this step is {l}; only the plain Base optimizer takes another"
                          " decay at every step, a finite number")
        if not 0 <= e < math.inf:
            raise Refusal(f"step {s.step}: learning rate is {e}; it must be a finite number, zero or more")
        if e * l >= 1:
            raise Refusal(f"step {s.step}: learning rate {e} times weight decay {l} is 1 or more, which"
                          " would erase the matrix; lower either of them")
        if not all(map(math.isfinite, reading)):
            raise Refusal(f"step {s.step}: |w|, |u|, <u,w> are {tuple(reading)}: the training has diverged; lower the"
                          " learning rate and continue from the last checkpoint")

    def _positive(self, s, rC, rT):
        if not (rC > 0 and rT > 0):
            raise Refusal(f"step {s.step}: its norm is {rC} and its target's {rT}; {self} needs both above zero:"
                          " initialise the matrix, start it from zero with a given radius, or train it with the plain Base"
                          " optimizer")


def transfer(mode, decay=0.0, target_decay=0.0, gradient=None):
    """The transfer that a mode of MODES names. `decay` is the Base space's, or the carrier's where both are Base.

    `gradient` replaces the mode's own gradient rule.
    """
    for name, value in (("decay", decay), ("target_decay", target_decay)):
        if not 0 <= value < math.inf:
            raise Refusal(f"{name} is {value}; it must be a finite number, zero or more")
    if mode not in MODES:
        raise Refusal(f"unknown mode '{mode}'; the modes are {', '.join(MODES)}")
    if gradient is not None and gradient not in GRADIENT_RULES:
        raise Refusal(f"unknown gradient rule '{gradient}'; the rules are {', '.join(GRADIENT_RULES)}")
    target, carrier, rule = MODES[mode](Base(decay), Hyperball(), Base(target_decay))
    return Transfer(target, carrier, gradient or rule)


MODES = {
    "base": lambda base, ball, other: (base, base, AS_IS),
    "hyperball": lambda base, ball, other: (ball, ball, AS_IS),
    "hypertransfer": lambda base, ball, other: (base, ball, RESCALED),
    "inverse-hypertransfer": lambda base, ball, other: (ball, base, RESCALED),
    "hypertransfer-plus": lambda base, ball, other: (base, ball, REPRESENTATIVE),
    "inverse-hypertransfer-plus": lambda base, ball, other: (ball, base, REPRESENTATIVE),
    "fair": lambda base, ball, other: (ball, base, AS_IS),
    "decay-transfer": lambda base, ball, other: (other, base, RESCALED),
}


def effective_rate(eta, decay, u, w):
    """The effective rate of a Base optimizer: eta |u| / ((1 - eta lambda) |w|)."""
    return eta * u / ((1 - eta * decay) * w)


def fair_rate(effective, decay, u, w):
    """The nominal rate whose effective rate is the one prescribed."""
    return effective * w / (u + effective * decay * w)


def transferred_rate(eta1, decay1, s1, decay2, s2):
    """The rate with which decay2 at norm s2 turns by the angle of eta1 with decay1 at norm s1."""
    return eta1 * s2 / ((1 - eta1 * decay1) * s1 + eta1 * decay2 * s2)


def linear(t, peak, steps, warmup=0.05, final_ratio=0.0):
    """The paper's schedule: the rate of step t, counted from zero."""
    w = math.floor(warmup * steps)
    if t < w:
        return peak * (t + 1) / w
    return peak * (1 - (1 - final_ratio) * ((t - w) / (steps - w)))


SHAPE_FACTORS = {
    "none": lambda rows, cols: 1.0,
    "tall": lambda rows, cols: math.sqrt(max(1, rows / cols)),
    "spectral": lambda rows, cols: math.sqrt(rows / cols),
    "rms": lambda rows, cols: 0.2 * math.sqrt(max(rows, cols)),
}


# -------------------------------------------------------------------------------------------------- the optimizer, torch


def muon(params, lr, decay=0.1, mode="base", **options):
    """A parameter group: momentum, orthogonalised. Options: momentum, nesterov, ns_dtype, shape_factor, gradient."""
    return dict(params=params, direction="muon", lr=lr, decay=decay, mode=mode, **options)


def muonh(params, lr, **options):
    """Muon on a Hyperball; lr is an angle."""
    return muon(params, lr, mode="hyperball", **options)


def adamw(params, lr, decay=0.1, mode="base", **options):
    """A parameter group: Adam's quotient. Options: betas, eps, gradient."""
    return dict(params=params, direction="adam", lr=lr, decay=decay, mode=mode, **options)


def adamh(params, lr, **options):
    """Adam on a Hyperball; lr is an angle."""
    return adamw(params, lr, mode="hyperball", **options)


def newton_schulz(x, steps=5, dtype=None):
    """Roughly the nearest semi-orthogonal matrix: five steps of (3.4445, -4.7750, 2.0315). Zero stays zero."""
    y = x.to(dtype or x.dtype)
    norm = torch.linalg.vector_norm(y)
    y = torch.where(norm > 0, y / norm, torch.zeros_like(y))
    tall = y.shape[0] > y.shape[1]
    y = y.T if tall else y
    for _ in range(steps):
        a = y @ y.T
        y = 3.4445 * y + (-4.7750 * a + 2.0315 * (a @ a)) @ y
    return (y.T if tall else y).to(x.dtype)


class HyperTransfer(torch.optim.Optimizer if torch else object):
    """Every optimizer of the paper, per parameter group; see the module's text for use.

    `taken` maps each parameter to the Step it last took: norms, nominal and effective rate, angle, implied decay.
    The state dict holds everything for an exact continuation.
    """

    def __init__(self, params, lr=0.01, decay=0.1, target_decay=0.1, mode="base", gradient: Optional[str] = None,
                 direction="muon", momentum=0.95, nesterov=False, ns_dtype=None, shape_factor="none",
                 betas=(0.9, 0.95), eps=1e-10):
        if torch is None:
            raise ImportError("HyperTransfer needs PyTorch; the functions of this file work without it")
        super().__init__(params, dict(lr=lr, decay=decay, target_decay=target_decay, mode=mode, gradient=gradient,
                                      direction=direction, momentum=momentum, nesterov=nesterov, ns_dtype=ns_dtype,
                                      shape_factor=shape_factor, betas=betas, eps=eps))
        self.taken = {}

    def add_param_group(self, group):
        super().add_param_group(group)
        self._transfer(group)
        if group["direction"] not in ("muon", "adam", "sgd"):
            raise Refusal(f"unknown direction '{group['direction']}'; the directions are muon, adam, sgd")
        if group["shape_factor"] not in SHAPE_FACTORS:
            raise Refusal(f"unknown shape factor '{group['shape_factor']}'; they are {', '.join(SHAPE_FACTORS)}")
        for p in group["params"]:
            if group["direction"] == "muon" and p.ndim != 2:
                raise Refusal(f"Muon needs matrices, and one parameter has the shape {tuple(p.shape)}; give it to adamw")

    @contextlib.contextmanager
    def evaluation(self):
        """The parameters are what the network must be evaluated at: for the + forms the target's representative.

        Gradients for `step` are taken inside, and so is the validation loss. At the end the parameters are as before.
        """
        kept = []
        try:
            with torch.no_grad():
                for p, group, rule in self._parameters():
                    if rule.evaluates_elsewhere:
                        scale = self._named(p, rule.evaluation_scale, self._scalars(p))
                        kept.append((p, p.clone()))
                        p.mul_(scale)
            yield
        finally:
            with torch.no_grad():
                for p, own in kept:
                    p.copy_(own)
                    self.state[p]["evaluated"] = True

    def step(self, closure=None):
        """One step of every parameter that has a gradient. A closure is called inside `evaluation`."""
        loss = None
        if closure is not None:
            with self.evaluation(), torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            self._move()
        return loss

    def _move(self):
        moves = []
        for p, group, rule in self._parameters():
            if p.grad is None:
                continue
            if rule.evaluates_elsewhere and not self.state[p].get("evaluated"):
                raise Refusal(f"mode {group['mode']} takes its gradient at a multiple of the parameters: compute loss and"
                              " gradient inside `with optimizer.evaluation():`")
            s = self._scalars(p)
            scale = self._named(p, rule.gradient_scale, s)
            moves.append((p, group, rule, s, self._direction(p, group, scale)))
        if not moves:
            return
        device = moves[0][0].device
        readings = torch.stack([_reading(p, u).to(device) for p, _, _, _, u in moves]).tolist()  # one wait for all
        taken = [self._named(p, rule.step, s, Reading(*reading), float(group["lr"]))  # checked before any matrix moves
                 for (p, group, rule, s, u), reading in zip(moves, readings)]
        for (p, group, rule, s, u), step in zip(moves, taken):
            p.mul_(step.keep).sub_(u, alpha=step.push)
            self.state[p].update(step.next._asdict(), evaluated=False)
            self.taken[p] = step

    def _parameters(self):
        for group in self.param_groups:
            rule = self._transfer(group)
            for p in group["params"]:
                yield p, group, rule

    def _named(self, p, function, *arguments):
        try:
            return function(*arguments)
        except Refusal as refusal:
            index = next(i for i, (q, _, _) in enumerate(self._parameters()) if q is p)
            raise Refusal(f"parameter {index} of shape {tuple(p.shape)}, {refusal}") from None

    @staticmethod
    def _transfer(group):
        return transfer(group["mode"], group["decay"], group["target_decay"], group["gradient"])

    def _scalars(self, p):
        state = self.state[p]
        if "R" not in state:
            state.update(State.start(torch.linalg.vector_norm(p, dtype=torch.float64).item())._asdict())
        return State(state["step"], state["R"], state["norm"], state["target_norm"])

    def _direction(self, p, group, scale):
        state = self.state[p]
        g = p.grad if scale == 1 else p.grad * scale
        if group["direction"] == "adam":
            b1, b2 = group["betas"]
            m = state.setdefault("exp_avg", torch.zeros_like(p))
            v = state.setdefault("exp_avg_sq", torch.zeros_like(p))
            t = state["step"] + 1
            m.mul_(b1).add_(g, alpha=1 - b1)
            v.mul_(b2).addcmul_(g, g, value=1 - b2)
            return (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + group["eps"])
        b = group["momentum"]
        if "momentum" not in state:
            state["momentum"] = g.clone()
        else:
            state["momentum"].mul_(b).add_(g, alpha=1 - b)
        u = state["momentum"]
        if group["nesterov"]:
            u = b * u + (1 - b) * g
        if group["direction"] == "muon":
            u = newton_schulz(u, dtype=group["ns_dtype"])
            u = u * SHAPE_FACTORS[group["shape_factor"]](*p.shape)
        return u

    def __setstate__(self, state):
        super().__setstate__(state)
        self.taken = {}


def _reading(p, u):
    w = p.detach().double().flatten()
    v = u.double().flatten()
    return torch.stack([torch.linalg.vector_norm(w), torch.linalg.vector_norm(v), torch.dot(v, w)])
