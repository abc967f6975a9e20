"""Views, directions of one's own, wrapped optimizers, and Newton-Schulz in batches."""

import copy

import pytest
import torch
from torch import nn

import hypertransfer as ht
from hypertransfer.directions import coefficients, orthogonalize
from hypertransfer.views import View


def randn(*shape, seed=1, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def test_newton_schulz_in_batches_is_one_by_one():
    matrices = [randn(4, 9, seed=1), randn(9, 4, seed=2), randn(4, 9, seed=3), randn(6, 6, seed=4), torch.zeros(4, 9).double()]
    options = dict(coefficients="convergent", ns_steps=30, ns_dtype=None)
    for x, u in zip(matrices, orthogonalize(matrices, options)):
        assert torch.allclose(u, ht.newton_schulz(x, coefficients("convergent", 30)), atol=1e-12)
        if x.norm() > 0:
            s = torch.linalg.svd(x, full_matrices=False)
            assert torch.allclose(u, s[0] @ s[2], atol=1e-6)
    assert torch.equal(orthogonalize([torch.zeros(3, 3)], options)[0], torch.zeros(3, 3))


def test_newton_schulz_keeps_nan_and_takes_any_size():
    x = randn(3, 5)
    x[0, 0] = float("nan")
    assert torch.isnan(ht.newton_schulz(x)).any()
    for factor in (1e-200, 1e200):
        assert torch.allclose(ht.newton_schulz(randn(3, 5) * factor), ht.newton_schulz(randn(3, 5)), atol=1e-12)
    assert ht.newton_schulz(randn(3, 5, dtype=torch.float32), dtype=torch.bfloat16).dtype == torch.float32


def test_coefficient_sets_end_near_one():
    for name in ht.COEFFICIENTS:
        values = torch.linalg.svdvals(ht.newton_schulz(randn(8, 16), coefficients(name)))
        assert 0.6 < values.min() and values.max() < 1.3
    assert len(coefficients("polar-express", 12)) == 12


@pytest.mark.parametrize("view, shape, pieces", [
    ("rows:3", (12, 5), lambda w: list(w.view(3, 4, 5))),
    ("columns:2", (5, 12), lambda w: [w[:, :6], w[:, 6:]]),
    ("blocks:2x3", (4, 6), lambda w: [w[i:i + 2, j:j + 2] for i in (0, 2) for j in (0, 2, 4)]),
    ("stack", (3, 4, 5), lambda w: list(w)),
    ("stack:2x1", (3, 4, 5), lambda w: [x[i:i + 2] for x in w for i in (0, 2)]),
    ("flat", (6, 3, 2, 2), lambda w: [w.reshape(6, 12)]),
    ("flat:2", (6, 3, 2, 2), lambda w: list(w.reshape(2, 3, 12)))])
@pytest.mark.parametrize("mode", ["base", "hyperball", "hypertransfer", "hypertransfer-plus"])
@pytest.mark.parametrize("direction", ["muon", "normuon", "adam"])
def test_a_part_is_a_parameter_of_its_own(view, shape, pieces, mode, direction):
    whole = nn.Parameter(randn(*shape))
    if view.startswith("flat"):  # another order in memory
        whole = nn.Parameter(whole.detach().to(memory_format=torch.channels_last))
    parts = [nn.Parameter(x.detach().clone()) for x in pieces(whole)]
    options = dict(lr=0.05, mode=mode, direction=direction)
    a, b = ht.HyperTransfer([whole], view=view, **options), ht.HyperTransfer(parts, **options)
    for t in range(4):
        whole.grad = randn(*shape, seed=10 + t)
        for p, g in zip(parts, pieces(whole.grad)):
            p.grad = g.clone()
        a.step(), b.step()
        for p, x in zip(parts, pieces(whole)):
            assert torch.allclose(x, p, atol=1e-13)
    assert len(a.taken) == len(parts)
    saved = a.state_dict()
    again = ht.HyperTransfer([whole], view=view, **options)
    again.load_state_dict(saved)
    again.step(), b.step()
    for p, x in zip(parts, pieces(whole)):
        assert torch.allclose(x, p, atol=1e-13)


def test_views_say_what_they_are():
    assert View.parse("whole").plain and View.parse("rows:4") == View("whole", 4, 1) == View.parse("blocks:4x1")
    for wrong in ("rows", "blocks:2", "rows:0", "whole:2", "flat:2x2", "", None):
        with pytest.raises(ht.Refusal, match="view is"):
            View.parse(wrong)


def test_a_direction_of_ones_own():
    """A function with a memory, saved with everything else."""

    def momentum(g, memory, group):
        m = memory["m"] = g.clone() if memory["step"] == 0 else 0.95 * memory["m"] + 0.05 * g
        return m

    for mode in ("base", "hyperball", "hypertransfer-plus"):
        ws = [nn.Parameter(randn(4, 3)) for _ in range(2)]
        own, built_in = (ht.HyperTransfer([w], lr=0.1, mode=mode, direction=d) for w, d in zip(ws, (momentum, "sgd")))
        for t in range(6):
            if t == 3:
                saved = own.state_dict()
                assert saved["param_groups"][0]["direction"] == "momentum"
                own = ht.HyperTransfer([ws[0]], lr=0.1, mode=mode, direction=momentum)
                own.load_state_dict(saved)
            for w in ws:
                w.grad = randn(4, 3, seed=t)
            own.step(), built_in.step()
            assert torch.allclose(ws[0], ws[1], atol=1e-14)


def test_a_direction_of_another_shape_is_refused_before_anything_moves():
    w = nn.Parameter(randn(4, 3))
    before = w.detach().clone()
    w.grad = randn(4, 3, seed=2)
    for wrong in (lambda g, m, group: g[:1], lambda g, m, group: 3.0, lambda g, m, group: g * float("nan")):
        with pytest.raises(ht.Refusal, match="has the shape of its gradient|diverged"):
            ht.HyperTransfer([w], lr=0.1, direction=wrong).step()
        assert torch.equal(w, before)
    with pytest.raises(ht.Refusal, match="a function has its own settings"):
        ht.HyperTransfer([w], lr=0.1, direction=wrong, momentum=0.9)


# --------------------------------------------------------------------------------------------------- any optimizer


INNER = {
    "adamw": lambda w: torch.optim.AdamW(w, lr=0.05, weight_decay=0.1, betas=(0.9, 0.95), eps=1e-10),
    "sgd": lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9),
    "rmsprop": lambda w: torch.optim.RMSprop(w, lr=0.05),
}


@pytest.mark.parametrize("name", INNER)
def test_a_wrapped_optimizer_in_its_own_space_is_itself(name):
    for mode in ("base", "hypertransfer-plus"):
        a, b = nn.Parameter(randn(4, 6)), nn.Parameter(randn(4, 6))
        wrapped, alone = ht.HyperTransfer.wrap(INNER[name]([a]), mode=mode), INNER[name]([b])
        scheduler = torch.optim.lr_scheduler.LambdaLR(wrapped, lambda t: t / 3)  # from zero, a rate that moves nothing
        other = torch.optim.lr_scheduler.LambdaLR(alone, lambda t: t / 3)
        for t in range(6):
            a.grad, b.grad = randn(4, 6, seed=t), randn(4, 6, seed=t)
            wrapped.step(), alone.step()
            scheduler.step(), other.step()
            assert torch.allclose(a, b, atol=1e-12), t
        assert wrapped.param_groups is not None and wrapped.param_groups[0] is wrapped.inner.param_groups[0]


@pytest.mark.parametrize("mode, policy", [*((mode, None) for mode in ht.MODES), ("hypertransfer-plus", "floor:9+brake:0.5+pinned")])
def test_a_wrapped_adamw_is_our_adam_in_every_mode(mode, policy):
    more = dict(target_weight_decay=0.4) if mode == "decay-transfer" else dict(policy=policy)
    a, b = nn.Parameter(randn(4, 6)), nn.Parameter(randn(4, 6))
    decay = {} if mode == "hyperball" else dict(weight_decay=0.1)
    ours = ht.HyperTransfer([b], lr=0.05, mode=mode, direction="adam", **decay, **more)
    wrapped = ht.wrap(INNER["adamw"]([a]), mode=mode, **more)
    for t in range(8):
        if t == 4:  # saved and loaded
            saved = wrapped.state_dict()
            wrapped = ht.wrap(INNER["adamw"]([a]), mode=mode, **more)
            wrapped.load_state_dict(saved)
            other = nn.Parameter(randn(4, 6))
            wrapped.add_param_group({"params": [other]})
            assert wrapped.param_groups[1] is wrapped.inner.param_groups[1] and len(wrapped.param_groups) == 2
        g = randn(4, 6, seed=t)
        a.grad, b.grad = g, g.clone()
        wrapped.step(), ours.step()
        assert torch.equal(g, randn(4, 6, seed=t)), "the user's gradient stays as it is"
        assert torch.allclose(a, b, rtol=1e-10, atol=1e-12)
        assert wrapped.param_groups[0]["weight_decay"] == 0.1 and wrapped.param_groups[0]["lr"] == 0.05


def test_a_wrapped_optimizer_keeps_its_state_where_a_gradient_is_not_finite():
    w = nn.Parameter(randn(4, 6))
    wrapped = ht.wrap(INNER["adamw"]([w]))
    w.grad = randn(4, 6, seed=1)
    wrapped.step()
    before, moments = w.detach().clone(), wrapped.inner.state[w]["exp_avg"].clone()
    w.grad = torch.full((4, 6), float("nan")).double()
    with pytest.raises(ht.Diverged):
        wrapped.step()
    assert torch.equal(w, before) and torch.equal(moments, wrapped.inner.state[w]["exp_avg"])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_wrapped_optimizer_of_parameters_with_few_digits_keeps_its_direction(dtype):
    """A change of 1e-4 is less than bfloat16 shows: what AdamW would do must be read elsewhere."""
    a, b = nn.Parameter(randn(8, 6).to(dtype)), nn.Parameter(randn(8, 6).to(dtype))
    make = lambda: ht.wrap(torch.optim.AdamW([a], lr=1e-4, betas=(0.9, 0.95), eps=1e-10), master_dtype=torch.float32)  # noqa: E731
    wrapped, ours = make(), ht.HyperTransfer([ht.adamh([b], lr=1e-4, master_dtype=torch.float32)])
    for t in range(6):
        if t == 3:
            saved, wrapped = wrapped.state_dict(), make()
            wrapped.load_state_dict(saved)
        g = randn(8, 6, seed=t).to(dtype)
        a.grad, b.grad = g, g.clone()
        wrapped.step(), ours.step()
        assert a.grad is g and a.dtype == dtype
        assert torch.allclose(wrapped.carrier(a), ours.carrier(b), rtol=0, atol=1e-6)
        assert wrapped.readings["parameter 0"].u == pytest.approx(ours.readings["parameter 0"].u, rel=1e-3)


def test_a_wrapped_optimizer_is_read_with_its_masters_digits():
    """Float32 shows 1e-4 of the direction at this rate; where masters are float64, so is what the optimizer computes."""
    errors = []
    for master in (None, torch.float64):
        a, b = nn.Parameter(randn(8, 6).float()), nn.Parameter(randn(8, 6).float().double())
        make = lambda: ht.wrap(torch.optim.AdamW([a], lr=1e-4, betas=(0.9, 0.95), eps=1e-10), master_dtype=master)  # noqa: E731
        wrapped, ours = make(), ht.HyperTransfer([ht.adamh([b], lr=1e-4)])
        for t in range(6):
            if t == 3:
                saved, wrapped = wrapped.state_dict(), make()
                wrapped.load_state_dict(saved)
            g = randn(8, 6, seed=t).float()
            a.grad, b.grad = g, g.double()
            wrapped.step(), ours.step()
            assert a.grad is g and a.dtype == torch.float32
        errors.append(abs(wrapped.readings["parameter 0"].u / ours.readings["parameter 0"].u - 1))
    assert errors[1] < 1e-11 < 1e-7 < errors[0] < 1e-3


@pytest.mark.parametrize("dtype, master", [(torch.bfloat16, None), (torch.float32, torch.float64)])
def test_an_optimizer_that_has_taken_steps_is_wrapped_with_its_momenta(dtype, master):
    w = nn.Parameter(randn(4, 6).to(dtype))
    inner = torch.optim.AdamW([w], lr=1e-2)
    for t in range(2):
        w.grad = randn(4, 6, seed=t).to(dtype)
        inner.step()
    moments = inner.state[w]["exp_avg"].clone()
    wrapped = ht.wrap(inner, master_dtype=master)
    assert wrapped.param_groups[0] is inner.param_groups[0] and torch.equal(inner.state[w]["exp_avg"].to(dtype), moments)
    wrapped.step()
    assert inner.state[w]["step"] == 3 and not torch.equal(inner.state[w]["exp_avg"].to(dtype), moments)


def test_the_names_of_a_wrapped_optimizers_parameters_are_used():
    w = nn.Parameter(randn(4, 6))
    inner = INNER["adamw"]([w])
    inner.param_groups[0]["param_names"] = ["blocks.0.fc"]  # as PyTorch has it since 2.6, where it is given names
    wrapped = ht.wrap(inner)
    w.grad = randn(4, 6, seed=1)
    wrapped.step()
    assert list(wrapped.taken) == ["blocks.0.fc"] and wrapped.state_dict()["param_groups"][0]["param_names"] == ["blocks.0.fc"]
    wrapped.load_state_dict(copy.deepcopy(wrapped.state_dict()))
    wrapped.step()
    assert wrapped.name(w) == "blocks.0.fc"


def test_wrap_refuses_what_is_the_wrapped_optimizers_own():
    w = nn.Parameter(randn(4, 6))
    with pytest.raises(ht.Refusal, match="option 'momentum' belongs to the wrapped optimizer; give it to SGD"):
        ht.wrap(INNER["sgd"]([w]), momentum=0.9)
    with pytest.raises(ht.Refusal, match="unknown option 'radius'"):
        ht.wrap(INNER["sgd"]([w]), radius=2)
    inner = INNER["sgd"]([w])
    with pytest.raises(ht.Refusal, match="did you mean 'hyperball'"):
        ht.wrap(inner, mode="hyperbal", lr=5.0)
    with pytest.raises(ht.Refusal, match="lr is -1"):
        ht.wrap(inner, lr=-1)
    assert inner.param_groups[0]["lr"] == INNER["sgd"]([w]).param_groups[0]["lr"]
    with pytest.raises(ht.Refusal, match="cannot be wrapped: it has no step"):
        ht.wrap(object())
    with pytest.raises(ht.Refusal, match="LBFGS cannot be wrapped: its step needs several gradients"):
        ht.wrap(torch.optim.LBFGS([w]))
    with pytest.raises(ht.Refusal, match="HyperTransfer must not be wrapped: give its groups mode='hyperball' instead"):
        ht.wrap(ht.HyperTransfer([w], lr=0.1))
    with pytest.raises(ht.Refusal, match="clip_norm is -1"):
        ht.wrap(INNER["sgd"]([w]), clip_norm=-1)


def test_neither_optimizer_keeps_a_group_that_is_refused():
    w, b = nn.Parameter(randn(4, 6)), nn.Parameter(randn(6))
    wrapped = ht.wrap(INNER["adamw"]([w]), view="rows:2")
    with pytest.raises(ht.Refusal, match="parameter 0 of its group"):
        wrapped.add_param_group({"params": [b]})
    w.grad, b.grad, before = randn(4, 6), randn(6), b.detach().clone()
    wrapped.step()
    assert len(wrapped.param_groups) == len(wrapped.inner.param_groups) == 1 and torch.equal(b, before)


def test_a_group_of_a_wrapped_optimizer_has_options_of_its_own():
    a, b, c, d = (nn.Parameter(randn(6, 4, seed=k)) for k in range(4))
    inner = torch.optim.AdamW([{"params": [a]}, {"params": [b], "mode": "base", "flatten": True}, {"params": [c], "mode": None}])
    wrapped = ht.wrap(inner, view="rows:2")
    wrapped.add_param_group({"params": [d], "view": "columns:2"})
    options = lambda: [(group["mode"], group["view"]) for group in wrapped.param_groups]  # noqa: E731
    assert options() == [("hyperball", "rows:2"), ("base", "flat"), ("hyperball", "rows:2"), ("hyperball", "columns:2")]
    for p in (a, b, c, d):
        p.grad = randn(6, 4, seed=9)
    norms = [p.norm().item() for p in (a, b, c, d)]
    wrapped.step()
    moved = [abs(p.norm().item() / norm - 1) > 1e-9 for p, norm in zip((a, b, c, d), norms)]
    assert moved == [False, True, False, False]
    inner.load_state_dict(copy.deepcopy(inner.state_dict()))
    wrapped = ht.wrap(inner, mode="base")  # what the first wrap left in the groups are no options of their own
    assert options() == [("base", "whole"), ("base", "flat"), ("base", "whole"), ("base", "columns:2")]
    with pytest.raises(ht.Refusal, match="did you mean 'hyperball'"):
        wrapped.add_param_group({"params": [nn.Parameter(randn(4, 6))], "mode": "hyperbal"})


@pytest.mark.parametrize("name", ht.DIRECTIONS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_few_digits_are_those_of_float32_before_they_are_used(name, dtype):
    """As small as float16 can be: nothing may be multiplied before it is float32."""
    made = []
    for few in (True, False):
        w = nn.Parameter(randn(4, 6).to(dtype) if few else randn(4, 6).to(dtype).float())
        more = dict(nesterov=True) if "nesterov" in ht.DIRECTIONS[name].options else {}
        optimizer = ht.HyperTransfer([w], lr=0.1, direction=name, master_dtype=torch.float32, **more)
        for t in range(4):
            g = (randn(4, 6, seed=t) * 1e-6).to(dtype)
            w.grad = g if few else g.float()
            optimizer.step()
        made.append(optimizer.carrier(w))
    assert torch.equal(*made)


def test_wrapped_views():
    whole, parts = nn.Parameter(randn(6, 4)), [nn.Parameter(x.clone()) for x in randn(6, 4).view(2, 3, 4)]
    a, b = ht.wrap(INNER["adamw"]([whole]), view="rows:2"), ht.wrap(INNER["adamw"](parts))
    for t in range(4):
        whole.grad = randn(6, 4, seed=t)
        for p, g in zip(parts, whole.grad.view(2, 3, 4)):
            p.grad = g.clone()
        a.step(), b.step()
        assert torch.allclose(whole.view(2, 3, 4), torch.stack(list(parts)), atol=1e-13)
