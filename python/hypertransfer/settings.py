"""The options of a parameter group: torch's words, checked one by one, each mistake with the fix in one sentence."""

from __future__ import annotations

import math
from typing import Any, Dict, Optional

import torch

from .algebra import GRADIENT_RULES, MODES, Refusal, Transfer, nearest, transfer
from .directions import COEFFICIENTS, DIRECTIONS, SHAPE_FACTORS
from .views import View

COMMON: Dict[str, Any] = dict(
    lr=None, weight_decay=None, target_weight_decay=None, mode="base", gradient=None, direction="muon", view="whole",
    policy=None, zero_radius=0.0, maximize=False, master_dtype=None)
BOOKKEEPING = {"params", "param_names", "initial_lr"}  # torch's own
OF_TORCH = {"foreach", "fused", "capturable", "differentiable", "amsgrad"}
FIXED = ("mode", "gradient", "direction", "view", "master_dtype")  # what the state of a parameter is made for
OPTIONS = {name for d in DIRECTIONS.values() for name in d.options}


def known(given: Dict[str, Any]) -> Dict[str, Any]:
    """Refuses an unknown option by the nearest known one; `flatten` becomes what it means."""
    made: Dict[str, Any] = {}
    for name, value in given.items():
        if name == "flatten":
            if not isinstance(value, bool):
                raise Refusal(f"flatten is {value!r}; it must be True or False")
            name, value = "view", "flat" if value else "whole"
        elif name == "clip_norm":
            raise Refusal("clip_norm holds for all groups together, not for one; give it to HyperTransfer(..., clip_norm=...)")
        elif name in OF_TORCH:
            raise Refusal(f"option '{name}' of torch's own optimizers has no meaning here; leave it out")
        elif name not in COMMON and name not in OPTIONS and name not in BOOKKEEPING:
            raise Refusal(f"unknown option '{name}'{nearest(name, [*COMMON, *sorted(OPTIONS), 'flatten'])}")
        made[name] = value
    return made


def settled(group: Dict[str, Any], defaults: Dict[str, Any]) -> Dict[str, Any]:
    """The group with every option that it uses, checked. `defaults` holds what was given for all groups."""
    given = known({k: v for k, v in group.items() if v is not None or k == "params"})
    made = {**COMMON, **defaults, **given}
    choice("mode", made["mode"], MODES)
    if made["lr"] is None:
        raise Refusal("a group has no lr; give one: a learning rate if the target is Base, an angle in radians if"
                      " it is a Hyperball")
    number("lr", made["lr"], 0, math.inf, tensor=True)
    if made["weight_decay"] is None:
        made["weight_decay"] = 0.0 if made["mode"] == "hyperball" else 0.1
    if made["target_weight_decay"] is None and made["mode"] != "decay-transfer":
        made["target_weight_decay"] = 0.0
    own: Dict[str, Any] = {}
    if not callable(made["direction"]):
        choice("direction", made["direction"], DIRECTIONS)
        own = DIRECTIONS[made["direction"]].options
    for name in OPTIONS & set(given):
        if name not in own:
            refuse(name, made["direction"])
    for name in OPTIONS - set(own):
        made.pop(name, None)
    made = {**own, **made}
    check(made)
    return made


def check(group: Dict[str, Any]) -> Transfer:
    """Its transfer. Refuses values that no step can use, also where they were set later; a rate is checked with the step itself."""
    choice("mode", group["mode"], MODES)
    if group["gradient"] is not None:
        choice("gradient", group["gradient"], GRADIENT_RULES)
    rule = _decay(group)
    View.parse(group["view"])
    number("zero_radius", group["zero_radius"], 0, math.inf)
    boolean("maximize", group["maximize"])
    _dtype("master_dtype", group["master_dtype"])
    if not callable(group["direction"]):
        choice("direction", group["direction"], DIRECTIONS)
        for name in DIRECTIONS[group["direction"]].options:
            _option(name, group[name])
    return rule


def refuse(name: str, direction: Any) -> None:
    """An option that the direction does not have."""
    takes = "a function has its own settings" if callable(direction) else "it takes " + ", ".join(DIRECTIONS[direction].options)
    raise Refusal(f"option '{name}' is not one of direction {_called(direction)}; {takes}")


def form(group: Dict[str, Any]) -> Dict[str, Optional[str]]:
    """The options of FIXED as a state dict can hold them."""
    return {name: None if group.get(name) is None else _called(group[name]) for name in FIXED}


def changed(name: str, began: Dict[str, Optional[str]], now: Dict[str, Optional[str]]) -> None:
    """Refuses an option of FIXED that was changed after the parameter's first step."""
    option = next(option for option in FIXED if began[option] != now[option])
    raise Refusal(f"{name} has taken steps with {option} {began[option]!r}, and its group has {now[option]!r} now, which does not"
                  f" fit its state: set {option} back, or make a new optimizer")


def _decay(group: Dict[str, Any]) -> Transfer:
    mode, decay, other = group["mode"], group["weight_decay"], group["target_weight_decay"]
    if decay and mode == "hyperball":
        raise Refusal(f"weight_decay is {decay!r}, and mode 'hyperball' keeps norms fixed without weight decay; leave it out"
                      " (weight_decay=0)")
    if other and mode != "decay-transfer":
        raise Refusal(f"target_weight_decay is {other!r}, and only mode 'decay-transfer' has two weight decays; leave it out"
                      f" for mode {mode!r}")
    if other is None:
        raise Refusal("mode 'decay-transfer' has two weight decays; give target_weight_decay, that of the run it follows")
    number("weight_decay", decay, 0, math.inf)
    number("target_weight_decay", other, 0, math.inf)
    return transfer(mode, decay, other, group["gradient"], group.get("policy"))


def _option(name: str, value: Any) -> None:
    if name in ("momentum", "beta2", "shampoo_beta"):
        number(name, value, 0, 1)
    elif name == "eps":
        number(name, value, 0, math.inf)
    elif name == "betas":
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise Refusal(f"betas is {value!r}; it must be two numbers from 0 to less than 1")
        for beta in value:
            number("a number of betas", beta, 0, 1)
    elif name == "nesterov":
        boolean(name, value)
    elif name == "ns_dtype":
        _dtype(name, value)
    elif name in ("ns_steps", "precondition_frequency", "largest_side"):
        whole(name, value, *((0, 100) if name == "ns_steps" else (1, 1 << 30)))
    else:
        choice(name, value, dict(coefficients=COEFFICIENTS, shape_factor=SHAPE_FACTORS,
                                  momentum_start=("gradient", "zero"))[name])


def _called(direction: Any) -> str:
    """Its name, which is the same in another process: that of an object is its class's."""
    return getattr(direction, "__name__", type(direction).__name__) if callable(direction) else str(direction)


def number(name: str, value: Any, low: float, high: float, tensor: bool = False) -> None:
    if tensor and isinstance(value, torch.Tensor) and value.numel() == 1 and value.is_floating_point():
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value < high:
        limits = "a finite number, zero or more" if high == math.inf else f"a number from {low} to less than {high}"
        kind = "" if isinstance(value, (int, float, str)) else f" of type {type(value).__name__}"  # numpy's float32 looks as ours
        raise Refusal(f"{name} is {value!r}{kind}; it must be {limits}{' of Python: float(...)' if kind else ''}")


def whole(name: str, value: Any, least: int, most: Optional[int] = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= (value if most is None else most):
        limits = f" from {least} to {most}" if most is not None else ", one or more" if least else ", 0 or more"
        raise Refusal(f"{name} is {value!r}; it must be a whole number{limits}")


def boolean(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise Refusal(f"{name} is {value!r}; it must be True or False")


def _dtype(name: str, value: Optional[Any]) -> None:
    if value is not None and not (isinstance(value, torch.dtype) and value.is_floating_point):
        raise Refusal(f"{name} is {value!r}; it must be a floating-point dtype such as torch.bfloat16, or None")


def choice(name: str, value: Any, choices: Any) -> None:
    if not isinstance(value, str) or value not in choices:
        raise Refusal(f"unknown {name} {value!r}{nearest(value, choices)}" if isinstance(value, (str, int)) else
                      f"{name} is of type {type(value).__name__}; it must be a name{nearest('', choices)}")
