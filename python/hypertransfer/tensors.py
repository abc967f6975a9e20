"""The three bulk operations that a step needs besides its direction: sums of squares, inner products, moves."""

from __future__ import annotations

from typing import List

import torch
from torch import Tensor

LOW = (torch.float16, torch.bfloat16)
_LARGEST_MOVE = 1 << 26  # numbers that are moved together, so that temporary tensors stay small


def square(x: Tensor, exact: bool = False) -> Tensor:
    """The sum of squares, in double precision; on a card, unless exact, rows are summed in float32 first, which saves a copy."""
    if x.is_cuda and not exact and x.dtype != torch.float64 and x.ndim > 1:
        return torch.linalg.vector_norm(x.flatten(1), dim=1, dtype=torch.float32).double().square().sum()
    return torch.linalg.vector_norm(x, dtype=torch.float64).square()


def inner(u: Tensor, w: Tensor) -> Tensor:
    """<u,w>, in double precision."""
    product = u * w if u.dtype == w.dtype and u.dtype not in LOW else u.double() * w
    if product.is_cuda and product.dtype != torch.float64 and product.ndim > 1:
        return product.flatten(1).sum(1).double().sum()
    return product.sum(dtype=torch.float64)


def shown(master: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
    """What a parameter shows of its master. Float64 is rounded to 44 bits first: where lr and decay are short decimals, some
    numbers lie in the middle of two float32, and the last bit of another way to compute them must not choose between these."""
    x = master if scale == 1 else master * scale
    if x.dtype == torch.float64 != dtype:
        high = x * 513.0
        x = (x - high).add_(high)
    return x.to(dtype)


def table(columns: List[List[Tensor]]) -> Tensor:
    """Numbers on any devices as one tensor (rows, columns)."""
    flat = [x for column in columns for x in column]
    device = flat[0].device
    return torch.stack([x if x.device == device else x.to(device) for x in flat]).view(len(columns), -1).mT.contiguous()


def move(ws: List[Tensor], us: List[Tensor], keeps: List[float], pushes: List[float]) -> None:
    """w <- keep w - push u. Not keep times w: 1 - keep is small, and has digits that keep as a float32 has not."""
    first = 0
    while first < len(ws):
        last, size = first, 0
        while last < len(ws) and (last == first or size + ws[last].numel() <= _LARGEST_MOVE):
            size += ws[last].numel()
            last += 1
        _move(ws[first:last], us[first:last], [1 - keep for keep in keeps[first:last]], pushes[first:last])
        first = last


def _move(ws: List[Tensor], us: List[Tensor], lost: List[float], pushes: List[float]) -> None:
    wide = [w.float() if w.dtype in LOW else w for w in ws]
    us = [u if u.dtype == w.dtype else u.to(w.dtype) for u, w in zip(us, wide)]
    change = torch._foreach_mul(us, pushes)
    torch._foreach_add_(change, torch._foreach_mul(wide, lost))
    for w, x, c in zip(ws, wide, change):
        if w is not x:
            w.copy_(x - c)
    same = [i for i, (w, x) in enumerate(zip(ws, wide)) if w is x]
    if same:
        torch._foreach_sub_([ws[i] for i in same], [change[i] for i in same])
