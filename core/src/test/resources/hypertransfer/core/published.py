"""Norm control as modded-nanogpt's track 3 publishes it, in float64, for PublishedTest: python3 published.py > published.txt

Written from the formulas of the programs in KellerJordan/modded-nanogpt (MIT) at f411b3d (2026-08-01), records/track_3_optimization/results:
  floor     result 9, 20260501_skylight001, and result 29: Muon.step, "u/w-floor"
  brake     result 29, 20260511_dampen_radial_gradient_component: scale_radial_update
  pin       result 29: target_radius_after_update, then rescale_to_radius
  rows      result 46, 20260619_cwd_rowfloor_tailema: Muon.step, "per-output-row floor", which takes the place of the floor
  cautious  result 46: Muon.step, "anisotropic cautious decay AFTER the radius pin"
None of them decays weights otherwise. The programs compute in float32; the least numbers that they divide by are theirs.
"""
import math
import random

DRAW = random.Random(29)


def dot(x, y):
    return math.fsum(a * b for a, b in zip(x, y))


def length(x, least=1e-8):
    return max(math.sqrt(dot(x, x)), least)


def plus(x, a, y):
    return [p + a * q for p, q in zip(x, y)]


def following(w, u, rate, floor, brake, pinned, rows=1, cautious=0.0):
    """The matrix after a step; its rows count only for the floor of result 46."""
    radial = dot(u, w) / max(dot(w, w), 1e-12)
    if radial < 0:  # the step is -u, so it leads outward
        u = plus(u, (brake - 1) * radial, w)
    wide = len(w) // rows
    lifted = []
    for i in range(0, len(w), wide):
        lift = max(1.0, floor * length(w[i : i + wide]) / length(u[i : i + wide]))
        lifted += [lift * x for x in u[i : i + wide]]
    after = plus(w, -rate, lifted)
    if pinned:
        first_order = length(w) - rate * dot(lifted, w) / length(w)
        after = [x * max(first_order, 1e-8) / length(after) for x in after]
    return [x * (1 - rate * cautious * (a * b > 0)) for x, a, b in zip(after, lifted, w)]


def tell(kind, w, u, rate, floor, brake, pinned, rows=1, cautious=0.0):
    after = following(w, u, rate, floor, brake, pinned, rows, cautious)
    numbers = " | ".join(" ".join(map(repr, x)) for x in ([rate, floor, brake], w, u, after))
    print(f"{kind} | {str(pinned).lower()} | {rows} | {numbers}")


def vector(size):
    return [DRAW.gauss(0, size) for _ in range(6)]


def outward(w, u):
    return [-x for x in u] if dot(w, u) > 0 else u


def uneven(u):  # in rows of two
    return [0.1 * u[0], 0.1 * u[1], u[2], u[3], 3 * u[4], 3 * u[5]]


for i in range(44):
    w, u = vector(1), vector(DRAW.choice([0.1, 0.5, 2]))
    rate, floor, brake = DRAW.uniform(0.01, 0.3), DRAW.choice([0, 0.35, 0.3825, 1.5]), DRAW.choice([0, 0.25, 0.5, 1])
    if i < 10:
        tell("9", w, u, 0.0375, 0.35, 1, False)
    elif i < 20:
        tell("29", w, u, rate, 0.3825, 0.5, True)
    elif i < 32:
        tell("29", w, u, rate, floor, brake, DRAW.random() < 0.5)
    elif i < 35:
        tell("row-by-row", w, uneven(u), rate, 0.8, 1, False, rows=3)
    elif i < 38:
        tell("rows", w, uneven(u), rate, 0.8, 0.5, True, rows=3)
    elif i < 40:
        tell("cautious", w, u, 0.3, 0.3825, 0.5, True, cautious=0.5)
    elif i < 42:
        tell("tiny", [1e-7 * x for x in w], outward(w, [1e-7 * x for x in u]), 0.1, 0.3825, 0.5, True)
    elif i == 42:
        tell("through the origin", w, plus(u, 3, w), 2.0, 0, 0.5, True)
    else:
        tell("far outward", w, plus(outward(w, u), -3, w), 2.0, 0, 0.5, True)
