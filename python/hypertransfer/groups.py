"""Parameter groups by name, and which parameters of a model are its hidden matrices."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Optional, Tuple

from torch import nn

from .algebra import Refusal

_HEAD = re.compile(r"(.*[^a-z])?(lm_?|un)?(head|embed_out|output)(\.weight)?", re.I)
_IN_BLOCK = re.compile(r"(.*\.)?\d+\.(?!weight$)[a-z_].*", re.I)  # layers.3.mlp.down.weight
_OUTPUT = re.compile(r"(.*\.)?\d+\.(.*\.)?output(\.weight)?", re.I)  # a projection: layers.3.attn.output.weight
_NO_MATRIX = re.compile(r"embed|\b(wte|wpe|tok_emb|pos_emb)\b|bias[^.]*$", re.I)  # also a table of biases, or those of experts

Named = List[Tuple[str, nn.Parameter]]


def muon(params: Iterable, lr: Any, weight_decay: Optional[float] = None, mode: str = "base", **options: Any) -> Dict[str, Any]:
    """A parameter group: momentum, orthogonalised."""
    return dict(params=params, direction="muon", lr=lr, weight_decay=weight_decay, mode=mode, **options)


def muonh(params: Iterable, lr: Any, mode: str = "hyperball", **options: Any) -> Dict[str, Any]:
    """Muon on a Hyperball; lr is an angle."""
    return muon(params, lr, mode=mode, **options)


def adamw(params: Iterable, lr: Any, weight_decay: Optional[float] = None, mode: str = "base", **options: Any) -> Dict[str, Any]:
    """A parameter group: Adam's quotient."""
    return dict(params=params, direction="adam", lr=lr, weight_decay=weight_decay, mode=mode, **options)


def adamh(params: Iterable, lr: Any, mode: str = "hyperball", **options: Any) -> Dict[str, Any]:
    """Adam on a Hyperball; lr is an angle."""
    return adamw(params, lr, mode=mode, **options)


def split(model: nn.Module) -> Tuple[Named, Named]:
    """(hidden, rest), each a list of (name, parameter): the hidden matrices for Muon, all else for AdamW.

    Hidden are the trained matrices, of more than one row and column, except embeddings (by module or name), tables of
    biases (by name), the head (by name, or else the last matrix, unless another block has the same) and what shares its
    weight with either. Convolutions and stacks of experts have more dimensions and are in the rest: give them a group of
    their own, with view="flat" or view="stack". Check the result by its names where your model is unusual.
    """
    if not isinstance(model, nn.Module):
        raise Refusal(f"{type(model).__name__} is given where a torch.nn.Module is needed, the model")
    every = list(model.named_parameters())
    tables = {id(p) for m in model.modules() if isinstance(m, (nn.Embedding, nn.EmbeddingBag)) for p in m.parameters(False)}
    matrices = [(n, p) for n, p in every if p.ndim == 2 and id(p) not in tables and not _NO_MATRIX.search(n)]
    tied = any(isinstance(m, nn.Linear) and id(m.weight) in tables for m in model.modules())
    heads = {id(p) for name, p in matrices if _HEAD.fullmatch(name) and not _OUTPUT.fullmatch(name)}
    if not heads and not tied and matrices and sum(p.ndim > 1 for _, p in every) > 1:
        kinds = [(re.sub(r"\d+", "#", name), p.shape) for name, p in matrices]
        if not _IN_BLOCK.fullmatch(matrices[-1][0]) or kinds.count(kinds[-1]) == 1:
            heads = {id(matrices[-1][1])}
    hidden = [(name, p) for name, p in matrices if p.requires_grad and min(p.shape) > 1 and id(p) not in heads]
    chosen = {id(p) for _, p in hidden}
    return hidden, [(name, p) for name, p in every if p.requires_grad and id(p) not in chosen]
