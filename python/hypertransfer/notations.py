"""What "weight decay" means elsewhere, as the two numbers that this package takes.

Here, as in torch.optim.AdamW, a step shrinks a matrix by lr_t * weight_decay, with lr_t the scheduled rate. Others multiply
by something else. NOTATIONS.md has the table; tests hold each row to its formula, written out.
"""

from __future__ import annotations

import math
from typing import Callable, Dict, NamedTuple

from .algebra import Refusal, nearest
from .settings import number


class Settings(NamedTuple):
    """As this package takes them: the peak of the schedule, and the weight decay."""

    lr: float
    weight_decay: float


_Translate = Callable[[float, float, float], Settings]

_TIMES_RATE: _Translate = lambda lr, decay, width: Settings(lr, decay)  # noqa: E731
_TIMES_SCHEDULE: _Translate = lambda lr, decay, width: Settings(lr, decay / lr)  # noqa: E731

NOTATIONS: Dict[str, _Translate] = {
    "torch": _TIMES_RATE,  # AdamW, Muon: lr_t * decay
    "optax": _TIMES_RATE,  # adamw, lion, contrib.muon: decay is added before the rate is multiplied
    "keras": _TIMES_RATE,  # weight_decay of any optimizer: w - w * decay * lr_t
    "megatron": _TIMES_RATE,  # fused AdamW; --start-weight-decay and --end-weight-decay change decay over time
    "dion": _TIMES_RATE,  # the rate before its shape factor
    "emerging-optimizers": _TIMES_RATE,  # weight_decay_method="decoupled"
    "adamw-paper": _TIMES_SCHEDULE,  # eta_t * decay, eta_t the schedule without its peak
    "mup": lambda lr, decay, width: Settings(lr / width, decay * width),  # hidden matrices: the product stays
    "mup-decoupled": lambda lr, decay, width: Settings(lr / width, decay),  # decoupled_wd=True
}


def notation(name: str, lr: float, weight_decay: float, width_mult: float = 1.0, constant_rate: bool = False) -> Settings:
    """(lr, weight_decay) of this package for a peak rate and decay in another notation.

    `independent` (emerging-optimizers' weight_decay_method="independent", tensorflow-addons, optax's add_decayed_weights
    after the rate) shrinks by decay alone at every step: one number does that only where the rate is constant
    (`constant_rate=True`). `l2` (torch.optim.Adam and SGD) adds decay to the gradient and has no translation.
    """
    for what, value in dict(lr=lr, weight_decay=weight_decay, width_mult=width_mult).items():
        number(what, value, 0, math.inf)
    for what, value in dict(lr=lr, width_mult=width_mult).items():
        if value == 0:
            raise Refusal(f"{what} is {value}; it must be above zero")
    if name == "independent":
        if not constant_rate:
            raise Refusal("an independent weight decay does not follow the schedule: no single weight_decay is equal to it"
                          " while the rate changes; set weight_decay = decay / lr of the step at every step")
        return Settings(lr, weight_decay / lr)
    if name == "l2":
        raise Refusal("an L2 term is part of the gradient, and Adam divides it by its root mean square: it is not a weight decay;"
                      " wrap the optimizer instead")
    if name not in NOTATIONS:
        raise Refusal(f"unknown notation {name!r}{nearest(name, [*NOTATIONS, 'independent', 'l2'])}")
    return NOTATIONS[name](lr, weight_decay, width_mult)
