"""Two processes that train one network with gloo: `python3 processes.py KIND RANK FILE`, started by test_processes.py and on_card.py.

ddp: a replica each, half of the batch each. dtensor: parameters sharded by hand. fsdp: parameters sharded by FSDP2. Each prints
how far its weights are from those of one process with the whole batch.
"""

import contextlib
import io
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist
from torch import nn

import hypertransfer as ht

STEPS = 6
torch.set_num_threads(1)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 10), nn.Tanh(), nn.Linear(10, 3)).double()


def optimizer(model, mode, direction):
    hidden, rest = ht.split(model)
    decay = {} if mode == "hyperball" else dict(weight_decay=0.1)
    return ht.HyperTransfer([dict(params=hidden, lr=0.03, mode=mode, direction=direction, **decay), ht.adamw(rest, lr=0.01)])


def loss(model, part):
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(8, 6, generator=generator).double(), torch.randn(8, 3, generator=generator).double()
    return (model(x[part]) - y[part]).square().mean()


def alone(mode, direction):
    model = network()
    o = optimizer(model, mode, direction)
    for _ in range(STEPS):
        o.zero_grad()
        loss(model, slice(None)).backward()
        o.step()
    return [p.detach() for p in model.parameters()]


def trained(kind, rank, mode, direction):
    model = network()
    half = slice(4 * rank, 4 * rank + 4)
    if kind == "ddp":
        whole = nn.parallel.DistributedDataParallel(model)
        o = optimizer(model, mode, direction)
        for _ in range(STEPS):
            o.zero_grad()
            loss(whole, half).backward()
            o.step()
        return [p.detach() for p in model.parameters()]
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cpu", (2,))
    if kind == "fsdp":
        from torch.distributed.fsdp import fully_shard
        fully_shard(model, mesh=mesh)
        o = optimizer(model, mode, direction)
        for _ in range(STEPS):
            o.zero_grad()
            loss(model, half).backward()
            o.step()
        return [p.detach().full_tensor() for p in model.parameters()]
    from torch.distributed.tensor import Shard, distribute_tensor
    twin = network()  # computes the gradients; the sharded parameters are what is trained
    sharded = {name: nn.Parameter(distribute_tensor(p.detach(), mesh, [Shard(0)])) for name, p in twin.named_parameters()}
    hidden = {name for name, _ in ht.split(twin)[0]}
    groups = [[(name, p) for name, p in sharded.items() if (name in hidden) == wanted] for wanted in (True, False)]
    decay = {} if mode == "hyperball" else dict(weight_decay=0.1)
    o = ht.HyperTransfer([dict(params=groups[0], lr=0.03, mode=mode, direction=direction, **decay), ht.adamw(groups[1], lr=0.01)])
    for _ in range(STEPS):
        with torch.no_grad():
            for p, q in zip(twin.parameters(), sharded.values()):
                p.copy_(q.full_tensor())
        twin.zero_grad()
        loss(twin, slice(None)).backward()
        for p, q in zip(twin.parameters(), sharded.values()):
            q.grad = distribute_tensor(p.grad, mesh, [Shard(0)])
        o.step()
    return [p.detach().full_tensor() for p in sharded.values()]


def watched(rank, folder):
    """Every process watches its optimizer, as a loop that is the same in all of them does: one file, one report."""
    model, said = network(), io.StringIO()
    o = torch.optim.AdamW(model.parameters())
    with contextlib.redirect_stdout(said), ht.EffectiveRates(model, o, os.path.join(folder, "norms.csv"), every=1) as rates:
        for _ in range(STEPS):
            o.zero_grad()
            loss(model, slice(None)).backward()
            o.step()
    dist.barrier()
    assert [name for name in os.listdir(folder) if "norms" in name] == ["norms.csv"], os.listdir(folder)
    assert len(rates.rows) == 2 * STEPS and bool(said.getvalue()) == (rank == 0)


def main(kind, rank, file):
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    worst = 0.0
    for mode, direction in (("base", "adam"), ("hyperball", "muon"), ("hypertransfer-plus", "muon"), ("hypertransfer", "adam")):
        weights = trained(kind, rank, mode, direction)
        for p, q in zip(weights, alone(mode, direction)):
            worst = max(worst, (p - q).abs().max().item())
        both = [torch.zeros_like(weights[0]) for _ in range(2)]
        dist.all_gather(both, weights[0].contiguous())
        assert torch.equal(*both), f"{kind} {mode}: the two processes differ"
    watched(rank, os.path.dirname(file))
    print(f"{kind}: two processes are one to {worst:.1e}, and equal to the bit" if worst < 1e-12 else f"FAILED: {kind} is off by {worst}")
    dist.destroy_process_group()


def run(kind, timeout=100):
    """What the first of two processes says last, and whether both ended well."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, os.path.abspath(__file__), kind]
        both = [subprocess.Popen([*command, str(rank), os.path.join(folder, "meet")], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True) for rank in range(2)]
        try:
            said = [process.communicate(timeout=timeout)[0] for process in both]
        finally:
            for process in both:
                process.kill()
        good = all(process.returncode == 0 for process in both) and "FAILED" not in "".join(said)
        return good, (said[0].strip().splitlines() or ["nothing"])[-1], said[0]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
