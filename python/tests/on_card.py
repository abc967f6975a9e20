"""Everything that needs a card and a new PyTorch, in one call that ends within four minutes; the table is printed last.

    python3 python/tests/on_card.py            # --small for a dry run without a card

A GPT of 124M in plain PyTorch on random tokens with structure: Muon twice and its hypertransfer-plus twin over 200 steps; our Muon
beside torch.optim.Muon, in loss over 50 steps and in milliseconds; the cost of EffectiveRates; GradScaler; torch.compile of the
model, of Newton-Schulz and of the step; DDP, DTensor and FSDP2 with two gloo processes. Sums by atomic operations make two
identical runs differ; so a process of its own, with PyTorch's deterministic kernels, counts the losses in which twins differ.
"""

import argparse
import math
import os
import subprocess
import sys
import time
import traceback

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.dirname(os.path.abspath(__file__))]

import torch
from torch import nn
from torch.nn import functional as F

import hypertransfer as ht
import processes

START = time.time()
LIMIT = 235
TABLE = []


class Block(nn.Module):
    def __init__(self, C, D):
        super().__init__()
        self.D = D
        self.n1, self.n2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.q, self.k, self.v, self.o = (nn.Linear(C, C, bias=False) for _ in range(4))
        self.fc, self.proj = nn.Linear(C, 4 * C, bias=False), nn.Linear(4 * C, C, bias=False)

    def forward(self, h):
        B, T, C = h.shape
        a = self.n1(h)
        q, k, v = (m(a).view(B, T, C // self.D, self.D).transpose(1, 2) for m in (self.q, self.k, self.v))
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True) if hasattr(F, "scaled_dot_product_attention") else v
        h = h + self.o(o.transpose(1, 2).reshape(B, T, C))
        return h + self.proj(F.gelu(self.fc(self.n2(h))))


class GPT(nn.Module):
    def __init__(self, V, C, L, D, T):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, C), nn.Embedding(T, C)
        self.blocks = nn.ModuleList(Block(C, D) for _ in range(L))
        self.norm, self.lm_head = nn.LayerNorm(C), nn.Linear(C, V, bias=False)
        for p in self.parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=1 / math.sqrt(p.shape[1]) if p.shape[0] != V else 0.02)

    def forward(self, x, y):
        h = self.wte(x) + self.wpe(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            h = block(h)
        return F.cross_entropy(self.lm_head(self.norm(h)).flatten(0, 1).float(), y.flatten())


class Bench:
    """Networks that all start from the same numbers, and batches by step."""

    def __init__(self, small):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.V, self.C, self.L, self.D, self.T, self.B = (97, 32, 2, 16, 16, 4) if small else (50304, 768, 12, 128, 1024, 16)
        torch.manual_seed(0)
        self.network = GPT(self.V, self.C, self.L, self.D, self.T).to(self.device)
        self.weights = {name: w.clone() for name, w in self.network.state_dict().items()}
        self.fast = self.network
        if hasattr(torch, "compile") and self.device == "cuda" and not torch.are_deterministic_algorithms_enabled():
            try:
                self.fast = torch.compile(self.network)
                self.loss(self.fast, 0).backward()
            except Exception:
                traceback.print_exc()
                self.fast = self.network
                TABLE.append(("torch.compile of the model", "FAILED: eager from here on"))

    def model(self, compiled=True):
        """The network at its start; one for all runs, so that it is compiled once."""
        self.network.load_state_dict(self.weights)
        self.network.zero_grad(set_to_none=True)
        return self.network, self.fast if compiled else self.network

    def batch(self, t):
        generator = torch.Generator().manual_seed(1000 + t)
        first = torch.randint(self.V, (self.B, 1), generator=generator)
        steps = torch.randint(1, 12, (self.B, self.T), generator=generator)  # a walk: what comes next can be learnt
        tokens = (first + torch.cat((torch.zeros_like(first), steps.cumsum(1)), 1)) % self.V
        tokens = tokens.to(self.device)
        return tokens[:, :-1], tokens[:, 1:]

    def autocast(self):
        return torch.autocast(self.device, dtype=torch.bfloat16)

    def loss(self, forward, t):
        with self.autocast():
            return forward(*self.batch(t))

    def train(self, optimizers, forward, steps, scheduled=None, after=lambda t: None):
        losses = []
        peaks = [[group["lr"] for group in o.param_groups] for o in optimizers]
        for t in range(steps):
            for o, peak in zip(optimizers, peaks):
                for group, lr in zip(o.param_groups, peak):
                    group["lr"] = ht.linear(t, lr, scheduled or steps, 0.05, 0.1)
                o.zero_grad()
            loss = self.loss(forward, t)
            loss.backward()
            for o in optimizers:
                o.step()
            losses.append(loss.detach())
            after(t)
        return torch.stack(losses).tolist()

    def ms(self, optimizers, forward, steps):
        """The median milliseconds of a whole step, each from synchronisation to synchronisation of the ten around it."""
        times = []
        batches = [self.batch(t) for t in range(10)]
        for round_ in range(steps // 10 + 1):
            self.wait()
            start = time.perf_counter()
            for x, y in batches:
                for o in optimizers:
                    o.zero_grad()
                with self.autocast():
                    loss = forward(x, y)
                loss.backward()
                for o in optimizers:
                    o.step()
            self.wait()
            if round_:  # the first warms up
                times.append((time.perf_counter() - start) * 100)
        return sorted(times)[len(times) // 2]

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()


def muon(model, mode="base", **options):
    hidden, rest = ht.split(model)
    return [ht.HyperTransfer([ht.muon(hidden, 0.02, 0.1, mode, shape_factor="rms", **options), ht.adamw(rest, 0.002, 0.1)])]


def largest(a, b):
    return max(abs(x - y) for x, y in zip(a, b))


def twins(bench, steps):
    runs = {}
    for name, mode, options in (("Muon", "base", {}), ("Muon again", "base", {}), ("hypertransfer-plus", "hypertransfer-plus", {}),
                                ("Muon, float64", "base", dict(master_dtype=torch.float64)),
                                ("plus, float64", "hypertransfer-plus", dict(master_dtype=torch.float64))):
        model, forward = bench.model()
        runs[name] = bench.train(muon(model, mode, **options), forward, steps)
    first = runs["Muon"]
    noise, gap = largest(first, runs["Muon again"]), largest(first, runs["hypertransfer-plus"])
    yield f"loss of Muon, first and last of {steps} steps", f"{first[0]:.4f} {first[-1]:.4f}"
    yield "largest gap of two identical Muon runs", f"{noise:.2e}"
    yield "largest gap of Muon and its hypertransfer-plus twin", f"{gap:.2e}"
    yield "the same with float64 masters on both sides", f"{largest(runs['Muon, float64'], runs['plus, float64']):.2e}"


def exact(small):
    """The losses of twins, with deterministic kernels; what `deterministic` starts."""
    torch.use_deterministic_algorithms(True)
    bench, steps, runs = Bench(small), 8 if small else 60, {}
    high = dict(master_dtype=torch.float64)
    for name, mode, options in (("Muon", "base", {}), ("again", "base", {}), ("high", "base", high), ("plus", "hypertransfer-plus", high)):
        model, forward = bench.model()
        runs[name] = bench.train(muon(model, mode, **options), forward, steps, scheduled=200)
    for a, b in (("Muon", "again"), ("high", "plus")):
        print(sum(x != y for x, y in zip(runs[a], runs[b])), "of", steps)


def deterministic(_, small):
    command = [sys.executable, os.path.abspath(__file__), "--exact"] + ["--small"] * small
    said = subprocess.run(command, env={**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}, stdout=subprocess.PIPE, text=True,
                          timeout=90, check=True).stdout.splitlines()
    yield "deterministic kernels: losses in which two identical Muon runs differ", said[-2]
    yield "the same, Muon and its hypertransfer-plus twin, float64 masters", said[-1]


def torchs(model):
    hidden, rest = ht.split(model)
    adam = torch.optim.AdamW([p for _, p in rest], lr=0.002, weight_decay=0.1, betas=(0.9, 0.95), eps=1e-10)
    return [torch.optim.Muon([p for _, p in hidden], lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"), adam]


THEIRS = dict(momentum_start="zero", nesterov=True)


def beside(bench, steps):
    if not hasattr(torch.optim, "Muon"):
        yield "torch.optim.Muon", "this PyTorch has none"
        return
    losses = []
    for make in (torchs, torchs, lambda model: muon(model, **THEIRS)):
        model, forward = bench.model()
        losses.append(bench.train(make(model), forward, steps))
    yield f"torch.optim.Muon, last of {steps} losses", f"{losses[0][-1]:.4f}"
    yield "largest gap of two identical torch.optim.Muon runs", f"{largest(losses[0], losses[1]):.2e}"
    yield "largest gap of torch.optim.Muon and ours", f"{largest(losses[0], losses[2]):.2e}"


def costs(bench, steps):
    times = {}
    for turn in range(2):
        for name in ("theirs", "ours", "watched"):
            if name == "theirs" and not hasattr(torch.optim, "Muon"):
                continue
            model, forward = bench.model()
            optimizers = torchs(model) if name == "theirs" else muon(model, **THEIRS)
            rates = None
            if name == "watched":
                optimizers = torchs(model) if hasattr(torch.optim, "Muon") else [torch.optim.AdamW(model.parameters())]
                rates = ht.EffectiveRates(model, optimizers[0])
            times.setdefault(name, []).append(bench.ms(optimizers, forward, steps))
            if rates:
                rates.close(quiet=True)
    best = {name: min(some) for name, some in times.items()}
    yield "ms of a step, torch.optim.Muon; ours; torch.optim.Muon with EffectiveRates", "; ".join(
        f"{best[name]:.2f}" for name in ("theirs", "ours", "watched") if name in best)
    if "theirs" in best:
        yield "ours over torch.optim.Muon (at most 1.05)", f"{best['ours'] / best['theirs']:.4f}"
        yield "with EffectiveRates over without (at most 1.02)", f"{best['watched'] / best['theirs']:.4f}"


def compiled(bench, _):
    if not hasattr(torch, "compile"):
        yield "torch.compile", "this PyTorch has none"
        return
    x = torch.randn(4, 64, 96, device=bench.device)
    whole = torch.compile(ht.newton_schulz, fullgraph=True)
    yield "Newton-Schulz compiled whole, largest difference", f"{(whole(x) - ht.newton_schulz(x)).abs().max().item():.1e}"
    losses = []
    for wrap in (lambda step: step, torch.compile):
        model, forward = bench.model(compiled=False)
        o = muon(model, "hypertransfer-plus")[0]
        o.step = wrap(o.step)
        losses.append(bench.train([o], forward, 4))
    yield "4 steps with optimizer.step compiled, largest gap", f"{largest(*losses):.1e}"


def scaler(bench, _):
    if bench.device != "cuda":
        yield "GradScaler", "needs a card"
        return
    model, forward = bench.model(compiled=False)
    o = muon(model, "hypertransfer-plus")[0]
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**24)
    skipped = 0
    for t in range(30):
        o.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = forward(*bench.batch(t))
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(o)
        scaler.update()
        skipped += scaler.get_scale() < before
    taken = o.state[ht.split(model)[0][0][1]].get("step", 0)
    yield "GradScaler in float16: steps taken and skipped of 30, loss", f"{taken} and {skipped}, {loss.item():.3f}"


def two_processes(_, __):
    for kind in ("ddp", "dtensor", "fsdp"):
        yield kind, processes.run(kind, 60)[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--exact", action="store_true", help="only the twins with deterministic kernels")
    arguments = parser.parse_args()
    small = arguments.small
    if arguments.exact:
        return exact(small)
    bench = Bench(small)
    name = torch.cuda.get_device_name() if bench.device == "cuda" else "no card"
    TABLE.append(("PyTorch, device, parameters", f"{torch.__version__}, {name}, {sum(w.numel() for w in bench.weights.values()):,}"))
    for part, steps in ((two_processes, 0), (scaler, 0), (beside, 8 if small else 50), (costs, 10 if small else 60),
                        (twins, 8 if small else 200), (compiled, 0), (deterministic, small)):
        begun = time.time()
        if begun - START > LIMIT - 40:
            TABLE.append((part.__name__, "left out: no time was left"))
            continue
        try:
            for row in part(bench, steps):
                TABLE.append(row)
        except Exception as e:
            traceback.print_exc()
            TABLE.append((part.__name__, f"FAILED: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"))
        print(f"{part.__name__}: {time.time() - begun:.0f} s", flush=True)
        if bench.device == "cuda":
            torch.cuda.empty_cache()
    width = max(len(name) for name, _ in TABLE)
    for name, value in TABLE:
        print(f"{name:{width}}  {value}")
    print(f"{'seconds':{width}}  {time.time() - START:.0f}")


if __name__ == "__main__":
    main()
