"""Parameters that are sharded over processes (DTensor, as FSDP2 makes them). Everything else passes through unchanged.

A direction that works number by number (Adam, Lion, ...) runs on this process's own shard. A direction of whole
matrices (Muon, ...) gathers the gradient, keeps its momentum whole on every process and computes the same direction on
every process; only its own shard is moved. Sums over shards are added up before the algebra sees them.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

import torch
from torch import Tensor

try:
    from torch.distributed.tensor import DTensor, Replicate
except ImportError:  # before PyTorch 2.5
    DTensor = Replicate = None  # type: ignore[assignment, misc]


def sharded(t: Tensor) -> bool:
    """Whether this is a DTensor."""
    return DTensor is not None and isinstance(t, DTensor)


def own(t: Tensor) -> Tensor:
    """What this process has of it, in place."""
    return t.to_local() if sharded(t) else t


def whole(t: Tensor) -> Tensor:
    """All of it, gathered."""
    return t.full_tensor() if sharded(t) else t


def piece(u: Tensor, p: Tensor) -> Tensor:
    """Of a whole tensor that every process has, what belongs to this process's own part of p."""
    if not sharded(p):
        return u
    mesh = p.device_mesh
    everywhere = DTensor.from_local(u, mesh, [Replicate()] * mesh.ndim, run_check=False)
    return everywhere.redistribute(placements=p.placements).to_local()


def summed(values: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Adds up the rows of `values`, one per parameter, over the processes that have a shard of it."""
    alike: Dict[Any, List[int]] = {}
    for i, p in enumerate(parameters):
        if sharded(p):
            dims = tuple(d for d, placement in enumerate(p.placements) if placement.is_shard())
            alike.setdefault((p.device_mesh, dims), []).append(i)
    for (mesh, dims), rows in alike.items():
        some = values[rows].to(mesh.device_type)
        for d in dims:
            torch.distributed.all_reduce(some, group=mesh.get_group(d))
        values[rows] = some.to(values.device)
    return values
