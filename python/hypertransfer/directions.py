"""How gradients become directions u: Muon, Adam and the others, for many matrices at once.

A direction takes a list of `Item`s and returns a list of directions. Whatever it remembers is changed in place, in
the item's memory. Formulas and defaults are those of the Java side, and trajectories of its engine `reference` hold
them to it.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .algebra import Refusal, nearest

Options = Dict[str, Any]


class Item(NamedTuple):
    """One matrix: its gradient, what its direction remembers of it, and how many steps it has taken."""

    g: Tensor
    memory: Dict[str, Tensor]
    t: int


# ------------------------------------------------------------------------------------------------ orthogonalisation


def _safe(*abc: float) -> Tuple[float, float, float]:
    """With the authors' safety factor of 1.01."""
    a, b, c = abc
    return a / 1.01, b / 1.01**3, c / 1.01**5


_POLAR_EXPRESS = [  # Amsel et al., arXiv 2505.16932
    _safe(8.28721201814563, -23.595886519098837, 17.300387312530933),
    _safe(4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    _safe(3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    _safe(3.3184196573706015, -2.488488024314874, 0.51004894012372),
    _safe(2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    _safe(1.891301407787398, -1.2679958271945868, 0.37680408948524835),
    _safe(1.8750014808534479, -1.2500016453999487, 0.3750001645474248),
    (1.875, -1.25, 0.375)]

COEFFICIENTS: Dict[str, Sequence[Tuple[float, float, float]]] = {
    "jordan": [(3.4445, -4.7750, 2.0315)] * 5,
    "convergent": [(2.0, -1.5, 0.5)] * 12,
    "polar-express": _POLAR_EXPRESS,
    "dion": [(4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
             (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012)],
}

SHAPE_FACTORS: Dict[str, Callable[[int, int], float]] = {
    "none": lambda rows, cols: 1.0,
    "tall": lambda rows, cols: math.sqrt(max(1, rows / cols)),
    "spectral": lambda rows, cols: math.sqrt(rows / cols),
    "rms": lambda rows, cols: 0.2 * math.sqrt(max(rows, cols)),
}

_LARGEST_BATCH = 1 << 28  # numbers that are stacked for one batch: 0.5 GB in bfloat16


def coefficients(name: str, steps: int = 0) -> List[Tuple[float, float, float]]:
    """The first `steps` of a sequence; 0 for its usual number; beyond its end the last one is repeated."""
    if name not in COEFFICIENTS:
        raise Refusal(f"unknown coefficients {name!r}{nearest(name, COEFFICIENTS)}")
    known = COEFFICIENTS[name]
    return [known[min(i, len(known) - 1)] for i in range(steps or len(known))]


def newton_schulz(x: Tensor, steps: Sequence[Tuple[float, float, float]] = (), dtype: Optional[torch.dtype] = None) -> Tensor:
    """Roughly the nearest semi-orthogonal matrix of each matrix of a batch (..., m, n). Zero stays zero, NaN stays NaN.

    It has no branch on values and waits for no device, so `torch.compile` takes it whole.
    """
    rows, cols = x.shape[-2:]
    y = x.reshape(-1, rows, cols)
    y = y.mT if rows > cols else y
    largest = y.abs().amax((1, 2), True)  # divided out first, so that squares neither overflow nor vanish
    y = y / (largest + (largest == 0).to(y.dtype))
    norm = torch.linalg.vector_norm(y, dim=(1, 2), keepdim=True)
    y = (y / (norm + (norm == 0).to(y.dtype))).to(dtype or y.dtype)
    for a, b, c in steps or COEFFICIENTS["jordan"]:
        gram = torch.bmm(y, y.mT)
        y = torch.baddbmm(y, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), y, beta=a)
    y = y.mT if rows > cols else y
    return y.reshape(x.shape).to(x.dtype)


def orthogonalize(us: List[Tensor], options: Options) -> List[Tensor]:
    """Newton-Schulz of all matrices, in one batch per shape; a matrix and its transpose share a batch."""
    steps = coefficients(options["coefficients"], options["ns_steps"])
    alike: Dict[Any, List[int]] = {}
    for i, u in enumerate(us):
        key = (min(u.shape), max(u.shape), u.dtype, u.device)
        batches = alike.setdefault(key, [])
        batches.append(i)
    made: List[Optional[Tensor]] = [None] * len(us)
    for (short, long, dtype, device), members in alike.items():
        size = max(1, _LARGEST_BATCH // (short * long))
        low = options["ns_dtype"] or (torch.bfloat16 if device.type == "cuda" and dtype != torch.float64 else None)
        for first in range(0, len(members), size):
            some = members[first:first + size]
            batch = torch.stack([us[i].mT if us[i].shape[0] > us[i].shape[1] else us[i] for i in some])
            for i, u in zip(some, newton_schulz(batch, steps, low).unbind(0)):
                made[i] = u.mT if us[i].shape[0] > us[i].shape[1] else u
    return made  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------------------- directions


def _mean(items: List[Item], options: Options) -> List[Tensor]:
    """The momentum, an exponential mean, from the first gradient or from zero; ahead of it with Nesterov.

    A momentum that is a sum, as some write it, is this mean over 1 - momentum: the same direction.
    """
    beta, from_zero = options["momentum"], options["momentum_start"] == "zero"
    for item in items:
        if item.t == 0 and not from_zero:
            item.memory["momentum_buffer"].copy_(item.g)
    later = [item for item in items if item.t > 0 or from_zero]
    if later:
        means = [item.memory["momentum_buffer"] for item in later]
        torch._foreach_mul_(means, beta)
        torch._foreach_add_(means, [item.g.to(m.dtype) for item, m in zip(later, means)], alpha=1 - beta)
    if not options["nesterov"]:
        return [item.memory["momentum_buffer"] for item in items]
    ahead = [(item.memory["momentum_buffer"], item.g.to(item.memory["momentum_buffer"].dtype), item.t) for item in items]
    return [g if t == 0 and not from_zero else m * beta + g * (1 - beta) for m, g, t in ahead]


def _muon(items: List[Item], options: Options, us: Optional[List[Tensor]] = None) -> List[Tensor]:
    """The momenta, orthogonalised, or whatever is given instead of them."""
    factor = SHAPE_FACTORS[options["shape_factor"]]
    made = orthogonalize(_mean(items, options) if us is None else us, options)
    if options["shape_factor"] != "none":
        torch._foreach_mul_(made, [factor(*u.shape) for u in made])
    return made


def _adam(items: List[Item], options: Options) -> List[Tensor]:
    """m / (sqrt(v) + eps), both corrected for their start at zero."""
    (b1, b2), eps = options["betas"], options["eps"]
    ms, vs = [i.memory["exp_avg"] for i in items], [i.memory["exp_avg_sq"] for i in items]
    gs = [item.g.to(m.dtype) for item, m in zip(items, ms)]
    torch._foreach_mul_(ms, b1)
    torch._foreach_add_(ms, gs, alpha=1 - b1)
    torch._foreach_mul_(vs, b2)
    torch._foreach_addcmul_(vs, gs, gs, 1 - b2)
    roots = torch._foreach_div(vs, [1 - b2 ** (item.t + 1) for item in items])
    torch._foreach_sqrt_(roots)
    torch._foreach_add_(roots, eps)
    made = torch._foreach_div(ms, [1 - b1 ** (item.t + 1) for item in items])
    torch._foreach_div_(made, roots)
    return list(made)


def _sgd(items: List[Item], options: Options) -> List[Tensor]:
    return [u.clone() for u in _mean(items, options)]


def _sign(item: Item, look: float, keep: float, memory: str) -> Tensor:
    """The sign of look m + (1 - look) g; then m <- keep m + (1 - keep) g."""
    m = item.memory[memory]
    u = (m * look).add_(item.g, alpha=1 - look).sign_()
    m.mul_(keep).add_(item.g, alpha=1 - keep)
    return u


def _lion(items: List[Item], options: Options) -> List[Tensor]:
    """Chen et al., arXiv 2302.06675."""
    return [_sign(item, options["betas"][0], options["betas"][1], "exp_avg") for item in items]


def _signum(items: List[Item], options: Options) -> List[Tensor]:
    """The sign of the momentum."""
    made = []
    for item in items:
        b = 0.0 if item.t == 0 else options["momentum"]
        # beta m + (1 - beta) g of the new m is beta^2 m + (1 - beta^2) g of the old one
        made.append(_sign(item, b * b if options["nesterov"] else b, b, "momentum_buffer"))
    return made


def _equalized(o: Tensor, v: Tensor, beta2: float, eps: float, norm: Optional[float]) -> Tensor:
    """o over the root of its mean square, per row or per number as v has them, brought to a norm, else o's own."""
    square = o.square()
    v.mul_(beta2).add_(square.mean(1, True) if v.shape[1] == 1 else square, alpha=1 - beta2)
    p = o / (v.sqrt() + eps)
    return p * ((torch.linalg.vector_norm(o) if norm is None else norm) / (torch.linalg.vector_norm(p) + eps))


def _normuon(items: List[Item], options: Options) -> List[Tensor]:
    """Muon with a second moment per row after the orthogonalisation (Li et al., arXiv 2510.05491)."""
    factor = SHAPE_FACTORS[options["shape_factor"]]
    made = orthogonalize(_mean(items, options), options)
    return [_equalized(o, item.memory["row_avg_sq"], options["beta2"], options["eps"], None) * factor(*o.shape)
            for item, o in zip(items, made)]


def _adamuon(items: List[Item], options: Options) -> List[Tensor]:
    """Muon of signs with a second moment per number (Si et al., arXiv 2507.11005); the root mean square is 0.2."""
    made = orthogonalize(_signum(items, options), options)
    return [_equalized(o, item.memory["exp_avg_sq"], options["beta2"], options["eps"], 0.2 * math.sqrt(o.numel()))
            for item, o in zip(items, made)]


_FIRST_TURNS, _SHIFT = 10, 1e-3  # turns that make SOAP's first bases; what is added to a Gram matrix of its mean eigenvalue


def _rotated(x: Tensor, left: Tensor, right: Tensor, back: bool) -> Tensor:
    """left x right^T, or back left^T x right; a basis of one number leaves its side as it is."""
    if left.numel() > 1:
        x = (left.mT if back else left) @ x
    return x if right.numel() == 1 else x @ (right if back else right.mT)


def _turned(gram: Tensor, basis: Tensor) -> None:
    """One step of orthogonal iteration on the rows of the basis; without a gradient yet nothing turns."""
    if gram.numel() > 1:
        norm = torch.linalg.vector_norm(gram)
        shift = torch.where(norm > 0, _SHIFT * norm / math.sqrt(len(gram)), torch.ones_like(norm))
        q, r = torch.linalg.qr((basis @ gram + shift * basis).mT)
        basis.copy_((q * torch.where(r.diagonal() < 0, -1.0, 1.0).to(q.dtype)).mT)


def _soap(items: List[Item], options: Options) -> List[Tensor]:
    """Adam in the eigenbases of the gradient's Gram matrices (Vyas et al., arXiv 2409.11321).

    As the authors have it, the first gradient only makes the bases, so the first direction is zero.
    """
    made, beta = [], options["shampoo_beta"]
    for item in items:
        g, memory = item.g.to(item.memory["exp_avg"].dtype), item.memory
        left, right = (memory["left"], memory["left_basis"]), (memory["right"], memory["right_basis"])
        for (gram, _), product in ((left, lambda: g @ g.mT), (right, lambda: g.mT @ g)):
            if gram.numel() > 1:
                gram.mul_(beta).add_(product(), alpha=1 - beta)
        if item.t == 0:
            for gram, basis in (left, right):
                basis.copy_(torch.eye(len(basis), dtype=basis.dtype, device=basis.device))
                for _ in range(_FIRST_TURNS):
                    _turned(gram, basis)
            made.append(torch.zeros_like(g))
            continue
        seen = _rotated(g, left[1], right[1], False)
        quotient = _adam([Item(seen, memory, item.t - 1)], options)[0]
        made.append(_rotated(quotient, left[1], right[1], True))
        if item.t % options["precondition_frequency"] == 0:
            mean = _rotated(memory["exp_avg"], left[1], right[1], True)
            for gram, basis in (left, right):
                _turned(gram, basis)
            memory["exp_avg"].copy_(_rotated(mean, left[1], right[1], False))
    return made


def _soap_muon(items: List[Item], options: Options) -> List[Tensor]:
    """SOAP's direction, orthogonalised."""
    return _muon(items, options, _soap(items, options))


Shape = Tuple[int, ...]


class Direction(NamedTuple):
    """A direction by name: its options with their defaults, what it remembers, and whether it needs matrices."""

    apply: Callable[[List[Item], Options], List[Tensor]]
    options: Options
    memory: Callable[[Shape, Options], Dict[str, Shape]]
    matrices: bool


_SCHULZ: Options = dict(coefficients="jordan", ns_steps=0, ns_dtype=None)
_MOMENTUM: Options = dict(momentum=0.95, nesterov=False, momentum_start="gradient")
_SOAP: Options = dict(betas=(0.95, 0.95), eps=1e-10, shampoo_beta=0.95, precondition_frequency=10, largest_side=10_000)
_ONE = lambda name: lambda shape, options: {name: shape}  # noqa: E731
_MOMENTS = lambda shape, options: {"exp_avg": shape, "exp_avg_sq": shape}  # noqa: E731


def _bases(shape: Shape, options: Options) -> Dict[str, Shape]:
    sides = [(n, n) if n <= options["largest_side"] else (1, 1) for n in shape]
    return {"left": sides[0], "right": sides[1], "left_basis": sides[0], "right_basis": sides[1], **_MOMENTS(shape, options)}


DIRECTIONS: Dict[str, Direction] = {
    "muon": Direction(_muon, {**_MOMENTUM, **_SCHULZ, "shape_factor": "none"}, _ONE("momentum_buffer"), True),
    "adam": Direction(_adam, dict(betas=(0.9, 0.95), eps=1e-10), _MOMENTS, False),
    "sgd": Direction(_sgd, {**_MOMENTUM}, _ONE("momentum_buffer"), False),
    "lion": Direction(_lion, dict(betas=(0.9, 0.99)), _ONE("exp_avg"), False),
    "signum": Direction(_signum, dict(momentum=0.9, nesterov=False), _ONE("momentum_buffer"), False),
    "normuon": Direction(
        _normuon, {**_MOMENTUM, **_SCHULZ, "shape_factor": "none", "beta2": 0.95, "eps": 1e-10},
        lambda shape, options: {"momentum_buffer": shape, "row_avg_sq": (shape[0], 1)}, True),
    "adamuon": Direction(
        _adamuon, {"momentum": 0.95, "nesterov": False, **_SCHULZ, "beta2": 0.95, "eps": 1e-10},
        lambda shape, options: {"momentum_buffer": shape, "exp_avg_sq": shape}, True),
    "soap": Direction(_soap, _SOAP, _bases, True),
    "soap-muon": Direction(_soap_muon, {**_SOAP, **_SCHULZ, "shape_factor": "none"}, _bases, True),
}
