"""Every optimizer of the paper as one torch optimizer, per parameter group.

    optimizer = HyperTransfer([
        muonh(hidden, lr=0.0125),                                             # or muon, adamw, adamh
        muon(others, lr=0.02, weight_decay=0.1, mode="hypertransfer-plus"),   # or any other of MODES
        adamw(rest, lr=3e-4, weight_decay=0.1)])

`lr` is read as the target reads it: a learning rate if the target is Base, an angle in radians if it is a Hyperball.

Between steps the parameters hold what the network must be evaluated at. In the + forms that is the target's
representative, a multiple of the matrix that the optimizer moves; `carrier(p)` gives the matrix itself. So training,
validation, averaging and saving need nothing special.
"""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any, Callable, Dict, Iterable, List, Optional

import torch
from torch import Tensor

from . import settings, shards, tensors
from .algebra import REPRESENTATIVE, Base, Diverged, Reading, Refusal, State, Step, Transfer
from .directions import DIRECTIONS, Item
from .parts import Part, check, named
from .views import View, part_name


# a step computes with Python's floats between two waits for the device: torch.compile of a whole loop leaves it as it is
_EAGER: Callable = getattr(getattr(torch, "compiler", None), "disable", lambda function: function)
_LARGEST_SQUARE = 1e38  # of a gradient's norm; a third of float32's largest number


class HyperTransfer(torch.optim.Optimizer):
    """Norm-fixed (Hyperball) and ordinary optimizers, and the transfers between them.

    Arguments: parameters, `named_parameters()` or groups, as for every torch optimizer. Options, for all groups or for one:

    lr                    the target's rate: a learning rate of a Base space, an angle of a Hyperball
    weight_decay          of the Base space, decoupled: a step shrinks the matrix by lr * weight_decay (0.1)
    mode                  one of MODES ("base")
    direction             one of DIRECTIONS ("muon"), or a function (gradient, memory, group) -> direction
    target_weight_decay   of the run that mode "decay-transfer" follows
    gradient              one of GRADIENT_RULES instead of the mode's own
    view, flatten         what counts as a matrix, see views.py; flatten=True is view="flat"
    policy                what is done about the norm of a Base space beside decay: "floor:0.4+brake:0.5+pinned"
    zero_radius           the norm that a parameter of zeros is taken to by its first step
    maximize              climb instead of descend
    master_dtype          keep the moved weights in this type, e.g. torch.float64, and round once
    clip_norm             for all groups together: the largest norm of all gradients, as the target sees them

    and those of the direction: momentum, nesterov, momentum_start ("gradient", or "zero" as torch has it), betas, eps,
    beta2, coefficients, ns_steps, ns_dtype, shape_factor, shampoo_beta, precondition_frequency, largest_side.

    `taken` maps each parameter's name to the Step it last took (norms, nominal and effective rate, angle, implied
    decay), `readings` to what was measured for it. The state dict holds everything for an exact continuation.
    """

    _KEPT = ("clip_norm", "_given", "_names")

    def __init__(self, params: Iterable, lr: Any = None, *, clip_norm: float = 0.0, **options: Any):
        settings.number("clip_norm", clip_norm, 0, math.inf)
        self._given = settings.known({k: v for k, v in dict(lr=lr, **options).items() if v is not None})
        self._begin()
        self.clip_norm = clip_norm
        groups = [params] if isinstance(params, (Tensor, dict, set, torch.nn.Module)) else list(params)
        if groups and not isinstance(groups[0], dict):
            groups = [dict(params=params if isinstance(params, set) else groups)]
        super().__init__(groups, dict(lr=self._given.get("lr"), weight_decay=self._given.get("weight_decay", 0.1)))
        for name in settings.OPTIONS & set(self._given):
            if all(name not in group for group in self.param_groups):
                settings.refuse(name, self.param_groups[0]["direction"])

    def _begin(self) -> None:
        self.taken: Dict[str, Step] = {}
        self.readings: Dict[str, Reading] = {}
        self._names: Dict[Tensor, str] = self.__dict__.get("_names", {})
        self.__dict__.setdefault("_given", {})
        self.__dict__.setdefault("clip_norm", 0.0)

    def __getstate__(self) -> Dict[str, Any]:
        """What a copy and a pickle hold: torch's own part, and what is not in `defaults`."""
        return {**super().__getstate__(), **{name: self.__dict__[name] for name in self._KEPT}}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        super().__setstate__(state)
        self._begin()

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """Adds a group; one that is refused is not kept."""
        if not isinstance(param_group, dict):
            raise Refusal(f"a group is {type(param_group).__name__}; it must be a dict with params, lr and other options")
        made = settings.settled(param_group, self._given)
        params = made["params"]
        made["params"], names = named(
            [params] if isinstance(params, (Tensor, torch.nn.Module)) else params, self._names.values())
        known = {**self._names, **names}
        have = {id(p) for group in self.param_groups for p in group["params"]}
        if not made["params"]:
            warnings.warn(f"a group of {settings._called(made['direction'])} has no parameters, so it trains nothing: leave it out, or"
                          " look whether its generator was read before", stacklevel=2)
        for i, p in enumerate(made["params"], len(have)):
            name = known.get(p, f"parameter {i}")
            if id(p) in have:  # torch moves one twice that is twice in a group
                raise Refusal(f"{name} of shape {tuple(p.shape)} is given twice; give it once, also where modules share it")
            have.add(id(p))
            check(name, p, made)
        own = set(made)
        super().add_param_group(made)
        for name in ("momentum", "betas"):  # schedulers look in `defaults` for what they may cycle: all groups must have it
            if name not in own:
                made.pop(name, None)
            self.defaults.pop(name, None)
            if all(name in group for group in self.param_groups):
                self.defaults[name] = made[name]
        self._names = known

    def name(self, p: Tensor) -> str:
        """The parameter's name, or `parameter 3` where the optimizer was given none."""
        if p not in self._names:
            return f"parameter {next(i for i, q in enumerate(q for g in self.param_groups for q in g['params']) if q is p)}"
        return self._names[p]

    @torch.no_grad()
    def carrier(self, p: Tensor) -> Tensor:
        """The matrix that the optimizer moves: a copy of p, which in the + forms holds a multiple of it."""
        group = next(group for group in self.param_groups if any(q is p for q in group["params"]))
        if "master" in self.state.get(p, {}):
            return self.state[p]["master"].clone()
        made, view, rule = shards.own(p.detach()).clone(), View.parse(group["view"]), self._rule(group)
        for k, s in enumerate(self._states(p)):
            view.place(made, k).div_(rule.evaluation_scale(s))
        return made

    @_EAGER
    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """One step of every parameter that has a gradient. Where it is refused, nothing has changed.

        A direction that is not finite, of a finite gradient, or that takes a matrix of a Hyperball or of a policy to zero, has
        changed its own memory by then; weights it has not.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            parts = self._parts()
            if parts:
                self._open(parts)
                self._directions(parts)
                self._move(parts)
        return loss

    # ------------------------------------------------------------------------------------------- the pieces of a step

    def _rule(self, group: Dict[str, Any]) -> Transfer:
        return settings.check(group)

    def _whole(self, group: Dict[str, Any]) -> bool:
        """Whether the direction needs the whole matrix, also where this process has a shard of it."""
        return callable(group["direction"]) or DIRECTIONS[group["direction"]].matrices

    def _states(self, p: Tensor) -> List[State]:
        s = self.state.get(p, {})
        return [State(s["step"], *numbers) for numbers in zip(s["R"], s["norm"], s["target_norm"])] if "R" in s else []

    def _parts(self) -> List[Part]:
        parts: List[Part] = []
        number = -1
        for group in self.param_groups:
            form = settings.form(group)
            for p in group["params"]:
                if self.state.get(p, {}).get("form", form) != form:
                    settings.changed(self.name(p), self.state[p]["form"], form)
            rule, view, whole = self._rule(group), View.parse(group["view"]), self._whole(group)
            for p in group["params"]:
                number += 1
                if p.grad is None:
                    continue
                name = self._names.get(p) or f"parameter {number}"
                if p.grad.is_sparse or p.grad.is_complex():
                    raise Refusal(f"{name} has a {'sparse' if p.grad.is_sparse else 'complex'} gradient; only dense, real"
                                  " gradients can be used: set sparse=False on its embedding, or leave it to another"
                                  " optimizer")
                g = shards.whole(p.grad) if whole else shards.own(p.grad)
                w = self._master(p, view, rule) if "master" in self.state[p] else shards.own(p.detach())
                count = view.parts(name, tuple(p.shape))
                for k in range(count):
                    part = Part(part_name(name, k, count), p, k, view, group, rule, whole)
                    part.g, part.w = view.take(g, k), view.place(w, k)
                    parts.append(part)
        return parts

    def _master(self, p: Tensor, view: View, rule: Transfer) -> Tensor:
        """The master, with what was changed of the parameter since the last step: weights that were loaded, clamped, averaged."""
        master, own = self.state[p]["master"], shards.own(p.detach())
        for k, s in enumerate(self._states(p)):
            scale, m, w = rule.evaluation_scale(s), view.place(master, k), view.place(own, k)
            same = tensors.shown(m, scale, w.dtype) == w
            if w.is_cuda or not same.all():  # a card is not waited for
                m.copy_(torch.where(same, m, w.to(m.dtype) / scale))
        return master

    def _open(self, parts: List[Part]) -> None:
        """Everything that can refuse the step, before anything remembers it: one wait for the device."""
        sums = tensors.table([
            [tensors.square(shards.piece(part.g, part.p) if part.whole else part.g) for part in parts],
            [tensors.square(part.w, part.exact) for part in parts]])
        total, rows = 0.0, shards.summed(sums, [part.p for part in parts]).tolist()
        for part, (g, w) in zip(parts, rows):
            if not math.isfinite(g):
                raise self._diverged(part, "that is not finite")
            part.norm = math.sqrt(w) if w >= 0 else w
            states = self._states(part.p)
            if states:
                part.state = states[part.k]
            elif part.norm == 0 and part.group["zero_radius"] > 0:
                part.state = State.zero(part.group["zero_radius"])
            else:
                part.state = State.start(part.norm)
            if "master" not in self.state[part.p]:
                part.stand = part.named(part.rule.evaluation_scale, part.state)
            if states and part.rule.gradient == REPRESENTATIVE and isinstance(part.rule.target, Base) and part.state.norm > 0:
                # the parameter is the target's matrix: weights that were loaded since the last step have their own norm
                ratio = part.norm / part.stand / part.state.norm
                part.state = part.state._replace(target_norm=part.state.target_norm * ratio)
            part.scale = part.named(part.rule.gradient_scale, part.state)
            part.named(part.rule.check, part.state, float(part.group["lr"]))
            if not 0 < part.norm < math.inf:  # a step that moves nothing refuses what every step would be refused for
                part.named(part.rule.step, part.state, Reading(part.norm / part.stand, 0.0, 0.0), 0.0)
            total += g * part.scale**2
        if 0 < self.clip_norm < math.sqrt(total):
            for part in parts:
                part.scale *= self.clip_norm / math.sqrt(total)
        for part, (g, _) in zip(parts, rows):  # Adam's mean square would be infinite, and its direction zero from then on
            if part.g.dtype != torch.float64 and g * part.scale**2 > _LARGEST_SQUARE:
                raise self._diverged(part, f"of norm {math.sqrt(g) * part.scale:.3g}, whose square float32 cannot hold")

    @staticmethod
    def _diverged(part: Part, gradient: str) -> Diverged:
        return Diverged(f"{part.name} of shape {tuple(part.p.shape)} has a gradient {gradient}; the step was not taken and"
                        " nothing has changed: lower the learning rate, or skip this batch")

    def _directions(self, parts: List[Part]) -> None:
        """Gives every part its direction."""
        alike: Dict[int, List[Part]] = {}
        for part in parts:
            alike.setdefault(id(part.group), []).append(part)
        for some in alike.values():
            group = some[0].group
            items = []
            for part in some:
                scale = -part.scale if group["maximize"] else part.scale
                wide = part.g.float() if part.g.dtype in tensors.LOW else part.g  # few digits are few exponents too
                items.append(Item(part.g if scale == 1 else wide * scale, self._memory(part), part.state.step))
            if callable(group["direction"]):
                made = [group["direction"](item.g, item.memory, group) for item in items]
            else:
                made = DIRECTIONS[group["direction"]].apply(items, group)
            for part, item, u in zip(some, items, made):
                if not isinstance(u, Tensor) or u.shape != item.g.shape:
                    raise Refusal(f"{part.name}: its direction made {tuple(u.shape) if isinstance(u, Tensor) else u!r} of a"
                                  f" gradient of shape {tuple(item.g.shape)}; a direction has the shape of its gradient")
                part.u = shards.piece(u, part.p) if part.whole else u

    def _memory(self, part: Part) -> Dict[str, Any]:
        """What the part's direction remembers: slices of tensors that hold all parts of the parameter."""
        state, count = self.state[part.p], part.view.parts(part.name, tuple(part.p.shape))
        if callable(part.group["direction"]):
            own = state.setdefault("own", [{} for _ in range(count)])[part.k]
            own["step"] = part.state.step
            return own
        made = {}
        shapes = DIRECTIONS[part.group["direction"]].memory(tuple(part.g.shape), part.group)
        for name, shape in shapes.items():
            if name not in state:
                dtype = torch.float32 if part.g.dtype in tensors.LOW else part.g.dtype
                state[name] = torch.zeros(shape if count == 1 else (count, *shape), dtype=dtype, device=part.g.device)
            made[name] = state[name] if count == 1 else state[name][part.k]
        return made

    def _move(self, parts: List[Part]) -> None:
        """Measures, computes every step in floats, then moves: one more wait for the device."""
        for part in parts:
            high = part.group["master_dtype"]
            if high is not None and "master" not in self.state[part.p]:
                self.state[part.p]["master"] = shards.own(part.p.detach()).to(high, copy=True)
            if high is not None:
                part.w = part.view.place(self.state[part.p]["master"], part.k)
        us = [part.u.reshape(part.w.shape) for part in parts]
        sums = tensors.table([[tensors.square(u, part.exact) for part, u in zip(parts, us)],
                              [tensors.inner(u, part.w) for part, u in zip(parts, us)]])
        readings, taken = [], []
        for part, (uu, uw) in zip(parts, shards.summed(sums, [part.p for part in parts]).tolist()):
            readings.append(Reading(part.norm / part.stand, math.sqrt(uu) if uu >= 0 else uu, uw / part.stand))
            taken.append(part.named(part.rule.step, part.state, readings[-1], float(part.group["lr"])))
        scales = [part.named(part.rule.evaluation_scale, step.next) for part, step in zip(parts, taken)]
        ends = [1.0 if part.group["master_dtype"] is not None else scale for part, scale in zip(parts, scales)]
        # the carrier's keep and push, and the change of the multiple that stands in the parameter, in one pass
        tensors.move([part.w for part in parts], us,
                     [end * step.keep / part.stand for part, step, end in zip(parts, taken, ends)],
                     [end * step.push for step, end in zip(taken, ends)])
        for part, scale in zip(parts, scales):
            if part.group["master_dtype"] is not None:
                p = part.view.place(shards.own(part.p.detach()), part.k)
                p.copy_(tensors.shown(part.w, scale, p.dtype))
        for part, step, reading in zip(parts, taken, readings):
            self.taken[part.name], self.readings[part.name] = step, reading
            state = self.state[part.p]
            if part.k == 0:
                state.update(step=step.next.step, form=settings.form(part.group), R=[], norm=[], target_norm=[])
            for name in ("R", "norm", "target_norm"):
                state[name].append(getattr(step.next, name))

    # ---------------------------------------------------------------------------------------------------- state dicts

    def state_dict(self, *args: Any, **kwargs: Any) -> Dict[str, Any]:
        """Everything for an exact continuation; a direction of one's own is there by its name only."""
        made = super().state_dict(*args, **kwargs)
        made["clip_norm"] = self.clip_norm
        for group, own in zip(made["param_groups"], self.param_groups):
            group["param_names"] = [self._names.get(p) for p in own["params"]]
            if "direction" in group:  # a wrapped optimizer has none
                group["direction"] = settings._called(group["direction"])
        return made

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Continues from a saved state; the options of settings.FIXED must be those it was saved with."""
        groups = self.param_groups
        if not isinstance(state_dict, dict) or "param_groups" not in state_dict:
            has = f"dict with {', '.join(map(str, state_dict))}" if isinstance(state_dict, dict) else type(state_dict).__name__
            raise Refusal(f"a {has} is not the state of an optimizer; give what optimizer.state_dict() returned")
        if "inner" in state_dict:
            raise Refusal("a wrapped optimizer saved this state, as it has 'inner'; load it into what HyperTransfer.wrap returned")
        everyone = {name for saved in state_dict["param_groups"] for name in saved.get("param_names") or ()}
        for i, (own, saved) in enumerate(zip(groups, state_dict["param_groups"])):
            if "mode" not in saved:
                raise Refusal(f"group {i} was saved by another optimizer, without a mode; start this one without its state")
            mine, theirs = settings.form(own), settings.form(saved)
            for name in settings.FIXED:
                if name in saved and theirs[name] != mine[name]:
                    raise Refusal(f"group {i} was saved with {name} {theirs[name]!r} but has {mine[name]!r}; give the optimizer"
                                  " the options it was saved with")
            names = saved.get("param_names") or [None] * len(own["params"])
            for k, (p, name, number) in enumerate(zip(own["params"], names, saved["params"])):
                mine = self._names.get(p)  # a name that nothing was saved as has changed, as with DDP's `module.`
                if mine and mine != name and mine in everyone:
                    raise Refusal(f"parameter {k} of group {i} was saved as {name} but is {mine}; give the parameters in the order in"
                                  " which they were saved")
                _fits(f"parameter {k} of group {i}", p, View.parse(own["view"]), state_dict["state"].get(number, {}))
        functions = [group.get("direction") for group in groups]
        super().load_state_dict({**state_dict, "param_groups": [
            {name: value for name, value in saved.items() if name != "param_names"} for saved in state_dict["param_groups"]]})
        self.clip_norm = state_dict.get("clip_norm", self.clip_norm)
        for group, function in zip(self.param_groups, functions):
            if callable(function):
                group["direction"] = function
        ids = [i for group in state_dict["param_groups"] for i in group["params"]]
        for i, p in zip(ids, (p for group in self.param_groups for p in group["params"])):
            for name, value in state_dict["state"].get(i, {}).items():  # torch would round them to the parameter's type
                self.state[p][name] = _copied(value, p.device)


def _fits(place: str, p: Tensor, view: View, state: Dict[str, Any]) -> None:
    """Refuses the state of a parameter of another shape."""
    shape = tuple(p.shape)
    parts = view.parts(place, shape)
    memory = view.shape(shape) if parts == 1 else (parts, *view.shape(shape))
    for kept, fits in dict(master=shape, momentum_buffer=memory, exp_avg=memory).items():
        if kept in state and tuple(state[kept].shape) != fits and not shards.sharded(p):
            raise Refusal(f"{place} has the shape {tuple(p.shape)} but was saved with {kept} of shape {tuple(state[kept].shape)};"
                          " give the parameters in the order in which they were saved")


def _copied(value: Any, device: torch.device) -> Any:
    """A copy of what was saved, its tensors on this device and of their own type."""
    if isinstance(value, Tensor):
        return value.detach().clone().to(device)
    if isinstance(value, dict):
        return {name: _copied(some, device) for name, some in value.items()}
    if isinstance(value, list):
        return [_copied(some, device) for some in value]
    return copy.deepcopy(value)
