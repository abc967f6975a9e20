"""The optimizer as a torch optimizer: words, groups, states, and that a refused step leaves everything as it was."""

import copy
import pickle

import pytest
import torch
from torch import nn

import hypertransfer as ht

MATRICES = [name for name, d in ht.DIRECTIONS.items() if d.matrices]


def options(mode, **more):
    made = dict(mode=mode, lr=0.05, **more)
    if mode == "decay-transfer":
        made.update(target_weight_decay=0.4)
    return made


class Small:
    """A matrix of 5 x 7 with a loss that is not invariant to its scale."""

    def __init__(self, dtype=torch.float64, **options):
        generator = torch.Generator().manual_seed(3)
        self.w = nn.Parameter(torch.randn(5, 7, generator=generator, dtype=torch.float64).to(dtype))
        self.data = torch.randn(8, 7, 5, generator=generator, dtype=torch.float64).to(dtype)
        self.optimizer = ht.HyperTransfer([("w", self.w)], **options)

    def loss(self, t):
        self.optimizer.zero_grad()
        loss = (self.w @ self.data[t % 8]).tanh().sum() + self.w.square().sum() / 10
        loss.backward()
        return loss

    def step(self, t):
        loss = self.loss(t)
        self.optimizer.step()
        return loss.item()

    def snapshot(self):
        return self.w.detach().clone(), copy.deepcopy(self.optimizer.state_dict())


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


# ------------------------------------------------------------------------------------------------------------- states


@pytest.mark.parametrize("mode", ht.MODES)
def test_a_run_that_is_saved_and_loaded_is_the_same_run(mode):
    for direction in ht.DIRECTIONS:
        straight, first = Small(direction=direction, **options(mode)), Small(direction=direction, **options(mode))
        for t in range(8):
            straight.step(t)
        for t in range(4):
            first.step(t)
        second = Small(direction=direction, **options(mode))
        with torch.no_grad():
            second.w.copy_(first.w)
        second.optimizer.load_state_dict(pickle.loads(pickle.dumps(first.optimizer.state_dict())))
        for t in range(4, 8):
            second.step(t)
        assert torch.equal(straight.w, second.w), direction


@pytest.mark.parametrize("plus, plain", [("hypertransfer-plus", "base"), ("inverse-hypertransfer-plus", "hyperball")])
def test_plus_forms_are_their_targets(plus, plain):
    """Between steps the parameter is what the network is evaluated at, so losses agree without any other call."""
    exact, target = Small(**options(plus)), Small(**options(plain))
    short, short_target = Small(torch.float32, **options(plus)), Small(torch.float32, **options(plain))
    gap = rounding = 0
    for t in range(60):
        loss, short_loss = target.step(t), short_target.step(t)
        assert exact.step(t) == pytest.approx(loss, rel=1e-12, abs=1e-12)
        gap = max(gap, abs(short.step(t) - short_loss))
        rounding = max(rounding, abs(short_loss - loss))
    assert gap <= 3 * rounding  # what float32 costs the target itself
    carrier = exact.optimizer.carrier(exact.w)
    assert torch.allclose(carrier / carrier.norm(), exact.w / exact.w.norm(), atol=1e-12)
    if plus == "hypertransfer-plus":
        R = exact.optimizer.state[exact.w]["R"][0]
        assert carrier.norm().item() == pytest.approx(R, rel=1e-12)
        assert exact.w.norm().item() != pytest.approx(R, rel=1e-3)


@pytest.mark.parametrize("policy", ["floor:0.9", "brake:0.5", "pinned", "floor:0.9+brake:0+pinned"])
def test_norm_policies_are_carried_exactly(policy):
    """A Hyperball has the losses of a Base space with a policy, and that space those of a Hyperball."""
    for plus, plain, follows in (("hypertransfer-plus", "base", True), ("inverse-hypertransfer-plus", "hyperball", False)):
        carried = Small(**options(plus), policy=policy)
        target = Small(**options(plain), **(dict(policy=policy) if follows else {}))
        free = Small(**options(plus))
        apart = 0
        for t in range(60):
            loss = target.step(t)
            assert carried.step(t) == pytest.approx(loss, rel=1e-12, abs=1e-12)
            apart = max(apart, abs(free.step(t) - loss))
        carriers = [run.optimizer.carrier(run.w) for run in (carried, free)]
        assert apart > 1e-4 if follows else not torch.allclose(*carriers, rtol=1e-3)  # else the policy did nothing


class OnCard(torch.Tensor):
    """Says that it is on a card, where sums of squares are taken in another way."""

    is_cuda = True


def test_masters_in_double_make_large_matrices_equal_to_the_bit_where_a_card_would_sum_in_float32():
    generator = torch.Generator().manual_seed(4)
    start, gradients = torch.randn(200, 300, generator=generator), torch.randn(5, 200, 300, generator=generator)
    made = []
    for mode in ("hypertransfer-plus", "base"):
        w = nn.Parameter(start.clone().as_subclass(OnCard))
        assert w.is_cuda and (w * 2).is_cuda
        optimizer = ht.HyperTransfer([("w", w)], direction="adam", master_dtype=torch.float64, **options(mode))
        for gradient in gradients:
            w.grad = gradient.clone().as_subclass(OnCard)
            optimizer.step()
        made.append(w.detach().as_subclass(torch.Tensor))
    assert torch.equal(*made)


def test_masters_in_double_make_both_runs_equal_to_the_bit():
    high = dict(master_dtype=torch.float64)
    a, b = (Small(torch.float32, **options(mode, **high)) for mode in ("hypertransfer-plus", "base"))
    for t in range(100):
        assert a.step(t) == b.step(t)
    assert torch.equal(a.w, b.w) and a.w.dtype == torch.float32
    saved, w = a.optimizer.state_dict(), a.w.detach().clone()
    again = Small(torch.float32, **options("hypertransfer-plus", **high))
    again.optimizer.load_state_dict(saved)
    with torch.no_grad():
        again.w.copy_(w)
    assert again.optimizer.state[again.w]["master"].dtype == torch.float64
    assert again.step(100) == a.step(100) and torch.equal(again.w, a.w)


def test_a_step_from_float32_with_short_decimals_is_equal_to_the_bit():
    """lr w/5 + lr u is a multiple of 0.75 for every 125th number: its middle of two float32 must not be rounded by the last bit."""
    generator = torch.Generator().manual_seed(0)
    start, gradient = (torch.rand(64, 64, generator=generator) - 0.5) / 3, torch.randn(64, 64, generator=generator)
    made = []
    for mode in ("base", "hypertransfer-plus"):
        w = nn.Parameter(start.clone())
        optimizer = ht.HyperTransfer([w], lr=0.03, weight_decay=0.2, mode=mode, master_dtype=torch.float64)
        w.grad = gradient.clone()
        optimizer.step()
        made.append(w.detach())
    assert torch.equal(*made)


@pytest.mark.parametrize("master", [None, torch.float32, torch.float64])
@pytest.mark.parametrize("mode", ht.MODES)
def test_weights_that_are_loaded_between_steps_are_taken_as_they_are(mode, master):
    """Somebody goes back to the best weights and keeps the optimizer: a tiny step leaves them where they are, in their own norm."""
    run = Small(torch.float32, **options(mode, master_dtype=master, view="columns:7"))
    for t in range(3):
        run.step(t)
    best = run.w.detach().clone()
    for t in range(3, 9):
        run.step(t)
    assert not torch.allclose(run.w, best, atol=1e-2)
    fixed = isinstance(ht.transfer(mode, 0.1, 0.4).carrier, ht.Hyperball) and "plus" not in mode
    other = best if fixed or mode == "inverse-hypertransfer-plus" else best * 1.5  # a fixed norm stays what it is
    run.w.data.copy_(other)  # no version counter sees it
    run.optimizer.param_groups[0]["lr"] = 1e-7
    run.step(9)
    assert torch.allclose(run.w, other, rtol=1e-5, atol=1e-6)
    if mode == "hypertransfer-plus":  # and its next steps are its target's
        run.optimizer.param_groups[0]["lr"] = 0.05
        plain = Small(torch.float32, **options("base", master_dtype=master, view="columns:7"))
        plain.optimizer.load_state_dict(_of_base(run.optimizer.state_dict()))
        plain.w.data.copy_(run.w)
        for t in range(10, 14):
            assert run.step(t) == pytest.approx(plain.step(t), rel=1e-5, abs=1e-5)


def _of_base(state):
    """A transfer's momenta for the plain optimizer that it follows."""
    made = copy.deepcopy(state)
    made["param_groups"][0]["mode"] = made["state"][0]["form"]["mode"] = "base"
    made["state"][0].pop("master", None)
    return made


def test_low_precision_parameters_move():
    for dtype in (torch.bfloat16, torch.float16):
        run = Small(torch.float32, **options("hyperball"))
        w = nn.Parameter(run.w.detach().to(dtype))
        optimizer = ht.HyperTransfer([w], lr=0.05, mode="hyperball")
        for t in range(5):
            w.grad = run.data[t].T.contiguous().to(dtype)
            optimizer.step()
        assert optimizer.state[w]["momentum_buffer"].dtype == torch.float32
        assert w.float().norm().item() == pytest.approx(run.w.norm().item(), rel=1e-2)


def test_another_mode_or_direction_is_not_loaded():
    saved = Small(**options("hyperball"))
    saved.step(0)
    for other in (options("base"), options("hyperball", direction="adam"), options("hyperball", view="rows:5"),
                  options("hyperball", master_dtype=torch.float64)):
        with pytest.raises(ht.Refusal, match="group 0 was saved with"):
            Small(**other).optimizer.load_state_dict(saved.optimizer.state_dict())
    with pytest.raises(ht.Refusal, match="group 0 was saved by another optimizer"):
        saved.optimizer.load_state_dict(torch.optim.AdamW([saved.w]).state_dict())
    with pytest.raises(ht.Refusal, match="a wrapped optimizer saved this state"):
        saved.optimizer.load_state_dict(ht.wrap(torch.optim.AdamW([saved.w])).state_dict())


def test_clipping_is_part_of_the_state():
    saved = Small(clip_norm=0.5, **options("base")).optimizer.state_dict()
    again = Small(**options("base")).optimizer
    again.load_state_dict(saved)
    assert again.clip_norm == 0.5
    del saved["clip_norm"]  # of an earlier version
    again.load_state_dict(saved)
    assert again.clip_norm == 0.5
    w = nn.Parameter(torch.ones(2, 3))
    wrapped = ht.wrap(torch.optim.AdamW([w]))
    wrapped.load_state_dict(ht.wrap(torch.optim.AdamW([w]), clip_norm=0.25).state_dict())
    assert wrapped.clip_norm == 0.25
    with pytest.raises(ht.Refusal, match="clip_norm holds for all groups together"):
        ht.HyperTransfer([ht.muonh([w], lr=0.1, clip_norm=1.0)])


@pytest.mark.parametrize("view, shape, other", [("whole", (4, 6), (6, 4)), ("flat", (4, 3, 2), (4, 2, 3)), ("flat", (4, 3, 2), (8, 3, 1))])
def test_the_state_of_another_shape_with_as_many_numbers_is_not_loaded(view, shape, other):
    w, v = nn.Parameter(torch.randn(shape)), nn.Parameter(torch.randn(other))
    w.grad = torch.randn(shape)
    saved = ht.HyperTransfer([w], lr=0.1, view=view)
    saved.step()
    again = ht.HyperTransfer([v], lr=0.1, view=view)
    if other == (4, 2, 3):  # the same matrix, 4 x 6
        again.load_state_dict(saved.state_dict())
        return
    with pytest.raises(ht.Refusal, match="parameter 0 of group 0 has the shape .* but was saved with momentum_buffer of shape"):
        again.load_state_dict(saved.state_dict())


@pytest.mark.parametrize("what, says", [({"model": 1, "optimizer": 2}, "a dict with model, optimizer is not the state"), ("a.pt", "a str is not")])
def test_what_is_no_state_is_named(what, says):
    with pytest.raises(ht.Refusal, match=says + ".*give what optimizer.state_dict"):
        Small(lr=0.1).optimizer.load_state_dict(what)


def test_a_parameter_that_is_given_twice_is_refused():
    w = nn.Parameter(torch.ones(3, 4))
    for params, name in (([w, w], "parameter 1"), ([("tok", w), ("head", w)], "head"), ([ht.muon([w], 0.1), ht.adamw([("w", w)], 0.1)], "w")):
        with pytest.raises(ht.Refusal, match=rf"{name} of shape \(3, 4\) is given twice; give it once"):
            ht.HyperTransfer(params, lr=0.1)


def test_a_group_without_parameters_is_told():
    generator = (p for p in [nn.Parameter(torch.ones(3, 4))])
    ht.HyperTransfer(generator, lr=0.1)
    with pytest.warns(UserWarning, match="a group of muon has no parameters, so it trains nothing: leave it out, or look whether"):
        ht.HyperTransfer([ht.muon(generator, lr=0.1), ht.adamw([nn.Parameter(torch.ones(3))], lr=0.1)])


@pytest.mark.parametrize("dtype, master", [(torch.float32, torch.bfloat16), (torch.float64, torch.float32), (torch.bfloat16, torch.float16)])
def test_masters_with_fewer_digits_than_their_parameters_are_refused(dtype, master):
    with pytest.raises(ht.Refusal, match=f"w is {dtype}, and master_dtype {master} has fewer digits; leave it out, or give torch.float64"):
        ht.HyperTransfer([("w", nn.Parameter(torch.ones(3, 4, dtype=dtype)))], lr=0.1, master_dtype=master)
    with pytest.raises(ht.Refusal, match="parameter 0 of its group is .* has fewer digits"):
        ht.wrap(torch.optim.SGD([nn.Parameter(torch.ones(3, 4, dtype=dtype))], lr=0.1), master_dtype=master)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("direction", ["adam", "muon", "soap"])
def test_the_state_of_another_parameter_is_not_loaded(named, direction):
    params = [("a", nn.Parameter(torch.ones(4, 4))), ("b", nn.Parameter(torch.eye(4))), ("c", nn.Parameter(torch.ones(4, 3)))]
    made = lambda order: ht.HyperTransfer(  # noqa: E731
        [params[i] if named else params[i][1] for i in order], lr=0.1, direction=direction, view="rows:2")
    saved = made((0, 1, 2))
    for _, p in params:
        p.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(1))
    saved.step()
    state = copy.deepcopy(saved.state_dict())
    if named:
        with pytest.raises(ht.Refusal, match="parameter 0 of group 0 was saved as a but is b; give the parameters in the order"):
            made((1, 0, 2)).load_state_dict(state)
    else:
        with pytest.raises(ht.Refusal, match=r"parameter 1 of group 0 has the shape \(4, 3\) but was saved with .* in the order"):
            made((0, 2, 1)).load_state_dict(state)
    again = made((0, 1, 2))
    again.load_state_dict(state)
    assert "param_names" not in again.param_groups[0] and same(again.state_dict(), state)
    renamed = ht.HyperTransfer([(f"module.{name}", p) for name, p in params], lr=0.1, direction=direction, view="rows:2")
    renamed.load_state_dict(state)  # saved without DDP, continued with it
    assert same(renamed.state_dict()["state"], state["state"])


def test_what_a_function_remembers_is_loaded_as_it_was():
    w = nn.Parameter(torch.ones(3, 3, dtype=torch.bfloat16))

    def own(g, memory, group):
        return memory.setdefault("mean", torch.zeros(3, 3)).mul_(0.9).add_(g.float(), alpha=0.1).clone()

    first, second = (ht.HyperTransfer([w], lr=0.1, direction=own) for _ in range(2))
    w.grad = torch.full_like(w, 0.3)
    first.step()
    second.load_state_dict(first.state_dict())
    before, after = (o.state[w]["own"][0]["mean"] for o in (first, second))
    assert after.dtype == torch.float32 and torch.equal(before, after) and before is not after


def test_clipping_of_half_precision_is_not_rounded_away():
    w = nn.Parameter(torch.ones(3, 3).half())
    optimizer = ht.HyperTransfer([("w", w)], lr=0.1, direction="sgd", clip_norm=1e-9)
    w.grad = torch.full_like(w, 0.25)
    optimizer.step()
    assert optimizer.readings["w"].u == pytest.approx(1e-9, rel=1e-5)


def test_plain_muon_replays_muonh_by_rate_and_decay():
    """`ht schedule --series replay`: plain Muon, written out, with the rates and decays of each step of MuonH."""
    ball, plain = Small(**options("hyperball")), Small(**options("base"))
    for t in range(8):
        ball.step(t)
        taken = ball.optimizer.taken["w"]
        rate, decay = taken.push, (1 - taken.keep) / taken.push
        plain.loss(t)
        with torch.no_grad():
            m = plain.w.grad.clone() if t == 0 else 0.95 * m + 0.05 * plain.w.grad  # noqa: F821
            plain.w.mul_(1 - rate * decay).sub_(rate * ht.newton_schulz(m))
        assert torch.allclose(plain.w, ball.w, rtol=1e-12, atol=1e-14)


# ------------------------------------------------------------------------------------------- a step that is refused


@pytest.mark.parametrize("mode", ht.MODES)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_changes_nothing(mode, bad):
    for direction in ht.DIRECTIONS:
        run, clean = Small(direction=direction, **options(mode)), Small(direction=direction, **options(mode))
        for t in range(2):
            run.step(t), clean.step(t)
        before, state = run.snapshot()
        run.loss(2)
        run.w.grad[1, 2] = bad
        with pytest.raises(ht.Diverged, match="w of shape .* has a gradient that is not finite.*nothing has changed"):
            run.optimizer.step()
        assert torch.equal(run.w, before) and same(run.optimizer.state_dict(), state)
        for t in range(2, 4):
            run.step(t), clean.step(t)
        assert torch.equal(run.w, clean.w)


@pytest.mark.parametrize("direction", ["adam", "soap", "muon", "wrapped"])
def test_a_gradient_whose_square_is_infinite_is_refused_and_a_clipped_one_is_not(direction):
    """Adam's mean square would be infinite, its direction zero for ever, and nobody would say so."""
    def made(**more):
        run = Small(torch.float32, **({} if direction == "wrapped" else dict(direction=direction)), **options("base"), **more)
        if direction == "wrapped":
            run.optimizer = ht.wrap(torch.optim.AdamW([run.w], lr=0.05), mode="base", **more)
        run.step(0)
        run.loss(1)
        run.w.grad *= 1e21
        return run

    run, clipped = made(), made(clip_norm=1.0)
    before, state = run.snapshot()
    with pytest.raises(ht.Diverged, match=r"of shape \(5, 7\) has a gradient of norm \d\.\d+e\+2\d, whose square float32 cannot hold"):
        run.optimizer.step()
    assert torch.equal(run.w, before) and same(run.optimizer.state_dict(), state)
    clipped.optimizer.step()
    assert next(iter(clipped.optimizer.taken.values())).effective > 1e-3


CHANGES = [("mode", "hyperball"), ("gradient", "at-radius"), ("view", "rows:5"), ("master_dtype", None)]


@pytest.mark.parametrize("option, other, wrapped", [
    ("direction", "adam", False), *((*change, wrapped) for change in CHANGES for wrapped in (False, True))])
def test_what_the_state_is_made_for_cannot_be_changed_after_the_first_step(option, other, wrapped):
    given = dict(mode="hypertransfer-plus", master_dtype=torch.float64)
    run = Small(torch.float32, lr=0.05, **given)
    if wrapped:
        run.optimizer = ht.wrap(torch.optim.AdamW([run.w], lr=0.05), **given)
    kept = run.optimizer.param_groups[0].get(option)
    run.step(0)
    run.optimizer.load_state_dict(copy.deepcopy(run.optimizer.state_dict()))
    group = run.optimizer.param_groups[0]
    before, state = run.snapshot()
    run.loss(1)
    group[option] = other
    with pytest.raises(ht.Refusal, match=f"has taken steps with {option} .*, and its group has .* set {option} back, or make a new opt"):
        run.optimizer.step()
    group[option] = kept
    assert torch.equal(run.w, before) and same(run.optimizer.state_dict(), state)
    run.optimizer.step()
    assert not torch.equal(run.w, before)


def test_a_refused_first_step_leaves_no_state():
    run = Small(**options("hyperball"))
    run.w.grad = torch.full_like(run.w, float("nan"))
    with pytest.raises(ht.Diverged):
        run.optimizer.step()
    assert not any(run.optimizer.state.values())


@pytest.mark.parametrize("option, value, message", [
    ("momentum", 1.5, "momentum is 1.5"), ("nesterov", "yes", "nesterov is 'yes'"), ("shape_factor", "talk", "did you mean 'tall'"),
    ("ns_steps", -1, "ns_steps is -1"), ("maximize", 1, "maximize is 1"), ("weight_decay", 0.1, "keeps norms fixed without weight decay"),
    ("target_weight_decay", 0.1, "only mode 'decay-transfer'")])
def test_an_option_set_later_is_checked_as_one_given_first(option, value, message):
    run = Small(**options("hyperball"))
    run.step(0)
    before, state = run.snapshot()
    run.loss(1)
    kept = run.optimizer.param_groups[0][option]
    run.optimizer.param_groups[0][option] = value
    with pytest.raises(ht.Refusal, match=message):
        run.optimizer.step()
    run.optimizer.param_groups[0][option] = kept
    assert torch.equal(run.w, before) and same(run.optimizer.state_dict(), state)


@pytest.mark.parametrize("lr, message", [(-1.0, "learning rate is -1.0"), (20.0, "is 1 or more"), (float("nan"), "rate is nan")])
def test_a_rate_set_later_is_checked_before_anything_changes(lr, message):
    run = Small(**options("base"))
    run.step(0)
    before, state = run.snapshot()
    run.loss(1)
    run.optimizer.param_groups[0]["lr"] = lr
    with pytest.raises(ht.Refusal, match=message):
        run.optimizer.step()
    run.optimizer.param_groups[0]["lr"] = 0.05
    assert torch.equal(run.w, before) and same(run.optimizer.state_dict(), state)


def test_weights_that_are_not_finite_are_named():
    run = Small(**options("base"))
    run.loss(0)
    with torch.no_grad():
        run.w[0, 0] = float("nan")
    with pytest.raises(ht.Diverged, match=r"w of shape \(5, 7\)"):
        run.optimizer.step()
    assert "momentum_buffer" not in run.optimizer.state[run.w]


def test_nothing_scales_twice():
    """A step without a gradient, then one with: the parameter is scaled once per step."""
    run = Small(**options("hypertransfer-plus"))
    for t in range(3):
        run.step(t)
    before = run.w.detach().clone()
    run.w.grad = None
    run.optimizer.step()
    assert torch.equal(run.w, before)
    g = torch.ones_like(run.w)
    run.w.grad = g
    run.optimizer.step()
    assert torch.equal(g, torch.ones_like(g)), "the user's gradient stays as it is"


# ------------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize("given, message", [
    (dict(weight_decy=0.1), "unknown option 'weight_decy'; did you mean 'weight_decay'?"),
    (dict(learning_rate=0.1), "unknown option 'learning_rate'; known are lr"),
    (dict(decay=0.3), "unknown option 'decay'; known are lr, weight_decay"),
    (dict(nesterof=True), "did you mean 'nesterov'?"),
    (dict(mode="hyper-ball"), "unknown mode 'hyper-ball'; did you mean 'hyperball'?"),
    (dict(mode="HyperTransfer+"), "did you mean 'hypertransfer-plus'?"),
    (dict(mode=3), "unknown mode 3"),
    (dict(direction="muonn"), "did you mean 'muon'?"),
    (dict(direction="shampoo"), "unknown direction 'shampoo'; known are muon, adam"),
    (dict(gradient="rescale"), "did you mean 'rescaled'?"),
    (dict(shape_factor="rm"), "did you mean 'rms'?"),
    (dict(coefficients="jordon"), "did you mean 'jordan'?"),
    (dict(lr=-0.1), "lr is -0.1; it must be a finite number, zero or more"),
    (dict(lr="0.1"), "lr is '0.1'"),
    (dict(lr=float("nan")), "lr is nan"),
    (dict(lr=True), "lr is True"),
    (dict(weight_decay=-1), "weight_decay is -1"),
    (dict(weight_decay="x"), "weight_decay is 'x'"),
    (dict(momentum=1.0), "momentum is 1.0; it must be a number from 0 to less than 1"),
    (dict(momentum="0.9"), "momentum is '0.9'"),
    (dict(direction="adam", betas=0.9), "betas is 0.9; it must be two numbers"),
    (dict(direction="adam", betas=(0.9, 1.0)), "a number of betas is 1.0"),
    (dict(direction="adam", eps=-1e-8), "eps is -1e-08"),
    (dict(ns_dtype="bf16"), "ns_dtype is 'bf16'; it must be a floating-point dtype"),
    (dict(ns_steps=-1), "ns_steps is -1"),
    (dict(nesterov=1), "nesterov is 1; it must be True or False"),
    (dict(maximize="yes"), "maximize is 'yes'"),
    (dict(zero_radius=-1.0), "zero_radius is -1.0"),
    (dict(view="row:3"), "view is 'row:3'; it must be whole, rows:3"),
    (dict(view="rows:2"), r"v has the shape (5, 7), which the view blocks:2x1 does not divide"),
    (dict(flatten=2), "flatten is 2"),
    (dict(fused=True), "option 'fused' of torch's own optimizers"),
    (dict(mode="hyperball", weight_decay=0.1), "mode 'hyperball' keeps norms fixed without weight decay"),
    (dict(target_weight_decay=0.1), "only mode 'decay-transfer' has two"),
    (dict(mode="decay-transfer"), "give target_weight_decay"),
    (dict(policy="floor"), "policy is 'floor'; it must be some of floor:NUMBER (zero or more), brake:NUMBER (from 0 to 1) and pinned"),
    (dict(policy="brake:1.5"), "policy is 'brake:1.5'"),
    (dict(policy="floor:-1+pinned"), "policy is 'floor:-1+pinned'"),
    (dict(policy="pinned:1"), "policy is 'pinned:1'"),
    (dict(policy=0.4), "policy is 0.4"),
    (dict(policy="pinned", mode="hyperball"), "policy is 'pinned', and mode 'hyperball' has no Base space"),
    (dict(betas=(0.9, 0.95)), "option 'betas' is not one of direction muon; it takes momentum"),
])
def test_wrong_options_get_one_sentence_and_the_group_is_not_kept(given, message):
    run = Small(lr=0.1)
    w = nn.Parameter(torch.ones(5, 7))
    with pytest.raises(ht.Refusal) as refusal:
        run.optimizer.add_param_group({"params": [("v", w)], "lr": 0.1, **given})
    assert message in str(refusal.value)
    assert len(run.optimizer.param_groups) == 1
    with pytest.raises(ht.Refusal):
        ht.HyperTransfer([("w", w)], **{"lr": 0.1, **given})


@pytest.mark.parametrize("shape, fix", [
    ((3,), "give it to adamw"), ((3, 4, 5), "view='stack'"), ((8, 3, 2, 2), "flatten=True"), ((0, 4), "needs matrices: leave it out")])
def test_shapes_that_are_no_matrices(shape, fix):
    for direction in MATRICES:
        with pytest.raises(ht.Refusal) as refusal:
            ht.HyperTransfer([nn.Parameter(torch.ones(shape))], lr=0.1, direction=direction)
        assert "needs matrices" in str(refusal.value) and fix in str(refusal.value)


def test_the_bias_beside_a_convolution_is_left_to_adamw():
    with pytest.raises(ht.Refusal, match=r"bias has the shape \(8,\), which the view flat.* does not divide; give it to adamw"):
        ht.HyperTransfer([ht.muon(nn.Conv1d(4, 8, 3).named_parameters(), lr=0.1, flatten=True)])


def test_no_rate_is_refused():
    with pytest.raises(ht.Refusal, match="a group has no lr"):
        ht.HyperTransfer([nn.Parameter(torch.ones(2, 2))])


def test_sparse_and_complex_gradients_are_refused():
    w = nn.Parameter(torch.ones(3, 3))
    optimizer = ht.HyperTransfer([w], lr=0.1)
    w.grad = torch.ones(3, 3).to_sparse()
    with pytest.raises(ht.Refusal, match="sparse gradient"):
        optimizer.step()


def test_zero_matrices_have_the_option_that_the_sentence_names():
    zero = nn.Parameter(torch.zeros(3, 4))
    zero.grad = torch.ones(3, 4)
    with pytest.raises(ht.Refusal, match=r"parameter 0 of shape \(3, 4\), .*zero_radius"):
        ht.HyperTransfer([ht.muonh([zero], lr=0.1)]).step()
    for mode in ht.MODES:
        w = nn.Parameter(torch.zeros(3, 4))
        optimizer = ht.HyperTransfer([w], zero_radius=2.0, **options(mode))
        for t in range(4):
            w.grad = torch.randn(3, 4, generator=torch.Generator().manual_seed(t))
            optimizer.step()
        assert torch.isfinite(w).all() and w.norm() > 0
        if mode == "hyperball":
            assert w.norm().item() == pytest.approx(2.0, rel=1e-6)


# --------------------------------------------------------------------------------------------- as a torch optimizer


def test_closures_schedulers_and_named_parameters():
    run = Small(**options("hyperball"))
    scheduler = torch.optim.lr_scheduler.LambdaLR(run.optimizer, lambda t: 1 / (t + 1))
    for t in range(3):
        loss = run.optimizer.step(lambda: run.loss(t))
        assert loss.requires_grad
        assert run.optimizer.taken["w"].effective == pytest.approx(0.05 / (t + 1))
        scheduler.step()


def test_a_scheduler_cycles_momentum_where_all_groups_have_one():
    w, more = nn.Parameter(torch.eye(3)), [nn.Parameter(torch.eye(3)) for _ in range(2)]
    cycle = lambda o, **more: torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=4, pct_start=0.5, **more)  # noqa: E731
    for optimizer, name in ((ht.HyperTransfer([w], lr=0.1), "momentum"), (ht.HyperTransfer([w], lr=0.1, direction="adam"), "betas"),
                            (ht.wrap(torch.optim.AdamW([w])), "betas")):
        optimizer.add_param_group({"params": more[:1]})
        scheduler, seen = cycle(optimizer, base_momentum=0.5, max_momentum=0.75), []
        for _ in range(3):
            w.grad = torch.eye(3)
            optimizer.step()
            seen.append([group[name] if name == "momentum" else group[name][0] for group in optimizer.param_groups])
            scheduler.step()
        assert seen[0] == [0.75, 0.75] and min(seen) == [0.5, 0.5]
    mixed = ht.HyperTransfer([w], lr=0.1)
    mixed.add_param_group(ht.adamw(more, lr=0.1))
    assert "momentum" not in mixed.param_groups[1] and "betas" not in mixed.param_groups[0]
    with pytest.raises(ValueError, match="cycle_momentum"):  # torch's own: it knows one of both words
        cycle(mixed)
    cycle(mixed, cycle_momentum=False)


def test_a_direction_that_is_an_object_is_known_by_its_class():
    class Own:
        def __call__(self, g, memory, group):
            return g

    run = Small(lr=0.1, direction=Own())
    run.step(0)
    twin = copy.deepcopy(run.optimizer)
    twin.param_groups[0]["params"][0].grad = run.w.grad.clone()
    twin.step()
    again = Small(lr=0.1, direction=Own())
    again.optimizer.load_state_dict(run.optimizer.state_dict())
    assert again.optimizer.state[again.w]["step"] == 1


def test_a_rate_may_be_a_tensor():
    run = Small(**options("base"))
    run.optimizer.param_groups[0]["lr"] = torch.tensor(0.05, dtype=torch.float64)
    other = Small(**options("base"))
    assert run.step(0) == other.step(0) and torch.equal(run.w, other.w)


def test_maximize_is_the_negative_gradient():
    for direction in ht.DIRECTIONS:
        up, down = Small(direction=direction, maximize=True, lr=0.05), Small(direction=direction, lr=0.05)
        for t in range(3):
            up.loss(t)
            down.w.grad = -up.w.grad
            up.optimizer.step(), down.optimizer.step()
            assert torch.allclose(up.w, down.w, atol=1e-14)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies_keep_clipping_names_and_the_wrapped_optimizer(copied):
    run = Small(clip_norm=1e-3, direction="sgd", **options("hyperball"))
    wrapped = ht.wrap(torch.optim.AdamW([run.w], lr=0.01), view="rows:5")
    run.loss(0)
    for optimizer in (run.optimizer, wrapped):
        twin = copied(optimizer)
        w = twin.param_groups[0]["params"][0]
        before = run.w.detach().clone()
        for t in range(2):
            run.loss(t), optimizer.step()
            w.grad = run.w.grad.clone()
            twin.step()
            assert torch.equal(w, run.w) and not torch.equal(w, before) and twin.taken == optimizer.taken
    assert list(run.optimizer.taken) == ["w"] and twin.inner.param_groups[0] is twin.param_groups[0]
    twin.add_param_group({"params": [nn.Parameter(torch.ones(5, 2))]})
    assert twin.param_groups[1]["view"] == "rows:5"


def test_what_is_no_parameter_is_named():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
    for params, name in ((model, "Sequential"), (nn.Linear(2, 2), "Linear"), (ht.split(model), "list"), ([("w", 3)], "int"), (["w"], "str")):
        with pytest.raises(ht.Refusal, match=f"{name} is not a parameter; give parameters, model.named_parameters"):
            ht.HyperTransfer(params, lr=0.1)
    with pytest.raises(ht.Refusal, match="Linear is not a parameter"):
        ht.HyperTransfer([ht.muon(nn.Linear(2, 2), lr=0.1)])


def test_one_group_alone_and_a_set():
    w = nn.Parameter(torch.ones(2, 2))
    assert ht.HyperTransfer(ht.muonh([w], lr=0.1)).param_groups[0]["mode"] == "hyperball"
    assert ht.muonh([w], lr=0.1, mode="hyperball") == ht.muonh([w], lr=0.1)
    assert ht.adamh([w], lr=0.1, mode="inverse-hypertransfer")["mode"] == "inverse-hypertransfer"
    for params in ({w}, [{"params": {w}}]):
        with pytest.raises(ht.Refusal, match="the parameters are a set, whose order .* give a list"):
            ht.HyperTransfer(params, lr=0.1)


def test_pickle_and_deepcopy():
    run = Small(**options("hypertransfer-plus"))
    run.step(0)
    twin = pickle.loads(pickle.dumps(run.optimizer))
    w = twin.param_groups[0]["params"][0]
    w.grad = run.w.grad.clone()
    twin.step()
    run.optimizer.step()
    assert torch.equal(w, run.w)


def test_grad_scaler_skips_what_is_infinite():
    """The scaler's own loop: scale, unscale, look for infinities, step or not."""
    run = Small(torch.float32, **options("hypertransfer-plus"))
    scaler = torch.amp.GradScaler("cpu") if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler(enabled=False)
    run.optimizer.zero_grad()
    scaler.scale((run.w @ run.data[0]).tanh().sum()).backward()
    scaler.unscale_(run.optimizer)
    scaler.step(run.optimizer)
    scaler.update()
    assert run.optimizer.state[run.w]["step"] == 1


def test_split_finds_the_hidden_matrices():
    class Net(nn.Module):
        def __init__(self, tied):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(11, 8), nn.Parameter(torch.ones(4, 8))
            self.block = nn.ModuleDict(dict(qkv=nn.Linear(8, 24), norm=nn.LayerNorm(8), conv=nn.Conv1d(8, 8, 3)))
            self.multihead = nn.Linear(8, 8, bias=False)
            self.lm_head = nn.Linear(8, 11, bias=False)
            if tied:
                self.lm_head.weight = self.wte.weight

    for tied in (False, True):
        model = Net(tied)
        hidden, rest = ht.split(model)
        assert [name for name, _ in hidden] == ["block.qkv.weight", "multihead.weight"]
        assert len(hidden) + len(rest) == len(list(model.parameters()))
    for last in (2, 4):
        hidden, _ = ht.split(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, last)))
        assert [name for name, _ in hidden] == ["0.weight"]
    hidden, _ = ht.split(nn.Linear(4, 4))
    assert [name for name, _ in hidden] == ["weight"]


def test_split_takes_no_blocks_matrix_for_the_head_and_no_head_for_a_hidden_matrix():
    class Net(nn.Module):
        def __init__(self, head=None):
            super().__init__()
            self.wte = nn.Embedding(11, 8)
            self.blocks = nn.ModuleList(
                nn.ModuleDict(dict(attn=nn.ModuleDict(dict(qkv=nn.Linear(8, 24), output=nn.Linear(8, 8))), down=nn.Linear(32, 8)))
                for _ in range(2))
            if head:
                setattr(self, head, nn.Linear(8, 11))

    blocks = [f"blocks.{k}.{name}.weight" for k in range(2) for name in ("attn.qkv", "attn.output", "down")]
    for head in ("output", "decoder", None):  # None: logits = x @ wte.weight.T
        assert [name for name, _ in ht.split(Net(head))[0]] == blocks, head
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    assert len(ht.split(encoder)[0]) == 2 * 4
    assert not ht.split(nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 11)))[0], "only a head"
    assert not ht.split(nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8, 10)))[0]


def test_split_takes_no_table_of_biases_for_a_matrix():
    """An orthogonalised bias is no bias."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 9))
    model[0].register_parameter("relative_position_bias_table", nn.Parameter(torch.zeros(5, 4)))
    experts = nn.Module()
    for name in ("bias", "up_proj_bias"):
        experts.register_parameter(name, nn.Parameter(torch.zeros(3, 4)))
    model.add_module("experts", experts)
    hidden, rest = ht.split(model)
    assert [name for name, _ in hidden] == ["0.weight", "1.weight"], "the last matrix is the head"
    assert {"0.relative_position_bias_table", "experts.bias", "experts.up_proj_bias"} < {name for name, _ in rest}


def test_split_takes_no_row_or_column_for_a_matrix():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1))
    model.register_parameter("gain", nn.Parameter(torch.ones(1, 4)))
    model.lm_head = nn.Linear(4, 9)
    assert [name for name, _ in ht.split(model)[0]] == ["0.weight", "1.weight"]
    assert [name for name, _ in ht.split(model[:3])[0]] == ["0.weight", "1.weight"], "the last is the head"
    for part in (model, model[:3]):
        list(part.children())[-1].requires_grad_(False)
        hidden, rest = ht.split(part)
        assert [name for name, _ in hidden] == ["0.weight", "1.weight"], "a frozen head is the head"
        assert all(p.requires_grad for _, p in rest)


def test_clipping_is_one_of_all_groups_as_the_target_sees_them():
    for mode in ("base", "hypertransfer"):
        a, b = Small(direction="sgd", clip_norm=0.5, **options(mode)), Small(direction="sgd", **options(mode))
        for t in range(4):
            a.loss(t)
            b.w.grad = a.w.grad.clone()
            scale = b.optimizer._rule(b.optimizer.param_groups[0]).gradient_scale(
                (b.optimizer._states(b.w) or [ht.State.start(1.0)])[0])
            b.w.grad.mul_(min(1.0, 0.5 / (scale * b.w.grad.norm().item())))
            a.optimizer.step(), b.optimizer.step()
        assert torch.allclose(a.w, b.w, atol=1e-13)
