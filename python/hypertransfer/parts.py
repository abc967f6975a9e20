"""Parameters as the optimizer takes them in, and their parts during one step."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, Iterable, List, Tuple

import torch
from torch import Tensor

from . import shards
from .algebra import Refusal, State, Transfer
from .directions import DIRECTIONS
from .views import View


class Part:
    """A parameter, or a part of one that counts as a matrix, during one step."""

    def __init__(self, name: str, p: Tensor, k: int, view: View, group: Dict[str, Any], rule: Transfer, whole: bool):
        self.name, self.p, self.k, self.view, self.group, self.rule, self.whole = name, p, k, view, group, rule, whole
        self.exact = group["master_dtype"] is not None  # sums of float32 would be seen in a master of more digits
        self.state = State.start(0.0)
        self.scale = 1.0  # of the gradient
        self.stand = 1.0  # the multiple of the carrier that `w` holds
        self.norm = 0.0  # of `w`
        self.w: Tensor
        self.g: Tensor
        self.u: Tensor

    def named(self, function: Callable, *arguments: Any) -> Any:
        """The same call, whose refusal names the parameter."""
        try:
            return function(*arguments)
        except Refusal as refusal:
            raise type(refusal)(f"{self.name} of shape {tuple(self.p.shape)}, {refusal}") from None


def named(params: Iterable, used: Iterable[str] = ()) -> Tuple[List[Tensor], Dict[Tensor, str]]:
    """Parameters, and their names where they come with them; one that is used already, by another model, gets a number."""
    if isinstance(params, set):
        raise Refusal("the parameters are a set, whose order differs between processes; give a list")
    items = list(params)
    names: Dict[Tensor, str] = {}
    others = set(used)
    for item in items:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Tensor):
            numbered = (f"{item[0]} ({k})" for k in itertools.count(2))
            names[item[1]] = next(name for name in itertools.chain([item[0]], numbered) if name not in others)
            others.add(names[item[1]])
    made = [item[1] if isinstance(item, tuple) and len(item) == 2 else item for item in items]
    for p in made:
        if not isinstance(p, Tensor):
            raise Refusal(f"{type(p).__name__} is not a parameter; give parameters, model.named_parameters(), or groups such as"
                          " muonh(hidden, lr=0.01)")
    return made, names


def check(name: str, p: Tensor, group: Dict[str, Any]) -> None:
    """Refuses a parameter that the group's direction and view cannot take."""
    if not p.is_floating_point():
        return  # torch says it
    view, direction = View.parse(group["view"]), group["direction"]
    shape = tuple(p.shape)
    view.parts(name, shape)
    if not callable(direction) and DIRECTIONS[direction].matrices and (len(view.shape(shape)) != 2 or not p.numel()):
        fix = ("leave it out" if not p.numel() else "give it to adamw" if p.ndim < 2
               else "flatten=True makes it a matrix (a convolution), view='stack' several (experts)")
        raise Refusal(f"{name} has the shape {shape}, and {direction} needs matrices: {fix}")
    high = group["master_dtype"]
    if high is not None and torch.promote_types(high, p.dtype) != high:
        raise Refusal(f"{name} is {p.dtype}, and master_dtype {high} has fewer digits; leave it out, or give torch.float64")
    if shards.sharded(p) and not view.plain:
        raise Refusal(f"{name} is sharded, and view {group['view']!r} needs all of it in one place; use view='whole', or do"
                      " not shard it")
