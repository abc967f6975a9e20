"""The peer on the GPU: the networks of ours in PyTorch, compiled, for a comparison side by side.

    python3 bench/gpu/torch_peer.py --network M1 [--preset dense-500m]

The same sizes, the same network, the same optimizer as `ht bench --preset gpt2-124m --engine cuda`, or another preset; prints one JSON line with the
same names. It is timed in the same way too: a card is fast in its first second, before it reaches its power limit, so both warm up
for half of the seconds they measure, and take medians of steps. Written for speed: rotary tables precomputed, weights cast once a
micro-batch inside the compiled graph, attention by the fastest backend there is, AdamW fused, Newton-Schulz batched over matrices of
one shape and compiled.
"""
import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

EPSILON = 1e-10
PRESETS = {"gpt2-124m": (12, 768, 64), "dense-500m": (24, 1280, 32)}  # layers, width, sequences per micro-batch
STEPS, COEFFICIENTS = 5, (3.4445, -4.7750, 2.0315)


def norm(x, gain=None):
    y = x.float()
    y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + EPSILON)
    if gain is not None:
        y = y * (1 + gain)
    return y.to(x.dtype)


class Block(torch.nn.Module):
    def __init__(self, C, D, post):
        super().__init__()
        self.D, self.post = D, post
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
        bf16 = torch.bfloat16
        q, k, v = F.linear(norm(h, self.attn_gain), self.qkv.to(bf16)).view(B, T, 3, C // self.D, self.D).unbind(2)

        def rotary(x):
            a, b = norm(x).float().chunk(2, -1)
            return torch.cat((a * cos + b * sin, b * cos - a * sin), -1).to(bf16)

        q, k, v = rotary(q), rotary(k), self.end(v)
        o = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        h = h + self.end(F.linear(o.transpose(1, 2).reshape(B, T, C), self.o.to(bf16)))
        f = self.end(F.linear(norm(h, self.mlp_gain), self.fc.to(bf16)))
        return h + self.end(F.linear(F.relu(f).square(), self.proj.to(bf16)))


class Network(torch.nn.Module):
    def __init__(self, V, L, C, D, T, post):
        super().__init__()
        self.embed = torch.nn.Parameter(torch.randn(V, C) * 0.006)
        self.embed_gain = torch.nn.Parameter(torch.zeros(C))
        self.blocks = torch.nn.ModuleList(Block(C, D, post) for _ in range(L))
        self.head_gain = torch.nn.Parameter(torch.zeros(C))
        self.head = torch.nn.Parameter(torch.randn(V, C) * 0.006)
        angle = torch.outer(torch.arange(T).double(), 10000.0 ** (-torch.arange(D // 2).double() / (D // 2)))
        self.register_buffer("cos", angle.cos().float().view(1, T, 1, D // 2), persistent=False)
        self.register_buffer("sin", angle.sin().float().view(1, T, 1, D // 2), persistent=False)

    def forward(self, inputs, targets):
        h = norm(F.embedding(inputs, self.embed).to(torch.bfloat16), self.embed_gain)
        for block in self.blocks:
            h = block(h, self.cos, self.sin)
        logits = F.linear(norm(h, self.head_gain), self.head.to(torch.bfloat16))
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


@torch.compile(dynamic=False)
def orthogonalize(G):
    a, b, c = COEFFICIENTS
    X = (G / G.norm(dim=(-2, -1), keepdim=True)).to(torch.bfloat16)
    for _ in range(STEPS):
        A = X @ X.mT
        X = a * X + (b * A + c * A @ A) @ X
    return X


class Muon:
    """q, k and v count as three matrices; all are laid wide and batched by shape."""

    def __init__(self, blocks, rate, decay):
        self.rate, self.decay = rate, decay
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
            torch._foreach_lerp_(momenta, [w.grad[rows] for w, rows, _ in group], 0.05)
            tall = [m.shape[0] > m.shape[1] for m in momenta]
            U = orthogonalize(torch.stack([m.mT if t else m for m, t in zip(momenta, tall)]))
            weights = [w[rows] for w, rows, _ in group]
            directions = [u.mT.float() if t else u.float() for u, t in zip(U, tall)]
            torch._foreach_mul_(weights, 1 - self.rate * self.decay)
            torch._foreach_add_(weights, directions, alpha=-self.rate)


def timed(works, seconds):
    """The medians of the milliseconds that each work takes, all of them in turn, for so many seconds."""
    times, end = [[] for _ in works], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 3:
        for work, its in zip(works, times):
            torch.cuda.synchronize()
            start = time.perf_counter()
            work()
            torch.cuda.synchronize()
            its.append(1000 * (time.perf_counter() - start))
    return [statistics.median(its) for its in times]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", choices=["M1", "M2"], default="M1")
    parser.add_argument("--preset", choices=list(PRESETS), default="gpt2-124m")
    parser.add_argument("--batch", type=int, help="sequences per micro-batch, the preset's unless given")
    parser.add_argument("--tokens", type=int, default=524288, help="tokens per step")
    parser.add_argument("--seconds", type=float, default=10, help="how long to measure; the warm-up takes half as long")
    parser.add_argument("--attention", choices=["cudnn", "flash"], default="cudnn")
    args = parser.parse_args()
    L, C, batch = PRESETS[args.preset]
    batch = args.batch or batch
    V, D, T = 50304, 128, 1024
    torch.manual_seed(1234)
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    with torch.device("cuda"):
        network = Network(V, L, C, D, T, args.network == "M1")
        tokens = torch.randint(0, V, (batch, T + 1))
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    hidden = {id(p) for b in network.blocks for p in (b.qkv, b.o, b.fc, b.proj)}
    rest = [p for p in network.parameters() if id(p) not in hidden]
    muon = Muon(network.blocks, 1e-3, 0.1)
    adamw = torch.optim.AdamW(rest, lr=1e-3, betas=(0.9, 0.95), eps=1e-10, weight_decay=0.1, fused=True)
    compiled = torch.compile(network, dynamic=False)
    accumulation = args.tokens // (batch * T)

    def micro():
        (compiled(inputs, targets) / accumulation).backward()

    def step():
        muon.step()
        adamw.step()

    first = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]
    with sdpa_kernel(first if args.attention == "cudnn" else first[::-1], set_priority=True):
        for _ in range(3):
            micro()
            step()
        torch.cuda.reset_peak_memory_stats()
        timed([micro, step], args.seconds / 2)
        micro_ms, optimizer_ms = timed([micro, step], args.seconds)
    total = accumulation * micro_ms + optimizer_ms
    print(json.dumps({
        "preset": args.preset, "network": args.network, "engine": "torch " + torch.__version__, "batch": batch,
        "micro_ms": round(micro_ms, 2), "optimizer_ms": round(optimizer_ms, 2),
        "tokens_per_s": round(accumulation * batch * T / total * 1000),
        "peak_bytes": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
