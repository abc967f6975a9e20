"""The peer: the networks of ours in PyTorch, for a comparison side by side, on a card or on a CPU.

    python3 bench/torch_peer.py --network M1 [--preset dense-500m] [--precision fp8]
    python3 bench/torch_peer.py --network M1 --preset demo --device cpu --threads 2 [--workers 2]

The same sizes, the same network, the same optimizer as `ht bench --preset gpt2-124m --engine cuda`, or another preset and `--engine
cpu`; prints one JSON line with the same names. It is timed in the same way too: a card is fast in its first second, before it
reaches its power limit, so both warm up for half of the seconds they measure, and take medians of steps. Written for speed: rotary
tables precomputed, weights cast once a micro-batch inside the compiled graph, attention by the fastest backend there is, AdamW
fused, Newton-Schulz batched over matrices of one shape and compiled. In eight bits it multiplies what ours does, by PyTorch's own
product with scales, and casts inside the compiled graph. On a CPU all is float32, and what an old PyTorch lacks is
written with what it has: before 2.0 nothing is compiled.

With workers, each has one thread and its own share of the sequences, then of the parameters; else each operation uses all threads.
"""
import argparse
import functools
import json
import math
import resource
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
import torch.nn.functional as F

EPSILON = 1e-10
# vocabulary, layers, width, head width, sequence, sequences per micro-batch, tokens per step
PRESETS = {
    "demo": (256, 4, 128, 32, 128, 16, 2048),
    "small": (256, 6, 256, 64, 256, 8, 2048),
    "mid": (50304, 6, 384, 128, 256, 4, 1024),
    "gpt2-124m": (50304, 12, 768, 128, 1024, 64, 524288),
    "dense-500m": (50304, 24, 1280, 128, 1024, 32, 524288),
}
STEPS, COEFFICIENTS = 5, (3.4445, -4.7750, 2.0315)


def norm(x, gain=None):
    y = x.float()
    y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + EPSILON)
    if gain is not None:
        y = y * (1 + gain)
    return y.to(x.dtype)


class Eight(torch.autograd.Function):
    """x w^T in eight bits: e4m3, gradients e5m2, with the scales of ours, which need no pass over the numbers."""

    @staticmethod
    def multiply(a, b, scale, dtype):
        one = torch.ones((), device=a.device)
        return torch._scaled_mm(a, b, scale_a=scale * one, scale_b=one, out_dtype=dtype)

    @staticmethod
    def forward(ctx, x, w, gradient):
        operand, weight = 0.25, 2.0 ** round(math.log2(w.shape[1]) / 2)
        x8, w8 = (x * operand).to(torch.float8_e4m3fn), (w * weight).to(torch.float8_e4m3fn)
        ctx.save_for_backward(x8, w8)
        ctx.scales = operand, weight, gradient
        return Eight.multiply(x8, w8.T, 1 / (operand * weight), x.dtype)

    @staticmethod
    def backward(ctx, dy):
        x8, w8 = ctx.saved_tensors
        operand, weight, gradient = ctx.scales
        d8 = (dy * gradient).to(torch.float8_e5m2)
        dx = Eight.multiply(d8, w8.T.contiguous().T, 1 / (gradient * weight), dy.dtype)
        dw = Eight.multiply(d8.T.contiguous(), x8.T.contiguous().T, 1 / (gradient * operand), torch.float32)
        return dx, dw, None


def linear(x, w, eight):
    """The weight is float32 and cast here, once a micro-batch."""
    if not eight:
        return F.linear(x, w.to(x.dtype))
    rows = x.flatten(0, -2)
    return Eight.apply(rows, w, 1024.0 * rows.shape[0]).unflatten(0, x.shape[:-1])


def attend(q, k, v):
    """Causal attention of (B, H, T, D)."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    T, D = q.shape[-2:]
    return ((q * D**-0.5) @ k.transpose(2, 3) + later(T)).softmax(-1) @ v


@functools.cache
def later(T):
    """Minus infinity for each key after the query."""
    return torch.full((T, T), float("-inf")).triu(1)


class Block(torch.nn.Module):
    def __init__(self, C, D, post, eight):
        super().__init__()
        self.D, self.post, self.eight = D, post, eight
        self.attn_gain = torch.nn.Parameter(torch.zeros(C))
        self.mlp_gain = torch.nn.Parameter(torch.zeros(C))
        self.qkv = torch.nn.Parameter(torch.randn(3 * C, C) * C**-0.5)
        self.o = torch.nn.Parameter(torch.randn(C, C) * C**-0.5)
        self.fc = torch.nn.Parameter(torch.randn(4 * C, C) * C**-0.5)
        self.proj = torch.nn.Parameter(torch.randn(C, 4 * C) * (4 * C) ** -0.5)

    def end(self, x):
        return norm(x) if self.post else x

    def forward(self, h, cos, sin):
        B, T, C = h.shape
        dtype = h.dtype
        q, k, v = linear(norm(h, self.attn_gain), self.qkv, self.eight).view(B, T, 3, C // self.D, self.D).unbind(2)

        def rotary(x):
            a, b = norm(x).float().chunk(2, -1)
            return torch.cat((a * cos + b * sin, b * cos - a * sin), -1).to(dtype)

        q, k, v = rotary(q), rotary(k), self.end(v)
        o = attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        h = h + self.end(linear(o.transpose(1, 2).reshape(B, T, C), self.o, False))
        f = self.end(linear(norm(h, self.mlp_gain), self.fc, self.eight))
        return h + self.end(linear(F.relu(f).square(), self.proj, self.eight))


class Network(torch.nn.Module):
    def __init__(self, V, L, C, D, T, post, dtype, eight):
        super().__init__()
        self.dtype, self.eight = dtype, eight
        self.embed = torch.nn.Parameter(torch.randn(V, C) * 0.006)
        self.embed_gain = torch.nn.Parameter(torch.zeros(C))
        self.blocks = torch.nn.ModuleList(Block(C, D, post, eight) for _ in range(L))
        self.head_gain = torch.nn.Parameter(torch.zeros(C))
        self.head = torch.nn.Parameter(torch.randn(V, C) * 0.006)
        angle = torch.outer(torch.arange(T).double(), 10000.0 ** (-torch.arange(D // 2).double() / (D // 2)))
        self.register_buffer("cos", angle.cos().float().view(1, T, 1, D // 2), persistent=False)
        self.register_buffer("sin", angle.sin().float().view(1, T, 1, D // 2), persistent=False)

    def forward(self, inputs, targets):
        h = norm(F.embedding(inputs, self.embed).to(self.dtype), self.embed_gain)
        for block in self.blocks:
            h = block(h, self.cos, self.sin)
        logits = linear(norm(h, self.head_gain), self.head, self.eight)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def orthogonalize(G, dtype):
    a, b, c = COEFFICIENTS
    X = (G / G.norm(dim=(-2, -1), keepdim=True)).to(dtype)
    for _ in range(STEPS):
        A = X @ X.mT
        X = a * X + (b * A + c * A @ A) @ X
    return X


def orthogonalize_eagerly(G, dtype):
    """The same where nothing is compiled, with fewer passes over the matrices."""
    a, b, c = COEFFICIENTS
    X = (G / G.norm(dim=(-2, -1), keepdim=True)).to(dtype)
    for _ in range(STEPS):
        A = torch.bmm(X, X.mT)
        X = torch.baddbmm(X, torch.baddbmm(A, A, A, beta=b, alpha=c), X, beta=a)
    return X


class Muon:
    """q, k and v count as three matrices; all are laid wide and batched by shape."""

    def __init__(self, blocks, rate, decay, orthogonalize):
        self.rate, self.decay, self.orthogonalize = rate, decay, orthogonalize
        self.groups = {}
        for block in blocks:
            for w in (block.qkv, block.o, block.fc, block.proj):
                parts = w.shape[0] // w.shape[1] if w is block.qkv else 1
                for k in range(parts):
                    rows = slice(k * w.shape[0] // parts, (k + 1) * w.shape[0] // parts)
                    shape = (min(w[rows].shape), max(w[rows].shape))
                    self.groups.setdefault(shape, []).append((w, rows, torch.zeros_like(w[rows])))

    @torch.no_grad()
    def step(self):
        for group in self.groups.values():
            momenta = [m for _, _, m in group]
            gradients = [w.grad[rows] for w, rows, _ in group]
            if hasattr(torch, "_foreach_lerp_"):
                torch._foreach_lerp_(momenta, gradients, 0.05)
            else:
                for m, g in zip(momenta, gradients):
                    m.lerp_(g, 0.05)
            tall = [m.shape[0] > m.shape[1] for m in momenta]
            U = self.orthogonalize(torch.stack([m.mT if t else m for m, t in zip(momenta, tall)]))
            weights = [w[rows] for w, rows, _ in group]
            directions = [u.mT.float() if t else u.float() for u, t in zip(U, tall)]
            torch._foreach_mul_(weights, 1 - self.rate * self.decay)
            torch._foreach_add_(weights, directions, alpha=-self.rate)


def adamw(parameters):
    options = dict(lr=1e-3, betas=(0.9, 0.95), eps=1e-10, weight_decay=0.1)
    try:
        return torch.optim.AdamW(parameters, fused=True, **options)
    except (TypeError, RuntimeError):  # an older PyTorch, or one that fuses on cards only
        return torch.optim.AdamW(parameters, **options)


class Workers:
    """A step on threads of our own, each with its own part of the sequences, then of the parameters."""

    def __init__(self, network, tokens, count, orthogonalize):
        if tokens.shape[0] % count:
            raise SystemExit(f"{count} workers cannot share {tokens.shape[0]} sequences evenly; choose another --workers")
        self.pool = ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,))
        self.network, self.parameters = network, list(network.parameters())
        self.shares = tokens.chunk(count)
        blocks = [list(network.blocks)[k::count] for k in range(count)]
        rest = others(network)
        self.muons = [Muon(part, 1e-3, 0.1, orthogonalize) for part in blocks]
        self.adamws = [adamw(rest[k::count]) for k in range(count)]

    def gradient(self, tokens):
        loss = self.network(tokens[:, :-1], tokens[:, 1:]) / len(self.shares)
        return torch.autograd.grad(loss, self.parameters)

    def micro(self):
        first, *more = self.pool.map(self.gradient, self.shares)
        for gradients in more:
            torch._foreach_add_(first, gradients)
        for p, g in zip(self.parameters, first):
            p.grad = g

    def step(self):
        list(self.pool.map(lambda optimizer: optimizer.step(), self.muons + self.adamws))


def others(network):
    """All parameters except the hidden matrices."""
    hidden = {id(p) for b in network.blocks for p in (b.qkv, b.o, b.fc, b.proj)}
    return [p for p in network.parameters() if id(p) not in hidden]


def timed(works, seconds, wait):
    """The medians of the milliseconds that each work takes, all of them in turn, for so many seconds."""
    times, end = [[] for _ in works], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 3:
        for work, its in zip(works, times):
            wait()
            start = time.perf_counter()
            work()
            wait()
            its.append(1000 * (time.perf_counter() - start))
    return [statistics.median(its) for its in times]


def fastest_attention(first):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backends = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]
    return sdpa_kernel(backends if first == "cudnn" else backends[::-1], set_priority=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", choices=["M1", "M2"], default="M1")
    parser.add_argument("--preset", choices=list(PRESETS), default="gpt2-124m")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--precision", choices=["bf16", "fp8"], default="bf16", help="of a card's products; fp8: not attention's and o's")
    parser.add_argument("--threads", type=int, help="of a CPU, all unless given")
    parser.add_argument("--workers", type=int, default=1, help="on a CPU: threads with their own share of the sequences")
    parser.add_argument("--batch", type=int, help="sequences per micro-batch, the preset's unless given")
    parser.add_argument("--tokens", type=int, help="tokens per step, the preset's unless given")
    parser.add_argument("--seconds", type=float, default=10, help="how long to measure; the warm-up takes half as long")
    parser.add_argument("--attention", choices=["cudnn", "flash"], default="cudnn")
    args = parser.parse_args()
    V, L, C, D, T, batch, tokens = PRESETS[args.preset]
    batch = args.batch or batch
    accumulation = max(1, (args.tokens or tokens) // (batch * T))
    cuda = args.device == "cuda"
    if args.threads or args.workers > 1:
        torch.set_num_threads(1 if args.workers > 1 else args.threads)
    torch.manual_seed(1234)
    if cuda:
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    dtype = torch.bfloat16 if cuda else torch.float32
    network = Network(V, L, C, D, T, args.network == "M1", dtype, cuda and args.precision == "fp8").to(args.device)
    sequences = torch.randint(0, V, (batch, T + 1)).to(args.device)
    inputs, targets = sequences[:, :-1].contiguous(), sequences[:, 1:].contiguous()
    compiles = hasattr(torch, "compile") and args.workers == 1
    newton_schulz = torch.compile(orthogonalize, dynamic=False) if compiles else orthogonalize_eagerly

    if args.workers > 1:
        workers = Workers(network, sequences, args.workers, lambda G: newton_schulz(G, dtype))
        works = [workers.micro, workers.step]
    else:
        compiled = torch.compile(network, dynamic=False) if compiles else network
        muon = Muon(network.blocks, 1e-3, 0.1, lambda G: newton_schulz(G, dtype))
        rest = adamw(others(network))

        def micro():
            (compiled(inputs, targets) / accumulation).backward()

        def step():
            muon.step()
            rest.step()
            if accumulation == 1:  # then the next gradients need not be added to these
                network.zero_grad(set_to_none=True)

        works = [micro, step]

    wait = torch.cuda.synchronize if cuda else lambda: None
    with fastest_attention(args.attention) if cuda else nullcontext():
        for _ in range(3):
            for work in works:
                work()
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        timed(works, args.seconds / 2, wait)
        micro_ms, optimizer_ms = timed(works, args.seconds, wait)
    total = accumulation * micro_ms + optimizer_ms
    print(json.dumps({
        "preset": args.preset, "network": args.network, "engine": "torch " + torch.__version__,
        "precision": args.precision if cuda else "float32", "batch": batch,
        "micro_ms": round(micro_ms, 2), "optimizer_ms": round(optimizer_ms, 2),
        "tokens_per_s": round(accumulation * batch * T / total * 1000),
        "peak_bytes": torch.cuda.max_memory_allocated() if cuda
        else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


if __name__ == "__main__":
    main()
