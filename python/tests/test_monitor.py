"""EffectiveRates: the numbers of the formula, the file that `ht effective` reads, and the sentences at the end."""

import csv
import math
import os

import pytest
import torch
from torch import nn

import hypertransfer as ht
from hypertransfer import EffectiveRates
from hypertransfer.fit import fit


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16, bias=False), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)).double()


def train(model, optimizer, steps=60, final=0.1):
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 1 - (1 - final) * t / max(1, steps - 1))
    x, y = torch.randn(32, 6).double(), torch.randn(32, 3).double()
    for _ in range(steps):
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()
        scheduler.step()


def test_adamw_is_measured_as_the_formula_has_it(tmp_path):
    """Our AdamW knows its steps; torch's is watched from outside: the same file."""
    files = []
    for k in range(2):
        model = network()
        params = dict(lr=0.01, weight_decay=0.2)
        optimizer = (torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), eps=1e-10, **params) if k == 0
                     else ht.HyperTransfer(model.parameters(), direction="adam", **params))
        rates = EffectiveRates(model, optimizer, str(tmp_path / f"{k}.csv"), every=5)
        torch.manual_seed(1)
        train(model, optimizer)
        rates.close(quiet=True)
        with open(tmp_path / f"{k}.csv") as f:
            files.append(list(csv.DictReader(f)))
    assert len(files[0]) == len(files[1]) == 2 * 12
    for a, b in zip(*files):
        assert (a["step"], a["matrix"]) == (b["step"], b["matrix"])
        for column in ("weight_norm", "update_norm", "inner_product", "rate", "decay"):
            assert float(a[column]) == pytest.approx(float(b[column]), rel=1e-8, abs=1e-9), column
    row = {k: float(v) for k, v in files[0][0].items() if k != "matrix"}
    direction = row["update_norm"] / row["rate"]
    assert rates.rows[0].effective == pytest.approx(ht.effective_rate(row["rate"], 0.2, direction, row["weight_norm"]), rel=1e-9)


def test_the_angle_is_the_one_between_before_and_after():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, weight_decay=0.1)  # coupled: in the gradient
    rates = EffectiveRates(model, optimizer, every=1)
    before = model[0].weight.detach().clone()
    train(model, optimizer, 1)
    after = model[0].weight.detach()
    turned = math.acos(((before * after).sum() / before.norm() / after.norm()).item())
    rates.close(quiet=True)
    assert rates.rows[0].angle == pytest.approx(turned, rel=1e-6) and rates.rows[0].kept == 1


def test_sentences():
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.1)
    with EffectiveRates(model, optimizer, every=3) as rates:
        train(model, optimizer, 90)
    said = rates.report()
    assert "measured every 3 of 90 steps, 2 matrices" in said
    assert "at step 87, the last measured, your schedule is at 12.02% of its peak and your effective rate at" in said
    assert "norms have not reached equilibrium" in said
    assert "the rate that a Hyperball (MuonH, AdamH) needs to take the same steps: " in said and "for the first 5%, then" in said
    assert "as one schedule: " in said and "error" in said
    assert rates.rate_at(0) == pytest.approx(rates.schedule()[0][1]) and rates.rate_at(10**6) == rates.schedule()[-1][1]
    assert "<polyline" in rates.picture()._repr_svg_()
    steps = len(rates.rows)
    train(model, optimizer, 3)
    assert len(rates.rows) == steps, "closed, it watches no longer"


def test_a_killed_run_has_what_was_measured(tmp_path):
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    rates = EffectiveRates(model, optimizer, str(tmp_path / "norms.csv"), every=1)
    train(model, optimizer, 4)
    lines = (tmp_path / "norms.csv").read_text().splitlines()  # before close(), as after kill -9
    assert len(lines) == 1 + 3 * 2 and all(line.count(",") == 6 for line in lines)
    rates.close(quiet=True)


def test_a_continued_run_continues_its_file(tmp_path):
    model, path = network(), str(tmp_path / "norms.csv")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    with EffectiveRates(model, optimizer, path, every=1):
        train(model, optimizer, 4)
    with EffectiveRates(model, optimizer, path, every=1, first=3) as rates:  # from a checkpoint of step 3
        train(model, optimizer, 2)
    assert "measured every 1 of 5 steps (here from step 3 on), 2 matrices" in rates.report()
    read = [line.split(",")[0] for line in (tmp_path / "norms.csv").read_text().splitlines()]
    assert read == ["step"] + [str(step) for step in range(5) for _ in range(2)]
    assert (tmp_path / "norms.1.csv").read_text().count("\n") == 1 + 4 * 2, "what was there is there"
    with pytest.raises(ht.Refusal, match="first is -1; it must be a whole number, 0 or more"):
        EffectiveRates(model, optimizer, path, first=-1)


def test_norms_that_the_gradient_shrinks_are_not_blamed_on_a_missing_decay():
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    rates = EffectiveRates(model, optimizer, every=1)
    for _ in range(20):
        optimizer.zero_grad()
        sum(p.square().sum() for p in model.parameters()).backward()
        optimizer.step()
    assert "no equilibrium where the gradient itself shrinks them; " in rates.close()


def test_equilibrium_is_told():
    """A long run at a constant rate, its directions at random."""
    w = nn.Parameter(torch.randn(8, 8, generator=torch.Generator().manual_seed(2)).double())
    model = nn.Module()
    model.w = w
    optimizer = torch.optim.AdamW([w], lr=0.05, weight_decay=1.0, betas=(0.0, 0.0))
    rates = EffectiveRates(model, optimizer, every=1, matrices=[("w", w)])
    generator = torch.Generator().manual_seed(3)
    for _ in range(600):
        w.grad = torch.randn(8, 8, generator=generator).double()
        optimizer.step()
    assert "norms have reached equilibrium" in rates.close(quiet=True)


def test_somebody_elses_hyperball_is_recognised():
    class Ball(torch.optim.SGD):
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        norm = p.data.norm()
                        u = p.grad - (p.grad * p.data).sum() / norm**2 * p.data
                        p.data -= group["lr"] * norm * u / u.norm()
                        p.data *= norm / p.data.norm()

    model = network()
    optimizer = Ball([p for p in model.parameters() if p.ndim == 2], lr=0.02)
    rates = EffectiveRates(model, optimizer, every=2)
    for lr in (0.0, 0.02):  # a warm-up that starts at zero
        optimizer.param_groups[0]["lr"] = lr
        model(torch.ones(2, 6).double()).sum().backward()
        optimizer.step()
    train(model, optimizer, 40)
    said = rates.close(quiet=True)
    assert "norms are fixed" in said and "keeps norms fixed" in said
    for row in rates.rows:
        assert row.effective == pytest.approx(row.lr, rel=1e-9)


def test_schedulers_before_and_after_and_scaler_still_work():
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    first = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    rates = EffectiveRates(model, optimizer, every=1)
    second = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    model(torch.ones(2, 6).double()).sum().backward()
    optimizer.step()
    first.step(), second.step()
    assert rates.steps == 1
    rates.close(quiet=True)


OPTIMIZERS = [lambda ps: torch.optim.AdamW(ps, lr=0.01, weight_decay=0.1), lambda ps: torch.optim.SGD(ps, lr=0.01),
              lambda ps: ht.HyperTransfer(ps, lr=0.01, direction="adam")]


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_a_matrix_without_a_gradient_has_no_row_of_that_step(make):
    model = network()
    optimizer = make(model.parameters())
    rates = EffectiveRates(model, optimizer, every=1)
    for t in range(6):
        optimizer.zero_grad(set_to_none=True)
        model(torch.ones(2, 6).double()).square().sum().backward()
        if t % 2:
            model[0].weight.grad = None  # an expert that no token came to
        optimizer.step()
    rates.close(quiet=True)
    steps = {name: [row.step for row in rows] for name, rows in rates.curves().items()}
    assert steps == {"0.weight": [0, 2, 4], "2.weight": list(range(6))}
    assert rates.schedule()[1][1] == pytest.approx(rates.curves()["2.weight"][1].effective, rel=1e-12)


@pytest.mark.parametrize("make", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_matrix_that_only_decays_has_no_effective_rate(make, dtype):
    model = network().to(dtype)
    optimizer = make(model.parameters())
    rates = EffectiveRates(model, optimizer, every=1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(2, 6, dtype=dtype)).square().sum().backward()
        model[0].weight.grad.zero_()
        optimizer.step()
    rates.close(quiet=True)
    assert list(rates.curves()) == ["2.weight"]


@pytest.mark.parametrize("direction", ["soap", "soap-muon"])
def test_a_first_step_that_moves_nothing_is_no_part_of_the_schedule(direction):
    model = network()
    hidden, rest = ht.split(model)
    optimizer = ht.HyperTransfer([dict(params=hidden, lr=0.02, direction=direction), ht.adamw(rest, lr=0.01)])
    rates = EffectiveRates(model, optimizer, every=1)
    train(model, optimizer, 20)
    assert "e-300" not in rates.close(quiet=True)
    assert rates.schedule()[0][0] == 1 and rates.fit().error < 1


def test_nothing_measured_is_said():
    model = network()
    rates = EffectiveRates(model, torch.optim.AdamW(model.parameters()))
    for ask in (lambda: rates.rate_at(3), rates.picture):
        with pytest.raises(ht.Refusal, match="no step with a rate above zero was measured"):
            ask()
    assert rates.close() == rates.close() == "no step with a rate above zero was measured"


def test_a_folder_is_not_renamed(tmp_path):
    model = network()
    (tmp_path / "runs").mkdir()
    with pytest.raises(ht.Refusal, match="runs is a folder; give the name of a file, such as .*norms.csv"):
        EffectiveRates(model, torch.optim.AdamW(model.parameters()), str(tmp_path / "runs"))
    assert [p.name for p in tmp_path.iterdir()] == ["runs"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_that_watch_one_optimizer_close_in_any_order(order):
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    both = [EffectiveRates(model, optimizer, every=1) for _ in range(2)]
    seen = []
    for k in (*order, None):
        train(model, optimizer, 2)
        seen.append([rates.steps for rates in both])
        if k is not None:
            both[k].close(quiet=True)
    late = [2 if k == order[0] else 4 for k in range(2)]
    assert seen == [[2, 2], late, late]


def test_two_models_with_the_same_names_are_told_apart():
    models = [network(), network()]
    optimizer = ht.HyperTransfer([ht.muonh(ht.split(model)[0], lr=lr) for model, lr in zip(models, (0.01, 0.03))])
    watches = [EffectiveRates(model, optimizer, every=1) for model in models]
    sum(model(torch.ones(2, 6).double()).sum() for model in models).backward()
    optimizer.step()
    assert list(optimizer.taken) == ["0.weight", "2.weight", "0.weight (2)", "2.weight (2)"]
    for watch, lr in zip(watches, (0.01, 0.03)):
        assert [row.matrix for row in watch.rows] == ["0.weight", "2.weight"]
        assert all(row.effective == pytest.approx(lr, rel=1e-12) for row in watch.rows)


def test_the_lines_to_copy_log_the_same(tmp_path, monkeypatch):
    """examples/norms.py beside EffectiveRates, with a matrix that has no gradient in some steps and one that is frozen."""
    monkeypatch.syspath_prepend(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples"))
    from norms import NormLog

    model = network()
    model[4].requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.2)
    log = NormLog(tmp_path / "a.csv", model)
    matrices = [(name, p) for name, p in model.named_parameters() if p.ndim == 2]
    rates = EffectiveRates(model, optimizer, str(tmp_path / "b.csv"), every=1, matrices=matrices)
    for t in range(4):
        optimizer.zero_grad(set_to_none=True)
        model(torch.ones(2, 6).double()).square().sum().backward()
        if t % 2:
            model[0].weight.grad = None
        log.step(t, optimizer)
    rates.close(quiet=True)
    read = [list(csv.DictReader((tmp_path / name).open())) for name in ("a.csv", "b.csv")]
    assert [(row["step"], row["matrix"]) for row in read[0]] == [(row["step"], row["matrix"]) for row in read[1]]
    for a, b in zip(*read):
        for column in ("weight_norm", "update_norm", "inner_product", "rate", "decay"):
            assert float(a[column]) == pytest.approx(float(b[column]), rel=1e-7, abs=1e-9), column


def test_groups_with_rates_of_their_own_are_one_schedule():
    model = network()
    optimizer = torch.optim.AdamW([dict(params=model[0].parameters(), lr=0.02), dict(params=model[2].parameters(), lr=0.002)])
    rates = EffectiveRates(model, optimizer, every=1)
    train(model, optimizer, 10, final=0.5)
    assert "your schedule is at 50.00% of its peak" in rates.close(quiet=True)
    _, ys = rates.picture().lines["schedule"]
    assert ys == pytest.approx([1 - 0.5 * t / 9 for t in range(10)])


@pytest.mark.parametrize("mode, says", [("hyperball", True), ("hypertransfer", False), ("hypertransfer-plus", False), ("fair", False)])
def test_a_rate_that_is_no_effective_rate_is_not_called_one(mode, says):
    model = network()
    optimizer = ht.HyperTransfer(ht.split(model)[0], lr=0.02, mode=mode)
    rates = EffectiveRates(model, optimizer, every=1)
    train(model, optimizer, 20)
    said = rates.close(quiet=True)
    assert ("norms are fixed" in said) == (mode != "fair")
    assert ("its rate is its effective rate" in said) == says == ("the rate that a Hyperball" not in said)


def test_a_rate_too_small_to_change_norms_does_not_fix_them():
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-7)
    rates = EffectiveRates(model, optimizer, every=1)
    train(model, optimizer, 3)
    assert "fixed" not in rates.close(quiet=True)


def test_views_are_measured_part_by_part():
    model = network()
    optimizer = ht.HyperTransfer(ht.split(model)[0], lr=0.02, view="rows:2")
    rates = EffectiveRates(model, optimizer, every=1)
    train(model, optimizer, 2)
    assert list(rates.curves()) == ["0.weight#0", "0.weight#1", "2.weight#0", "2.weight#1"]


def test_refusals(tmp_path):
    model = network()
    optimizer = torch.optim.AdamW(nn.Linear(2, 2).parameters())
    with pytest.raises(ht.Refusal, match="trains none of the model's hidden matrices"):
        EffectiveRates(model, optimizer)
    for wrong in ({"0.weight": model[0].weight}, [model[0].weight]):
        with pytest.raises(ht.Refusal, match=r"matrices has a (str|Parameter); give names with parameters: \[\(name, parameter\)"):
            EffectiveRates(model, torch.optim.AdamW(model.parameters()), matrices=wrong)
    with pytest.raises(ht.Refusal, match="every is 0"):
        EffectiveRates(model, optimizer, every=0)
    with pytest.raises(ht.Refusal, match="Sequential is given where a torch optimizer is needed"):
        EffectiveRates(optimizer, model)
    with pytest.raises(ht.Refusal, match="AdamW is given where a torch.nn.Module is needed"):
        ht.split(optimizer)


@pytest.mark.parametrize("shape, ratio", [("linear", 0.1), ("linear", 0.0), ("cosine", 0.2)])
def test_a_schedule_is_recognised(shape, ratio):
    rates = ht.Schedule(0.03, 500, 0.05, ratio, shape).rates()
    best = fit([[(t, rate) for t, rate in enumerate(rates) if rate > 0]], 500, [24])
    assert best.shape == shape and best.peak == pytest.approx(0.03, rel=0.01)
    assert best.final_ratio == pytest.approx(ratio, abs=0.005) and best.error < 0.02
