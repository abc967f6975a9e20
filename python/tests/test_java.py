"""The package against the Java side: the algebra against `core`, whole runs against the engine `reference` and the golden files."""

import json
import math
import os
from types import SimpleNamespace

import pytest
import torch

import hypertransfer as ht
import networks

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "../../train/src/test/resources")
SLOW = bool(os.environ.get("HT_SLOW"))  # all steps of all runs: a minute
RELATIVE = 1e-15  # a few roundings: the two libraries' hypot and atan2 may differ in the last bit


def space(text):
    return ht.Hyperball() if text == "ball" else ht.Base(*map(float, text.split(",")))


def algebra(given):
    target, carrier, rule = given[:3]
    step, R, norm, target_norm, w, u, uw, e = given[3:11]
    rule = ht.Transfer(space(target), space(carrier), rule)
    s = ht.State(int(step), float(R), float(norm), float(target_norm))
    taken = rule.step(s, ht.Reading(float(w), float(u), float(uw)), float(e), *map(float, given[11:]))
    after = taken.next
    return [rule.evaluation_scale(s), rule.gradient_scale(s), taken.keep, taken.push, taken.nominal, taken.effective,
            taken.angle, taken.norm, taken.target_norm, after.step, after.R, after.norm, after.target_norm]


def mode(given):
    rule = ht.transfer(given[0], 0.25, 0.5)
    code = [ht.GRADIENT_RULES.index(rule.gradient), rule.target.decay, rule.carrier.decay]
    return code + [isinstance(rule.target, ht.Base), isinstance(rule.carrier, ht.Base)]


CASES = {
    "step": algebra,
    "mode": mode,
    "effective": lambda given: [ht.effective_rate(*map(float, given))],
    "fair": lambda given: [ht.fair_rate(*map(float, given))],
    "transferred": lambda given: [ht.transferred_rate(*map(float, given))],
    "implied": lambda given: [ht.Step(float(given[0]), 0, 0, float(given[1]), 0, 1, 1, None).implied_decay],
    "linear": lambda given: [ht.linear(int(given[0]), float(given[1]), int(given[2]), *map(float, given[3:]))],
}


def difference(line):
    """The largest relative difference of a vector from what Python computes; infinite where one of them refuses."""
    kind, given, expected = (part.split() for part in line.split("|"))
    try:
        got = CASES[kind[0]](given)
    except ht.Refusal:
        got = None
    if expected == ["refused"] or got is None:
        return 0.0 if expected == ["refused"] and got is None else math.inf
    wanted = [float(x) for x in expected]
    assert len(got) == len(wanted)
    return max(0.0 if x == y else abs(x - y) / abs(y) if y and math.isfinite(y) else math.inf for x, y in zip(got, wanted))


def test_algebra_agrees_with_core_to_rounding():
    with open(os.path.join(HERE, "vectors.txt")) as lines:
        vectors = lines.read().splitlines()
    assert len(vectors) > 600 and {line.split()[0] for line in vectors} == set(CASES)
    worst = max(vectors, key=difference)
    assert difference(worst) <= RELATIVE, worst


@pytest.mark.parametrize("line", [
    f"fair | 0.5 0.1 2.0 3.0 | {ht.fair_rate(0.5, 0.1, 2, 3) * (1 + 4e-15)}",
    "step | 0.1 ball rescaled 0 1.0 1.0 1.0 1.0 1.0 0.0 0.5 | refused"])
def test_a_difference_would_be_found(line):
    assert difference(line) > RELATIVE


@pytest.mark.parametrize("form, given, said", [
    (ht.effective_rate, (0.1, 0.1, 1.0, 0.0), "eta 0.1, decay 0.1, .* and .w. 0.0; .* above zero"),
    (ht.effective_rate, (2.0, 0.5, 1.0, 1.0), "eta times decay below 1"),
    (ht.fair_rate, (0.0, 0.1, 0.0, 1.0), "no rate gives the effective rate 0.0 with decay 0.1, .u. 0.0 and .w. 1.0; .* norms above zero"),
    (ht.transferred_rate, (0.1, 0.1, 0.0, 0.0, 1.0), "s1 0.0, .* norms must be above zero"),
    (ht.transferred_rate, (math.nan, 0.1, 1.0, 0.1, 1.0), "eta1 nan, .* give no rate")])
def test_rates_that_are_none_are_refused_as_by_core(form, given, said):
    """Were a division by zero, or a number that is no rate."""
    with pytest.raises(ht.Refusal, match=said):
        form(*given)


def test_schedules_have_one_formula():
    for shape in ("linear", "cosine", "trapezoid:0.3", "1-sqrt:0.2", "power:2", "constant"):
        rates = ht.Schedule(0.02, 40, 0.1, 0.2, shape).rates()
        assert rates[0] == 0.005 and rates[4] == 0.02 and len(rates) == 40
        assert min(rates[4:]) >= 0.2 * 0.02 * (1 - 1e-12)
    assert ht.Schedule(0.02, 40, 0.1, 0.2).rates() == [ht.linear(t, 0.02, 40, 0.1, 0.2) for t in range(40)]


SIZE = SimpleNamespace(network="M2", vocab=13, layers=1, dim=12, head_dim=6, seq=7, batch=2, norm_eps=1e-10)
RATES = dict(muon=0.02, adam=0.004, sgd=0.2, lion=0.002, signum=0.002, normuon=0.02, adamuon=0.02, soap=0.004)
RATES["soap-muon"] = 0.02
OPTIONS = dict(sgd=dict(nesterov=True), signum=dict(nesterov=True), adamuon=dict(coefficients="polar-express"))
OPTIONS["soap-muon"] = dict(coefficients="polar-express", shape_factor="rms")
with open(os.path.join(HERE, "trajectories.json")) as _file:
    TRAJECTORIES = json.load(_file)


@pytest.mark.parametrize("direction", RATES)
def test_runs_are_those_of_the_engine_reference(direction):
    """The first steps of 50 in every mode, same weights and tokens, float64; SOAP turns its bases in step 10.

    Whole schedules are compared in the golden trajectories, and with HT_SLOW=1 here.
    """
    steps = 50
    taken = steps if SLOW else 13 if "soap" in direction else 8
    for mode in ht.MODES:
        parameters, hidden = {}, {}
        for seed, (name, shape, is_hidden) in enumerate(networks.outline(SIZE), 1):
            width = 2 / math.sqrt(shape[1]) if is_hidden else 0.5
            values = torch.tensor(networks.numbers(seed, shape[0] * shape[1]), dtype=torch.float64) * width
            parameters[name] = torch.nn.Parameter(values.view(shape))
            if is_hidden:
                hidden[name] = parameters[name]
        ball = isinstance(ht.transfer(mode).target, ht.Hyperball)
        options = dict(mode=mode, lr=0.0, direction=direction, **OPTIONS.get(direction, {}))
        if mode == "decay-transfer":
            options.update(target_weight_decay=0.3)
        rest = [p for name, p in parameters.items() if name not in hidden]
        optimizer = ht.HyperTransfer([dict(params=hidden.items(), **options), ht.adamw(rest, lr=0.0)])
        wanted = TRAJECTORIES[f"{direction} {mode}"]
        for t in range(taken):
            for group, peak in zip(optimizer.param_groups, (0.03 if ball else RATES[direction], 0.005)):
                group["lr"] = ht.linear(t, peak, steps, 0.05, 0.1)
            tokens = [int((x + 0.5) * SIZE.vocab) for x in networks.numbers(1000 + t, SIZE.batch * SIZE.seq + 1)]
            optimizer.zero_grad()
            loss = networks.forward(SIZE, parameters, torch.tensor(tokens))
            loss.backward()
            assert abs(loss.item() / wanted[t] - 1) < 1e-9, f"{direction} {mode}, step {t}: {loss.item()}, {wanted[t]}"
            optimizer.step()


INVARIANT = ("hypertransfer", "inverse-hypertransfer", "decay-transfer")
DIRECTIONS = {"muon-nesterov": ("muon", dict(nesterov=True)), "muon-rms": ("muon", dict(shape_factor="rms"))}


@pytest.mark.parametrize("file", ["golden/M1", "golden/M2", "golden-directions/M1"])
def test_golden_trajectories(file):
    """Losses, norms and rates of runs that a third implementation computed in double precision."""
    path = os.path.join(GOLDEN, file)
    if not os.path.exists(path + ".json"):
        pytest.skip("the golden files are in the repository only")
    size, tensors = networks.golden(path)
    # norms and rates of every mode; the losses of all directions in all modes are compared above
    cases = [case for case in size.cases if case["direction"] != "adam" and (file != "golden/M1" or case["mode"] in INVARIANT)]
    runs = [(case, None) for case in cases]
    if file == "golden/M1":  # every matrix is scale-invariant there, so the radius is as good a place as any
        runs += [(case, "at-radius") for case in cases if case["mode"] in INVARIANT]
    for case, gradient in runs:
        whole = SLOW or file == "golden/M2" and case["mode"].endswith("-plus")  # of the others, the first half
        errors = trajectory(size, tensors, case, gradient, size.steps if whole else size.steps // 2)
        assert max(errors) < 1e-9, f"{case['direction']} {case['mode']} {gradient}: loss, norm, rate off by {errors}"


def trajectory(size, tensors, case, gradient, taken):
    parameters = {name[len("weight:"):]: torch.nn.Parameter(value.clone())
                  for name, value in tensors.items() if name.startswith("weight:")}
    hidden = {name: p for name, p in parameters.items() if name in case["matrices"]}
    rest = [p for name, p in parameters.items() if name not in hidden]
    direction, options = DIRECTIONS.get(case["direction"], (case["direction"], {}))
    if case["mode"] == "decay-transfer":
        options = dict(options, target_weight_decay=case["target_decay"])
    group = dict(params=hidden.items(), lr=0.0, mode=case["mode"], direction=direction, gradient=gradient, **options)
    if case["mode"] != "hyperball":
        group["weight_decay"] = case["decay"]
    optimizer = ht.HyperTransfer([group, ht.adamw(rest, lr=0.0)])
    errors = [0.0, 0.0, 0.0]
    for t in range(taken):
        for g, peak in zip(optimizer.param_groups, (case["rate"], case["adam_rate"])):
            g["lr"] = ht.linear(t, peak, size.steps, case["warmup"], case["final_ratio"])
        optimizer.zero_grad()
        loss = networks.forward(size, parameters, tensors["tokens"][t].long())
        loss.backward()
        optimizer.step()
        errors[0] = max(errors[0], apart(loss.item(), case["losses"][t]))
        for name in hidden:
            step, wanted = optimizer.taken[name], case["matrices"][name]
            for k, got, key in ((1, step.norm, "norm"), (1, step.target_norm, "target_norm"),
                                (2, step.nominal, "rate"), (2, step.effective, "effective")):
                errors[k] = max(errors[k], apart(got, wanted[key][t]))
    return errors


def apart(x, y):
    return abs(x - y) / max(abs(y), 1e-300) if x != y else 0.0
