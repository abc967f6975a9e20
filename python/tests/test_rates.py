"""Rates carried over: the numbers of `ht rates` for the lab's networks, and any module's."""

import json
import math
import os

import pytest
import torch
from torch import nn

import hypertransfer as ht
from hypertransfer.prediction import carry, equilibrium, muon_expected, predict
from hypertransfer.rates import Matrix

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "rates.json")) as _file:
    ANSWERS = json.load(_file)


def lab(width=128, layers=4):
    """The hidden matrices of the preset `demo`."""
    sizes = dict(q=(1, 1), k=(1, 1), v=(1, 1), o=(1, 1))
    made = [(f"blocks.{l}.attn.{name}.weight", width * a, width * b) for l in range(layers) for name, (a, b) in sizes.items()]
    return made + [(f"blocks.{l}.mlp.{name}.weight", width * a, width * b) for l in range(layers)
                   for name, a, b in (("fc", 4, 1), ("proj", 1, 4))]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case["arguments"])
def test_the_numbers_are_those_of_the_lab(case):
    got = ht.rates(lab(), **case["python"])
    assert got.lr == pytest.approx(case["rate"], rel=1e-9)
    assert got.final_ratio == pytest.approx(case["final_ratio"], abs=1e-9)
    assert got.error == pytest.approx(case["error"], rel=1e-9)
    assert [k.name for k in got.kinds] == [k[0] for k in case["kinds"]]
    for mine, (_, peak, ends, rate, ratio, error) in zip(got.kinds, case["kinds"]):
        assert mine[2:4] == pytest.approx((peak, ends), rel=1e-9)
        assert mine.lr == pytest.approx(rate, rel=1e-9) and mine.final_ratio == pytest.approx(ratio, abs=1e-9)
        assert mine.error == pytest.approx(error, rel=1e-9)


def test_the_search_finds_the_least_error():
    """A grid around the answer has nothing better."""
    both = [ht.prediction.Carried(m, m) for m in (muon_expected(64, 64), muon_expected(256, 64))]
    tuned = ht.Schedule(0.02, 60, 0.05, 0.1)
    best = carry(both, ht.Base(0.1), tuned, ht.Hyperball(), tuned)

    def error(peak, ratio):
        logs = []
        for m in both:
            wanted = predict(m.tuned, ht.Base(0.1), tuned.rates()).effective
            got = predict(m.other, ht.Hyperball(), tuned._replace(peak=peak, final_ratio=ratio).rates()).effective
            logs += [math.log(x / y) ** 2 for x, y in zip(got, wanted)]
        return math.sqrt(sum(logs) / len(logs))

    assert error(best.peak, best.final_ratio) == pytest.approx(best.error)
    for a in (0.97, 1.0, 1.03):
        for b in (-0.01, 0.0, 0.01):
            assert error(best.peak * a, min(1, max(0, best.final_ratio + b))) >= best.error


def test_any_module_is_answered_with_its_errors():
    torch.manual_seed(0)
    model = nn.ModuleDict(dict(
        wte=nn.Embedding(50, 32), layer=nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), lm_head=nn.Linear(32, 50)))
    answer = ht.rates(model, lr=0.02, weight_decay=0.1, steps=100, to="muonh")
    text = str(answer)
    assert {k.name for k in answer.kinds} == {"qkv", "o", "fc", "proj"}
    assert "the prediction's own error, measured (rms): effective rate" in text and "expect more" in text
    assert 0 < answer.lr < 0.2 and answer.measured_error > 0
    assert len(answer.kinds[0].rates) == 100
    other = ht.rates(model, lr=0.02, weight_decay=0.1, steps=100, to="adamw")  # both sides are estimated: the larger error
    assert other.measured_error == 0.27 > answer.measured_error and "(AdamW, width 128, 200 steps)" in str(other)
    ball = ht.rates(model, optimizer="muonh", lr=0.02, steps=100, to="adamh")
    assert ball.measured_error == 0 and "own error" not in str(ball)
    doubled = nn.ModuleDict(dict(model))
    with torch.no_grad():
        for p in doubled.parameters():
            p.mul_(2)
    assert ht.rates(doubled, lr=0.02, weight_decay=0.1, steps=100, to="muonh").lr < answer.lr
    assert "a place to start a search" in str(ht.rates(model, lr=0.02, steps=100, to="adamw"))


def test_a_prediction_is_near_a_real_run():
    """Muon with random gradients: the norm grows as predicted."""
    torch.manual_seed(0)
    w = nn.Parameter(torch.randn(64, 64) / 8)
    steps, start = 300, w.norm().item()
    optimizer = ht.HyperTransfer([("w", w)], lr=0.02, weight_decay=0.1)
    norms = []
    for _ in range(steps):
        w.grad = torch.randn(64, 64)
        optimizer.step()
        norms.append(optimizer.taken["w"].norm)
    wanted = predict(muon_expected(64, 64, norm=start), ht.Base(0.1), [0.02] * steps).norm
    assert max(abs(a / b - 1) for a, b in zip(norms, wanted)) < 0.1


def test_equilibrium_is_the_fixed_point():
    m = muon_expected(32, 64)
    norm, effective = equilibrium(m, 0.02, 0.5)
    run = predict(m, ht.Base(0.5), [0.02] * 4000)
    assert run.norm[-1] == pytest.approx(norm, rel=1e-6) and run.effective[-1] == pytest.approx(effective, rel=1e-6)
    with pytest.raises(ht.Refusal, match="needs a rate and a weight decay above zero"):
        equilibrium(m, 0.02, 0.0)


def test_the_horizon_law():
    """Nine times the batch: a ninth of the steps, three times rate and decay, three times the effective rate."""
    one = ht.rates(lab(64, 1), lr=0.01, weight_decay=0.1, steps=270, to="muonh")
    nine = ht.rates(lab(64, 1), lr=0.01, weight_decay=0.1, steps=270, to="muonh", batch=8, to_batch=72)
    assert nine.steps == 30 and nine.lr == pytest.approx(3 * one.lr, rel=0.15) and "horizon law" in str(nine)
    same = ht.rates(lab(64, 1), lr=0.01, weight_decay=0.1, steps=90, to_steps=10)
    assert same.weight_decay == pytest.approx(0.3) and same.lr == pytest.approx(0.03, rel=1e-3)


@pytest.mark.parametrize("given, message", [
    (dict(optimizer="muonn"), "unknown optimizer 'muonn'; did you mean 'muon'?"),
    (dict(to="MuonH"), "unknown optimizer 'MuonH'; did you mean 'muonh'?"),
    (dict(steps=1e3), "steps is 1000.0; it must be a whole number, one or more"),
    (dict(to_steps=0), "to_steps is 0"),
    (dict(lr="0.02"), "lr is '0.02'; it must be a finite number"),
    (dict(to="lion"), "unknown optimizer 'lion'"),
    (dict(schedule="cos"), "unknown schedule 'cos'"),
    (dict(shape_factor="rm"), "did you mean 'rms'"),
    (dict(batch=3), "give batch and to_batch together"),
    (dict(lr=20.0), "times weight decay"),
    (dict(lr=0.0), "above zero"),
    (dict(optimizer=torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)),
     "optimizer is of type SGD; it must be a name; known are muon, muonh"),
    (dict(optimizer=["muon"]), "optimizer is of type list"),
    (dict(lr=torch.tensor(0.02)), r"of type Tensor; it must be a finite number, zero or more of Python: float\(...\)"),
    (dict(warmup="x"), "warmup is 'x'; it must be a number from 0 to less than 1"),
    (dict(warmup=1.5), "warmup is 1.5"),
    (dict(final_ratio="x"), "final_ratio is 'x'"),
    (dict(momentum=1.0), "momentum is 1.0"),
    (dict(momentum=-0.5), "momentum is -0.5"),
    (dict(optimizer="adamw", beta1=1.0), "beta1 is 1.0"),
    (dict(scale_invariant="no"), "scale_invariant is 'no'; it must be True or False"),
    (dict(schedule="trapezoid:0"), "schedule 'trapezoid:0' needs a number above 0 and at most 1 after the colon, such as trapezoid:0.2"),
    (dict(schedule="trapezoid:abc"), "'trapezoid:abc' needs a number"),
    (dict(schedule="1-sqrt:1.5"), "'1-sqrt:1.5' needs a number"),
    (dict(schedule="power:-1"), "'power:-1' needs a number above 0 after the colon, such as power:2"),
    (dict(schedule="linear:3"), "schedule 'linear:3' takes no number; write linear"),
    (dict(to_schedule=3), "unknown schedule 3"),
    (dict(model=[("fc", torch.empty(64, 16, device="meta"))]), "fc is on the device meta and has no norm; give names with shapes"),
    (dict(model=[("fc", "64", 16)]), "a side of fc is '64'; it must be a whole number, one or more"),
    (dict(model=[("fc", 64.5, 16)]), "a side of fc is 64.5"),
    (dict(model=[("fc", 0, 16)]), "a side of fc is 0"),
    (dict(model=[("fc", 64, 16, 0.0)]), "fc has the norm 0.0; it must be above zero"),
    (dict(model=[("fc", 64, 16, math.nan)]), "fc has the norm nan"),
    (dict(model=nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)]).apply(
        lambda m: nn.init.constant_(m.weight, math.nan) if isinstance(m, nn.Linear) else None)),
     "0.weight has the norm nan; it must be above zero and finite")])
def test_refusals(given, message):
    with pytest.raises(ht.Refusal, match=message.replace("?", r"\?")):
        ht.rates(**{**dict(model=lab(32, 1), lr=0.02, steps=10, to="muonh"), **given})
    with pytest.raises(ht.Refusal, match="Tensor is not a name with a shape; give the module itself"):
        ht.rates([torch.zeros(3, 4)], lr=0.02, steps=10)
    with pytest.raises(ht.Refusal, match="no hidden matrix"):
        ht.rates([], lr=0.02, steps=10)


def test_a_list_of_hidden_matrices_is_the_model_they_are_from():
    model = nn.ModuleDict(dict(fc=nn.Linear(16, 64), proj=nn.Linear(64, 16), lm_head=nn.Linear(16, 9)))
    hidden, _ = ht.split(model)
    given = dict(lr=0.02, steps=50, to="muonh")
    assert ht.rates(hidden, **given) == ht.rates(model, **given)
    assert len(ht.rates(hidden[:1], **given).kinds) == 1
    with pytest.raises(ht.Refusal, match="tuple is not a name with a shape; .* what `split` returned as hidden"):
        ht.rates([("fc.bias", model["fc"].bias)], **given)


def test_kinds_are_told_by_name():
    for name, kind in {"transformer.h.0.attn.c_attn.weight": "qkv", "h.0.attn.c_proj.weight": "o", "h.0.mlp.c_proj.weight": "proj",
                       "layers.3.self_attn.q_proj.weight": "q", "layers.3.mlp.gate_proj.weight": "fc",
                       "layers.3.mlp.down_proj.weight": "proj", "conv.weight": "other", "blocks.0.attn.proj.weight": "o",
                       "blocks.0.mlp.proj.weight": "proj", "attn1.to_q.weight": "q", "attn1.to_out.0.weight": "o", "attn.out.weight": "o"}.items():
        assert Matrix(name, 2, 2).kind == kind, name


def test_a_warm_up_of_29_of_100_steps():
    """As a double, 0.29 * 100 is just below 29: the warm-up had 28 steps."""
    rates = ht.Schedule(29, 100, 0.29, 0.1).rates()
    assert rates[:30] == [*range(1, 30), 29]
    assert rates == [ht.linear(t, 29, 100, 0.29, 0.1) for t in range(100)]
