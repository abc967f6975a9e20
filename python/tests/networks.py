"""The networks M1 and M2 as docs/IDEA.md pins them, and files that hold their weights."""

import json
import math
import struct
from types import SimpleNamespace

import torch


def forward(size, p, tokens):
    """The loss. `size`: network, batch B, seq T, dim C, head_dim D, layers, norm_eps; p by name; tokens (B*T + 1)."""
    B, T, C, D = size.batch, size.seq, size.dim, size.head_dim
    m1 = size.network == "M1"
    x, y = tokens[:-1].view(B, T), tokens[1:].view(B, T)

    def norm(h, gain=None):
        h = h / torch.sqrt(h.square().mean(-1, keepdim=True) + size.norm_eps)
        return h if gain is None else h * (1 + p[gain].flatten())

    def heads(h):
        return h.view(B, T, C // D, D).transpose(1, 2)

    half = torch.arange(D // 2, dtype=torch.float64)
    angle = torch.arange(T, dtype=torch.float64)[:, None] * 10000.0 ** (-half / (D // 2))
    cos, sin = angle.cos(), angle.sin()

    def rotary(h):
        a, b = h[..., : D // 2], h[..., D // 2:]
        return torch.cat((a * cos + b * sin, b * cos - a * sin), -1)

    post = norm if m1 else lambda h: h
    h = norm(p["embed.weight"][x], "embed.gain")
    for l in range(size.layers):
        block = f"blocks.{l}."
        a = norm(h, block + "attn.gain")
        q, k, v = (heads(a @ p[f"{block}attn.{name}.weight"].T) for name in "qkv")
        q, k, v = rotary(norm(q)), rotary(norm(k)), norm(v) if m1 else v
        score = q @ k.transpose(-1, -2) / math.sqrt(D)
        score = score.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), -math.inf)
        o = (score.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
        h = h + post(o @ p[block + "attn.o.weight"].T)
        m = post(norm(h, block + "mlp.gain") @ p[block + "mlp.fc.weight"].T).relu().square()
        h = h + post(m @ p[block + "mlp.proj.weight"].T)
    logits = norm(h, "head.gain") @ p["head.weight"].T
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())


def outline(size):
    """The parameters by name: name, shape, whether it is a hidden matrix."""
    C, V = size.dim, size.vocab
    made = [("embed.weight", (V, C), False), ("embed.gain", (1, C), False)]
    for l in range(size.layers):
        made += [(f"blocks.{l}.attn.gain", (1, C), False)]
        made += [(f"blocks.{l}.attn.{name}.weight", (C, C), True) for name in "qkvo"]
        made += [(f"blocks.{l}.mlp.gain", (1, C), False), (f"blocks.{l}.mlp.fc.weight", (4 * C, C), True),
                 (f"blocks.{l}.mlp.proj.weight", (C, 4 * C), True)]
    return sorted(made + [("head.gain", (1, C), False), ("head.weight", (V, C), False)])


def numbers(seed, count):
    """A linear congruence, from -0.5 to 0.5: the same numbers in every language."""
    made = []
    for _ in range(count):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        made.append((seed >> 11) * 2.0**-53 - 0.5)
    return made


def safetensors(path):
    types = {"F64": torch.float64, "F32": torch.float32, "I32": torch.int32}
    with open(path, "rb") as f:
        data = bytearray(f.read())
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensor = torch.frombuffer(data[8 + size + begin:8 + size + end], dtype=types[entry["dtype"]])
            tensors[name] = tensor.view(entry["shape"])
    return tensors


def golden(path):
    """A golden file: sizes, cases and tensors."""
    with open(f"{path}.json") as f:
        return SimpleNamespace(**json.load(f)), safetensors(f"{path}.safetensors")
