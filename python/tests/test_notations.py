"""Every row of NOTATIONS.md: each library's published formula, written out, beside this package."""

import ast
import math
import os
import re

import pytest
import torch
from torch import nn

import hypertransfer as ht
from hypertransfer.directions import COEFFICIENTS

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "NOTATIONS.md")


def rows(title):
    with open(PAGE) as f:
        section = f.read().split(f"## {title}\n")[1].split("\n## ")[0]
    return [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")][1:]


def randn(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ------------------------------------------------------------------------------------------------------ weight decay

PEAK, DECAY, WIDTH = 0.3, 0.2, 4.0
SHRINKS = {  # what a step with the schedule's part s shrinks by, and the rate it takes
    "torch": lambda s: (PEAK * s * DECAY, PEAK * s),
    "optax": lambda s: (PEAK * s * DECAY, PEAK * s),
    "keras": lambda s: (PEAK * s * DECAY, PEAK * s),
    "megatron": lambda s: (PEAK * s * DECAY, PEAK * s),
    "dion": lambda s: (PEAK * s * DECAY, PEAK * s),
    "emerging-optimizers": lambda s: (PEAK * s * DECAY, PEAK * s),
    "adamw-paper": lambda s: (s * DECAY, PEAK * s),
    "mup": lambda s: (PEAK / WIDTH * s * (DECAY * WIDTH), PEAK / WIDTH * s),
    "mup-decoupled": lambda s: (PEAK / WIDTH * s * DECAY, PEAK / WIDTH * s),
}


@pytest.mark.parametrize("name", SHRINKS)
def test_weight_decay_in_another_notation(name):
    """Ten steps of SGD written out in the other notation, beside this package with the translated numbers."""
    w = randn(4, 3, seed=0)
    p = nn.Parameter(w.clone())
    lr, decay = ht.notation(name, PEAK, DECAY, WIDTH)
    optimizer = ht.HyperTransfer([p], lr=lr, weight_decay=decay, direction="sgd", momentum=0.0)
    for t in range(10):
        s = 1 - t / 10
        g = randn(4, 3, seed=1 + t)
        shrinks, rate = SHRINKS[name](s)
        w = w - shrinks * w - rate * g
        optimizer.param_groups[0]["lr"] = lr * s
        p.grad = g
        optimizer.step()
        assert torch.allclose(p, w, atol=1e-13)


def test_independent_and_l2():
    with pytest.raises(ht.Refusal, match="does not follow the schedule"):
        ht.notation("independent", 0.1, 0.01)
    assert ht.notation("independent", 0.1, 0.01, constant_rate=True) == (0.1, pytest.approx(0.1))
    with pytest.raises(ht.Refusal, match="part of the gradient"):
        ht.notation("l2", 0.1, 0.01)
    with pytest.raises(ht.Refusal, match="did you mean 'keras'"):
        ht.notation("kera", 0.1, 0.01)


@pytest.mark.parametrize("given, message", [
    (("mup", 0.1, 0.1, 0), "width_mult is 0; it must be above zero"), (("mup", 0.1, 0.1, -2), "width_mult is -2"),
    (("independent", 0, 0.1, 1, True), "lr is 0; it must be above zero"), (("torch", "x", 0.1), "lr is 'x'"),
    (("torch", 0.1, None), "weight_decay is None"), (("adamw-paper", 0.1, -1), "weight_decay is -1; it must be a finite number")])
def test_numbers_that_are_none(given, message):
    with pytest.raises(ht.Refusal, match=message):
        ht.notation(*given)


def test_the_page_has_every_notation():
    assert [name.strip("`") for name in rows("Weight decay")] == [*ht.NOTATIONS, "independent", "l2"]
    assert set(SHRINKS) == set(ht.NOTATIONS)


# ------------------------------------------------------------------------------------------------------------- Muon


def schulz(x, steps, epsilon):
    """Newton-Schulz as it is published, one matrix at a time."""
    y = x.T if x.shape[0] > x.shape[1] else x
    y = epsilon(y)
    for a, b, c in steps:
        gram = y @ y.T
        y = a * y + (b * gram + c * gram @ gram) @ y
    return y.T if x.shape[0] > x.shape[1] else y


ADDED = lambda y: y / (y.norm() + 1e-7)  # noqa: E731
AT_LEAST = lambda y: y / y.norm().clamp(min=1e-7)  # noqa: E731
JORDAN = [(3.4445, -4.7750, 2.0315)] * 5


def mean(beta, nesterov):
    """(buffer, gradient) -> the new buffer and what is orthogonalised."""
    def of(m, g):
        m = beta * m + (1 - beta) * g
        return m, beta * m + (1 - beta) * g if nesterov else m
    return of


def total(beta, nesterov):
    def of(m, g):
        m = beta * m + g
        return m, g + beta * m if nesterov else m
    return of


TALL = lambda a, b: max(1, a / b) ** 0.5  # noqa: E731
RMS = lambda a, b: 0.2 * math.sqrt(max(a, b))  # noqa: E731
ZERO = dict(momentum_start="zero")
WHOSE = {  # momentum, factor, epsilon, steps, our options, our lr and weight decay per theirs
    "`torch.optim.Muon`": (mean(0.95, True), TALL, AT_LEAST, JORDAN, dict(ZERO, nesterov=True, shape_factor="tall"), 1),
    "`torch.optim.Muon`, `adjust_lr_fn=\"match_rms_adamw\"`": (
        mean(0.95, True), RMS, AT_LEAST, JORDAN, dict(ZERO, nesterov=True, shape_factor="rms"), 1),
    "`KellerJordan/Muon`": (mean(0.95, True), TALL, ADDED, JORDAN, dict(ZERO, nesterov=True, shape_factor="tall"), 1),
    "`modded-nanogpt`": (mean(0.95, True), TALL, ADDED, JORDAN, dict(ZERO, nesterov=True, shape_factor="tall"), 1),
    "`Moonlight`": (total(0.95, True), RMS, ADDED, JORDAN, dict(ZERO, nesterov=True, shape_factor="rms"), 1),
    "`microsoft/dion`": (total(0.95, False), lambda a, b: math.sqrt(a / b), ADDED, COEFFICIENTS["dion"],
                         dict(ZERO, shape_factor="spectral", coefficients="dion"), 1),
    "`Emerging-Optimizers`": (mean(0.95, False), lambda a, b: math.sqrt(max(a, b)), ADDED, JORDAN,
                              dict(ZERO, shape_factor="rms"), 5),
}


@pytest.mark.parametrize("name", WHOSE)
def test_whose_muon_it_is(name):
    """Fifty steps in float64, where bfloat16 and epsilon make no difference."""
    momentum, factor, epsilon, steps, options, scale = WHOSE[name]
    lr, decay = 0.02, 0.1
    for shape in ((6, 4), (4, 6), (5, 5)):
        w, m = randn(*shape, seed=0), torch.zeros(shape, dtype=torch.float64)
        p = nn.Parameter(w.clone())
        ours = ht.HyperTransfer([ht.muon([p], lr * scale, decay / scale, **options)])
        for t in range(50):
            g = randn(*shape, seed=1 + t) + w.tanh()
            p.grad = randn(*shape, seed=1 + t) + p.detach().tanh()
            m, looked = momentum(m, g)
            w = w * (1 - lr * decay) - lr * factor(*shape) * schulz(looked, steps, epsilon)
            ours.step()
        assert torch.allclose(p, w, rtol=1e-5, atol=1e-5), (p - w).abs().max()


def test_the_page_has_every_muon():
    assert rows("Muon")[:-1] == list(WHOSE)
    with open(PAGE) as f:
        lines = [line for line in f.read().split("## Muon\n")[1].splitlines() if line.startswith("| `")]
    for row, name in zip(lines, WHOSE):
        for option, value in WHOSE[name][4].items():
            if name != "`modded-nanogpt`":
                assert re.search(f'{option}="?{value}', row), f"{name}: {option}"


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this PyTorch has no torch.optim.Muon")
@pytest.mark.parametrize("adjust, factor", [(None, "tall"), ("match_rms_adamw", "rms")])
def test_fifty_steps_of_torchs_own_muon(adjust, factor):
    a, b = nn.Parameter(randn(24, 16, seed=0).float()), nn.Parameter(randn(24, 16, seed=0).float())
    theirs = torch.optim.Muon([a], lr=0.02, weight_decay=0.1, adjust_lr_fn=adjust)
    ours = ht.HyperTransfer([ht.muon([b], 0.02, 0.1, nesterov=True, momentum_start="zero", shape_factor=factor,
                                     ns_dtype=torch.bfloat16)])
    for t in range(50):
        for p in (a, b):
            p.grad = randn(24, 16, seed=1 + t).float() + p.detach().tanh()
        theirs.step(), ours.step()
    assert (a - b).norm() / a.norm() < 0.01


def test_a_wrapped_muon_of_somebody_else():
    """wrap takes the direction with its shape factor out of what the optimizer did."""
    class Theirs(torch.optim.Optimizer):
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    m = self.state[p].setdefault("m", torch.zeros_like(p))
                    m.mul_(0.95).add_(p.grad)
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    p.sub_(group["lr"] * schulz(m, JORDAN, ADDED))

    a, b = nn.Parameter(randn(6, 4, seed=0)), nn.Parameter(randn(6, 4, seed=0))
    wrapped = ht.wrap(Theirs([a], dict(lr=0.02, weight_decay=0.1)), mode="hypertransfer-plus")
    ours = ht.HyperTransfer([ht.muon([b], 0.02, 0.1, **ZERO)])
    for t in range(20):
        for p in (a, b):
            p.grad = randn(6, 4, seed=1 + t)
        wrapped.step(), ours.step()
    assert torch.allclose(a, b, atol=1e-6)


def test_the_page_has_both_adamws_defaults_and_with_equal_numbers_they_take_the_same_steps():
    with open(PAGE) as f:
        found = re.findall(r"^\| (.*AdamW`|this package's default) \| (\(.*?\)) \| (.*?) \| (.*?) \|$", f.read(), re.M)
    torchs, ours = [dict(betas=ast.literal_eval(betas), eps=float(eps), weight_decay=float(decay)) for _, betas, eps, decay in found]
    w = nn.Parameter(torch.randn(5, 7, dtype=torch.float64))
    made = ht.HyperTransfer([ht.adamw([w], lr=0.1)]).param_groups[0]
    known = torch.optim.AdamW([w]).defaults
    for name in torchs:
        assert made[name] == ours[name] and known[name] == torchs[name], name
    v = nn.Parameter(w.detach().clone())
    for numbers in (torchs, ours):
        a, b = torch.optim.AdamW([w], lr=0.1, **numbers), ht.HyperTransfer([ht.adamw([v], lr=0.1, **numbers)])
        for _ in range(20):
            w.grad = torch.randn(5, 7, dtype=torch.float64)
            v.grad = w.grad.clone()
            a.step()
            b.step()
        assert torch.allclose(w, v, rtol=1e-12, atol=1e-13)
