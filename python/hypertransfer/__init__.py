"""HyperTransfer for PyTorch: norm-fixed (Hyperball) and ordinary optimizers, the exact transfers between them, and the
rates that go with them.

    from hypertransfer import HyperTransfer, adamw, muonh, split

    hidden, rest = split(model)
    optimizer = HyperTransfer([muonh(hidden, lr=0.0125), adamw(rest, lr=3e-4, weight_decay=0.1)])
"""

from . import prediction
from .algebra import (
    GRADIENT_RULES, MODES, Base, Diverged, Hyperball, Reading, Refusal, Schedule, State, Step, Transfer, effective_rate,
    fair_rate, linear, transfer, transferred_rate)
from .directions import COEFFICIENTS, DIRECTIONS, SHAPE_FACTORS, newton_schulz
from .groups import adamh, adamw, muon, muonh, split
from .monitor import EffectiveRates
from .notations import NOTATIONS, notation
from .optimizer import HyperTransfer
from .picture import Picture
from .rates import Rates, rates
from .wrap import wrap

__version__ = "0.1.0"

__all__ = [
    "HyperTransfer", "EffectiveRates", "rates", "Rates", "notation", "NOTATIONS", "Picture", "wrap", "muon", "muonh", "adamw", "adamh", "split",
    "MODES", "GRADIENT_RULES", "DIRECTIONS", "COEFFICIENTS", "SHAPE_FACTORS", "newton_schulz",
    "Base", "Hyperball", "State", "Reading", "Step", "Transfer", "Schedule", "transfer", "effective_rate", "fair_rate",
    "transferred_rate", "linear", "Refusal", "Diverged",
]
