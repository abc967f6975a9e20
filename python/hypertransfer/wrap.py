"""Any optimizer in another space: its direction is taken from what it would have done.

    optimizer = HyperTransfer.wrap(torch.optim.AdamW(matrices, lr=0.0125), mode="hyperball")

At each step the wrapped optimizer takes its own step, without weight decay; u is what it changed, over its rate. Then
the weights go back and move by u in the space and mode asked for. Its momenta are its own, its groups are shared: a
scheduler of either one sets the rate, which is read as the target reads it. A group may have a mode, view or other option
of its own.

A change of weights has their last digit as its error, so that u has eps |w| / (lr |u|): of float32 weights near 1, AdamW's
has 3e-4 at lr=1e-4. With master_dtype=torch.float64 the wrapped optimizer computes, and remembers, in float64: then 1e-12.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, Dict, Iterator, List, Optional, Union

import torch
from torch import Tensor

from . import settings, shards, tensors
from .algebra import Refusal, Transfer, transfer
from .optimizer import HyperTransfer, Part
from .parts import check

# weight decay is part of their gradient: it belongs to the direction and is no decay of a space
_COUPLED = {"SGD", "Adam", "Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"}

# of a group's options, those that are not the wrapped optimizer's
_OURS = ("mode", "gradient", "target_weight_decay", "view", "policy", "zero_radius", "master_dtype")


def decoupled(optimizer: Any, group: Dict[str, Any]) -> bool:
    """Whether a group's weight_decay shrinks the weights apart from the gradient, as AdamW's does."""
    ours = group.get("decoupled_weight_decay")
    return bool(ours) if ours is not None else type(optimizer).__name__ not in _COUPLED


class Wrapped(HyperTransfer):
    """See the module's text; made by `HyperTransfer.wrap`."""

    _KEPT = (*HyperTransfer._KEPT, "inner", "_decoupled", "_ours")

    def __init__(self, inner: torch.optim.Optimizer, mode: str = "hyperball", lr: Optional[float] = None,
                 decoupled_weight_decay: Optional[bool] = None, clip_norm: float = 0.0, **options: Any):
        for name in ("step", "param_groups", "state_dict"):
            if not hasattr(inner, name):
                raise Refusal(f"{type(inner).__name__} cannot be wrapped: it has no {name}; give a torch optimizer")
        if isinstance(inner, HyperTransfer):
            raise Refusal(f"{type(inner).__name__} must not be wrapped: give its groups mode={mode!r} instead")
        if isinstance(inner, torch.optim.LBFGS):
            raise Refusal("LBFGS cannot be wrapped: its step needs several gradients; give an optimizer that needs only one")
        settings.number("clip_norm", clip_norm, 0, math.inf)
        for name in set(options) - {*_OURS, "flatten"}:
            if name in settings.OPTIONS or name in settings.COMMON:
                raise Refusal(f"option '{name}' belongs to the wrapped optimizer; give it to {type(inner).__name__}")
        self.inner, self.clip_norm, self._decoupled = inner, clip_norm, decoupled_weight_decay
        self._ours = {"mode": mode, **settings.known(options)}
        self._begin()
        if lr is not None:
            settings.number("lr", lr, 0, math.inf, tensor=True)
        torch.optim.Optimizer.__init__(self, inner.param_groups, dict(inner.defaults))
        if lr is not None:
            for group in inner.param_groups:
                group["lr"] = lr
        if inner.state:
            self._load(inner.state_dict())

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """Adds a group to the wrapped optimizer, which completes it, and takes it from there; neither keeps one that is refused."""
        new = all(group is not param_group for group in self.inner.param_groups)
        if new:
            self.inner.add_param_group(param_group)
            param_group = self.inner.param_groups[-1]
        given = [name for name in (*_OURS, "flatten") if param_group.get(name) is not None]
        given = param_group.get("own_options", given)  # the others are what an earlier wrap left
        own = {name: param_group[name] for name in given}
        try:
            made = settings.settled({"params": [], "lr": param_group["lr"], "direction": self._none, **self._ours, **own}, {})
            for i, p in enumerate(param_group["params"]):
                check(f"parameter {i} of its group", p, made)
        except Refusal:
            if new:
                self.inner.param_groups.pop()
            raise
        param_group.update({name: made[name] for name in _OURS}, own_options=given)
        torch.optim.Optimizer.add_param_group(self, param_group)
        self.param_groups[-1] = param_group
        self._names.update(zip(param_group["params"], param_group.get("param_names") or ()))  # since PyTorch 2.6

    @staticmethod
    def _none(*_: Any) -> None:
        """Stands for the wrapped optimizer where a direction is asked for."""

    def _shrinks(self, group: Dict[str, Any]) -> bool:
        return decoupled(self.inner, group) if self._decoupled is None else self._decoupled

    def _rule(self, group: Dict[str, Any]) -> Transfer:
        decay = group.get("weight_decay", 0.0) if self._shrinks(group) else 0.0
        return transfer(group["mode"], decay, group["target_weight_decay"], group["gradient"], group.get("policy"))

    def _whole(self, group: Dict[str, Any]) -> bool:
        return False

    @contextlib.contextmanager
    def _wide(self) -> Iterator[None]:
        """Parameters have their masters' digits meanwhile, at least float32's: few would round away what the optimizer changes."""
        every = [(p, p.data, p.grad, torch.promote_types(torch.float32, torch.promote_types(p.dtype, group["master_dtype"] or p.dtype)))
                 for group in self.param_groups for p in group["params"]]
        low = [item for item in every if item[3] != item[0].dtype]
        try:
            for p, w, g, dtype in low:
                p.grad, p.data = None, w.to(dtype)
                p.grad = None if g is None else g.to(dtype)
            yield
        finally:
            for p, w, g, _ in low:
                p.grad, p.data = None, w
                p.grad = g

    def _directions(self, parts: List[Part]) -> None:
        parameters = list({id(part.p): part.p for part in parts}.values())
        with self._wide():
            changes = self._changes(parts, parameters)
        for part in parts:
            part.u = part.view.place(changes[id(part.p)], part.k)

    def _changes(self, parts: List[Part], parameters: List[Tensor]) -> Dict[int, Tensor]:
        """What the wrapped optimizer would change of each parameter, over its rate."""
        before = [shards.own(p.detach()).clone() for p in parameters]
        grads = [p.grad for p in parameters]
        kept = [(group, group["lr"], group.get("weight_decay")) for group in self.param_groups]
        rates = {id(p): float(group["lr"]) or 1.0 for group in self.param_groups for p in group["params"]}
        changes: Dict[int, Tensor] = {}
        try:
            for p in parameters:
                self._scale(p, [part for part in parts if part.p is p])
            for group, lr, decay in kept:
                if float(lr) == 0:  # nothing will move, but the momenta go on
                    group["lr"] = 1.0
                if decay is not None and self._shrinks(group):
                    group["weight_decay"] = type(decay)(0)
            self.inner.step()
            for p, w in zip(parameters, before):
                changes[id(p)] = (w - shards.own(p.detach())) / rates[id(p)]
        finally:
            for p, w, g in zip(parameters, before, grads):
                shards.own(p.detach()).copy_(w)
                p.grad = g
            for group, lr, decay in kept:
                group["lr"] = lr
                if decay is not None:
                    group["weight_decay"] = decay
        return changes

    @staticmethod
    def _scale(p: Tensor, parts: List[Part]) -> None:
        """Gives the parameter a scaled gradient for the wrapped optimizer to see; the user's own stays as it is."""
        if all(part.scale == 1 for part in parts):
            return
        p.grad = p.grad.clone()
        for part in parts:
            part.view.place(shards.own(p.grad), part.k).mul_(part.scale)

    def state_dict(self, *args: Any, **kwargs: Any) -> Dict[str, Any]:
        """The transfer's state, and the wrapped optimizer's under `inner`."""
        made = super().state_dict(*args, **kwargs)
        made["inner"] = self.inner.state_dict()
        return made

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        if "inner" not in state_dict:
            raise Refusal("this state has no 'inner', so no wrapped optimizer saved it; load it into the optimizer that saved it")
        inner = state_dict["inner"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "inner"})
        self._load(inner)

    def _load(self, inner: Dict[str, Any]) -> None:
        with self._wide():  # momenta have the digits of what they meet
            self.inner.load_state_dict(inner)
        self.param_groups = list(self.inner.param_groups)  # a list of our own: both add groups to theirs


def wrap(optimizer: torch.optim.Optimizer, mode: str = "hyperball", lr: Optional[float] = None,
         decoupled_weight_decay: Optional[bool] = None, **options: Any) -> Union[Wrapped, HyperTransfer]:
    """The optimizer's direction in another space and mode.

    `decoupled_weight_decay` says whether its weight_decay is one of a Base space (AdamW: yes; SGD: no, it is part of the
    gradient); it is known for torch's own optimizers and taken as True for all others. Options: target_weight_decay,
    gradient, view, flatten, zero_radius, master_dtype, clip_norm.
    """
    return Wrapped(optimizer, mode, lr, decoupled_weight_decay, **options)


HyperTransfer.wrap = staticmethod(wrap)  # type: ignore[attr-defined]
