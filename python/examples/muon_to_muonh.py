# %% [markdown]
# # From my Muon run to the same run as MuonH, in ten minutes
#
# MuonH keeps the norm of every hidden matrix fixed, so its learning rate is an angle: 0.01 means that a step turns each matrix by 0.01
# radians. Which rate does the same as *my* Muon? Below: a Muon run, what its learning rate really was, and three ways to the same run
# as MuonH. It takes about a minute on a laptop and needs PyTorch and this package only.

# %%
import torch
from torch import nn
from torch.nn import functional as F

from hypertransfer import EffectiveRates, HyperTransfer, Picture, adamw, linear, muon, muonh, rates, split

STEPS, V, C, T, B = 100, 32, 24, 16, 8

# %% [markdown]
# ## 1. My network, my data, my Muon
#
# A small transformer that learns to continue a noisy walk over 32 tokens. Hidden matrices go to Muon, everything else to AdamW:
# `split` finds them.

# %%
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.qkv, self.o = nn.Linear(C, 3 * C, bias=False), nn.Linear(C, C, bias=False)
        self.fc, self.proj = nn.Linear(C, 4 * C, bias=False), nn.Linear(4 * C, C, bias=False)

    def forward(self, h):
        q, k, v = self.qkv(self.n1(h)).chunk(3, -1)
        score = (q @ k.transpose(1, 2) / C**0.5).masked_fill(torch.ones(T, T).triu(1).bool(), -1e9)
        h = h + self.o(score.softmax(-1) @ v)
        return h + self.proj(F.relu(self.fc(self.n2(h))).square())


def network():
    torch.manual_seed(0)
    return nn.ModuleDict(dict(wte=nn.Embedding(V, C), wpe=nn.Embedding(T, C), block=Block(), norm=nn.LayerNorm(C), lm_head=nn.Linear(C, V)))


def loss(model, t):
    generator = torch.Generator().manual_seed(t)
    first, steps = torch.randint(V, (B, 1), generator=generator), torch.randint(1, 4, (B, T), generator=generator)
    tokens = (first + torch.cat((torch.zeros_like(first), steps.cumsum(1)), 1)) % V
    h = model["wte"](tokens[:, :-1]) + model["wpe"].weight
    logits = model["lm_head"](model["norm"](model["block"](h)))
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def train(model, optimizer, rate):
    losses = []
    for t in range(STEPS):
        optimizer.param_groups[0]["lr"] = rate(t)
        optimizer.param_groups[1]["lr"] = linear(t, 0.01, STEPS)
        optimizer.zero_grad()
        value = loss(model, t)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


my_rate = lambda t: linear(t, 0.1, STEPS, final_ratio=0.1)  # my tuned schedule: up to 0.1, down to a tenth of it

# %% [markdown]
# ## 2. What is my learning rate, really?
#
# Three lines in any loop, with any optimizer: make an `EffectiveRates`, train, close it.

# %%
model = network()
hidden, rest = split(model)
optimizer = HyperTransfer([muon(hidden, lr=0.1, weight_decay=0.1), adamw(rest, lr=0.01)])
measured = EffectiveRates(model, optimizer, every=3)
muon_losses = train(model, optimizer, my_rate)
print(measured.close(quiet=True))

# %% [markdown]
# ## 3. The same run as MuonH, exactly
#
# `mode="hypertransfer-plus"`: every matrix lives on a Hyperball and follows my Muon. The losses are the same, to rounding.

# %%
twin = network()
hidden, rest = split(twin)
optimizer = HyperTransfer([muon(hidden, lr=0.1, weight_decay=0.1, mode="hypertransfer-plus"), adamw(rest, lr=0.01)])
twin_losses = train(twin, optimizer, my_rate)
gap = max(abs(a - b) for a, b in zip(muon_losses, twin_losses))
print(f"largest difference of the two losses over {STEPS} steps: {gap:.1e}")
for name, p in hidden[:2]:
    print(f"{name}: norm {optimizer.carrier(p).norm():.4f} on the Hyperball, {p.norm():.4f} as Muon would have it")

# %% [markdown]
# ## 4. As plain MuonH, with the rate that was measured
#
# Plain `muonh` has no memory of Muon's norms; it only takes the angles. `measured.rate_at(t)` is their schedule.

# %%
ball = network()
hidden, rest = split(ball)
optimizer = HyperTransfer([muonh(hidden, lr=0.01), adamw(rest, lr=0.01)])
muonh_losses = train(ball, optimizer, measured.rate_at)
print(f"last ten losses: Muon {sum(muon_losses[-10:]) / 10:.4f}, MuonH {sum(muonh_losses[-10:]) / 10:.4f}")

# %% [markdown]
# ## 5. Before any run: the rate from shapes and first norms
#
# `rates` predicts the effective rates of my Muon and returns the MuonH rate that goes with them, with its errors.

# %%
answer = rates(network(), optimizer="muon", lr=0.1, weight_decay=0.1, steps=STEPS, final_ratio=0.1, to="muonh")
print(answer)
guess = network()
hidden, rest = split(guess)
optimizer = HyperTransfer([muonh(hidden, lr=answer.lr), adamw(rest, lr=0.01)])
guess_losses = train(guess, optimizer, lambda t: linear(t, answer.lr, STEPS, final_ratio=answer.final_ratio))
print(f"last ten losses with the predicted rate: {sum(guess_losses[-10:]) / 10:.4f}")

# %% [markdown]
# ## 6. One picture
#
# By how much each run turns its matrices per step. The schedule says 0.1, falling to a tenth. The matrices grew, so Muon really turned
# them by less and less. MuonH with the measured or the predicted rate follows that curve; MuonH with Muon's own number does not.

# %%
steps, turned = zip(*measured.schedule())
picture = Picture("radians per step", {
    "Muon, measured": (steps, turned),
    "MuonH, predicted rate": (steps, [linear(t, answer.lr, STEPS, final_ratio=answer.final_ratio) for t in steps]),
    "MuonH with Muon's own number": (steps, [my_rate(t) for t in steps])}, log=True)
picture
