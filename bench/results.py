#!/usr/bin/env python3
"""The tables of losses, norms and rates in docs/RESULTS.md and one in notes/LOG.md, computed from the runs in docs/runs.

Says which tables are not those of the runs, with exit code 1 if there are any; --write writes them.

FILE: docs/RESULTS.md and notes/LOG.md, or copies of them. A table stands between `<!-- table NAME -->` and `<!-- end -->`. After new
runs: add their names below, then --write. Only LOG.md may have a table with a run of a program that was not committed.
"""
import argparse
import bisect
import functools
import json
import math
import pathlib
import re
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STUDENT = {2: 12.706, 3: 4.3027, 4: 3.1824, 5: 2.7764}  # the 97.5 % quantile for n values
RUNS = {}  # the folders of all runs, by name and by archive/name
USED = set()  # those that the table under way was computed from
WARMUP = 286
LENGTH = 5723  # the paper's steps


def lines(file):
    return json.loads("[" + ",".join(file.read_text().splitlines()) + "]")


def setting(run, group, key):
    """The value of `key` in `group` of a run's config.yaml, which is flat enough to be read without a library."""
    return re.search(rf"^{group}:\n(?:  .*\n)*?  {key}: \"?([^\"\n]*)", (run / "config.yaml").read_text(), re.M).group(1)


@functools.cache
def steps(run):
    return int(re.search(r"^steps: (\d+)", (run / "config.yaml").read_text(), re.M).group(1))


@functools.cache
def curves(run):
    read = lines(run / "metrics.jsonl")
    kinds = ("loss", "validation", "carrier", "represented")
    return {kind: {line["step"]: line[kind] for line in read if line.get(kind) is not None} for kind in kinds}


def losses(run, kind):
    return curves(run)[kind]


@functools.cache
def logged(run):
    """The lines of a run's log of matrices, and the matrices' names."""
    return lines(run / "matrices.jsonl"), json.loads((run / "provenance.json").read_text())["matrices"]


def uncommitted(run):
    return json.loads((run / "provenance.json").read_text())["commit"].endswith("-dirty")


@functools.cache
def algorithms(run):
    """Of its matrix products, by product."""
    file = run / "decisions.txt"
    return dict(line.split()[1:3] for line in file.read_text().splitlines()) if file.exists() else {}


def other_algorithms(a, b):
    """How many products have another algorithm, of those that both runs have."""
    ours, theirs = algorithms(a), algorithms(b)
    common = ours.keys() & theirs.keys()
    return sum(ours[product] != theirs[product] for product in common), len(common)


def starred(text, ours, theirs):
    """With a star if two runs that are compared have other algorithms."""
    return text + " \\*" if any(other_algorithms(a, b)[0] for a, b in zip(ours, theirs)) else text


def mean(values):
    return sum(values) / len(values)


def last(run, kind):
    found = losses(run, kind)
    return found[max(found)]


def end(run):
    return last(run, "validation")


def training(run):
    """The mean training loss of the last twentieth of the steps."""
    return mean([loss for step, loss in losses(run, "loss").items() if step >= steps(run) * 0.95])


def runs(names):
    """`a b` are two runs, `a-{x,y}` too; `a*3` is a run and its seeds: a, a-seed1, a-seed2."""
    found = []
    for name in names.split():
        name, _, seeds = name.partition("*")
        before, _, choice = name.partition("{")
        choice, _, after = choice.partition("}")
        found += [RUNS[before + x + after] for x in choice.split(",")]
        found += [RUNS[f"{name}-seed{i}"] for i in range(1, int(seeds or 1))]
    USED.update(found)
    return found


def every(mode):
    """All runs of Muon over the paper's steps whose mode has that word, with a schedule that is not another run's."""
    found = [
        run
        for run in sorted(set(RUNS.values()))
        if steps(run) == LENGTH
        and mode in setting(run, "matrices", "mode")
        and (setting(run, "matrices", "direction"), setting(run, "matrices", "recorded")) == ("muon", "null")
    ]
    USED.update(found)
    return found


class Difference:
    """The mean of `value(a) - value(b)` over the pairs of two sides, and its 95 % interval."""

    def __init__(self, value, ours, theirs):
        each = [value(a) - value(b) for a, b in zip(ours, theirs, strict=True)]
        self.n, self.mean = len(each), mean(each)
        if self.n > 1:
            deviation = math.sqrt(sum((x - self.mean) ** 2 for x in each) / (self.n - 1))
            self.half = STUDENT[self.n] * deviation / math.sqrt(self.n)
            self.sign = 0 if abs(self.mean) <= self.half else math.copysign(1, self.mean)

    def __str__(self):
        if self.n == 1:
            return f"{self.mean:+.4f}"
        return f"{self.mean:+.4f} ({self.mean - self.half:+.4f} to {self.mean + self.half:+.4f})"


def both(ours, theirs):
    """The differences in validation and in training."""
    return [Difference(value, runs(ours), runs(theirs)) for value in (end, training)]


def differences(claim, ours, theirs):
    return starred(claim, runs(ours), runs(theirs)), *map(str, both(ours, theirs))


def difference(claim, paper, ours, theirs):
    claim, *told = differences(claim, ours, theirs)
    return claim, paper, *told, verdict(paper, *both(ours, theirs))


def verdict(paper, validation, trained):
    """Training may only take back what validation says: the rates are tuned for validation."""
    if not re.match("[+-]?[0-9]", paper):
        return ""
    if validation.n == 1:
        return "one seed"
    sign = math.copysign(1, float(paper)) if float(paper) else 0
    if not validation.sign or trained.sign == -validation.sign:
        return "open"
    return "yes" if validation.sign == sign else "no"


def differing(a, b):
    """The steps of the losses that differ, and how many losses there are."""
    common, differ = 0, []
    for kind in ("loss", "validation"):
        ours, theirs = losses(a, kind), losses(b, kind)
        common += len(ours.keys() & theirs.keys())
        differ += [step for step in ours.keys() & theirs.keys() if ours[step] != theirs[step]]
    return differ, common


def transfer(claim, paper, target, follower):
    (a,), (b,) = runs(target), runs(follower)
    differ, common = differing(a, b)
    begin = f"exact before step {min(differ):,}, then within" if differ and min(differ) > 1 else "within"
    said = f"{begin} {largest_gap(a, b):.1e}" if differ else "exact"
    norm, rate = follower_errors(a, b)
    return starred(claim, [a], [b]), paper, f"{end(a):.4f}, {end(b):.4f}", f"{len(differ):,} of {common:,}", f"{norm:.1g}, {rate:.1g}", said


def largest_gap(a, b):
    """Between validation losses."""
    theirs = losses(b, "validation")
    return max(abs(loss - theirs[step]) for step, loss in losses(a, "validation").items())


def follower_errors(a, b):
    """The largest relative differences of B's target norms to A's norms and of its effective rates to A's."""
    logs = [{line["step"]: line for line in logged(run)[0]} for run in (a, b)]
    common = sorted(set(logs[0]) & set(logs[1]))
    return (
        max(abs(x - y) / y for s in common for x, y in zip(logs[1][s][ours], logs[0][s][theirs]))
        for ours, theirs in (("target_norm", "norm"), ("effective", "effective"))
    )


def stretches(a, b):
    """Which of two runs leads: [0 or 1, the first validation step, the largest lead] of each stretch."""
    ours, theirs, found = losses(a, "validation"), losses(b, "validation"), []
    for step in sorted(ours.keys() & theirs.keys() - {0}):
        ahead = int(theirs[step] < ours[step])
        if not found or found[-1][0] != ahead:
            found.append([ahead, step, 0])
        found[-1][2] = max(found[-1][2], abs(ours[step] - theirs[step]))
    return found


def leads(claim, sides, first, second, columns=(0, 1, 2)):
    cells, first, second = [""] * 3, runs(first), runs(second)
    for column, a, b in zip(columns, first, second, strict=True):
        found = [(f"from {step:,} " if i else "") + f"{sides[ahead]} ({most:.3f})" for i, (ahead, step, most) in enumerate(stretches(a, b))]
        cells[column] = ", ".join(found)
    return starred(claim, first, second), *cells


def flips(claim, pairs):
    """A pair counts up to its first loss that differs."""
    first = [min(differing(a, b)[0], default=None) for a, b in pairs]
    exposed = sum(steps(a) if step is None else step for (a, _), step in zip(pairs, first))
    seen = sum(step is not None for step in first)
    low, high = poisson(seen)
    between = f"one in {rounded(exposed / high)} to one in {rounded(exposed / low)}" if seen else f"at most one in {rounded(exposed / high)}"
    return claim, str(len(pairs)), f"{exposed:,}", str(seen), between


def poisson(seen):
    """The exact 95 % interval of the mean of a count."""

    def below(mean, most):
        return sum(math.exp(-mean) * mean**i / math.factorial(i) for i in range(most + 1))

    def solved(wanted, most):
        low, high = 0.0, 100.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if below(middle, most) > wanted else (low, middle)
        return low

    return solved(0.975, seen - 1) if seen else 0.0, solved(0.025, seen)


def rounded(count):
    return f"{round(count, 2 - len(str(int(count)))):,.0f}"


def span(values, form="{:,}"):
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def kinds(run, value):
    """The mean of a value of a matrix's log over the matrices of a kind."""
    lines, names = logged(run)
    found = {}
    for k, name in enumerate(names):
        found.setdefault(name.split(".")[-2], []).append(value([line["norm"][k] for line in lines]))
    return {kind: mean(them) for kind, them in found.items()}


def final_to_peak(run):
    """Of the effective rate of each matrix."""
    lines, names = logged(run)
    return [lines[-1]["effective"][k] / max(line["effective"][k] for line in lines) for k in range(len(names))]


def grown(run):
    """How many matrices' norms grow by more than 5 %, and how many there are."""
    lines, names = logged(run)
    return sum(max(line["norm"][k] for line in lines) > 1.05 * lines[0]["norm"][k] for k in range(len(names))), len(names)


def growth(claim, name):
    (run,) = runs(name)
    most, last = kinds(run, lambda norm: max(norm) / norm[0]), kinds(run, lambda norm: norm[-1] / norm[0])
    return (claim, "%d of %d" % grown(run), *(f"{most[kind]:.1f}, {last[kind]:.1f}" for kind in ("q", "k", "v", "o", "fc", "proj")))


def highest(lines, key, k):
    """The logged step at which a matrix's rate is highest, that rate, and the step from which it is at most half of it."""
    curve = [line[key][k] for line in lines]
    top = max(range(len(lines)), key=curve.__getitem__)
    return lines[top]["step"], curve[top], next((line["step"] for line, x in zip(lines[top:], curve[top:]) if x <= curve[top] / 2), None)


def each(found, key):
    """`highest` of every matrix of every run."""
    return [highest(logged(run)[0], key, k) for run in found for k in range(len(logged(run)[1]))]


def rates(key, found, best=None):
    def told(run):
        star = starred("", [run], [best or run]).strip()
        return f"{float(setting(run, key, 'rate')):.3g}{star}: {end(run):.4f}" + (f" ({training(run):.4f})" if best else "")

    return ", ".join(f"**{told(run)}**" if run == best else told(run) for run in found)


def grid(claim, key, names):
    found = sorted(runs(names), key=lambda run: float(setting(run, key, "rate")))
    best = min(found, key=end)
    return claim, rates(key, found, best) + (" (at the edge)" if best in (found[0], found[-1]) else "")


def seeds(claim, name):
    found = runs(name)
    return claim, *(f"{end(run):.4f}" for run in found), *(f"{training(run):.4f}" for run in found)


def beside(claim, name, *others):
    (run,) = runs(name)
    told = [starred(str(found), [run], runs(other)) for other in others for found in both(name, other)]
    return claim, f"{end(run):.4f}", *told


def apart(claim, ours, theirs):
    """At the end, and the largest on the way."""
    (a,), (b,) = runs(ours), runs(theirs)
    return starred(claim, [a], [b]), f"{end(a) - end(b):+.4f}", f"{largest_gap(a, b):.4f}"


def products(claim, ours, theirs, alone=True):
    """alone: nothing else is different."""
    (a,), (b,) = runs(ours), runs(theirs)
    return claim, "%d of %d" % other_algorithms(a, b), *(apart(claim, ours, theirs)[1:] if alone else ("", ""))


def followed(claim, ours, theirs):
    """How far effective rates are apart: root mean squares of logarithms of ratios over all matrices, and the largest ratio."""
    (a,), (b,) = runs(ours), runs(theirs)
    (first, names), (second, _) = logged(a), logged(b)
    at = [line["step"] for line in first] + [steps(a)]
    alike, weighted, largest = [], [], (0, 0)
    for i, (line, other) in enumerate(zip(first, second, strict=True)):
        for k in range(len(names)):
            ratio = line["effective"][k] / other["effective"][k]
            alike.append(math.log(ratio) ** 2)
            weighted.append((at[i + 1] - at[i]) * math.log(ratio) ** 2)
            largest = max(largest, (abs(math.log(ratio)), ratio, line["step"]))
    size = [math.sqrt(mean(alike)), math.sqrt(sum(weighted) / (steps(a) * len(names)))]
    return starred(claim, [a], [b]), *(f"{100 * x:.1f} %" for x in size), f"{100 * (largest[1] - 1):+.0f} % at step {largest[2]:,}"


def lengths(claim, ours, theirs):
    """By the horizon law: root mean squares of logarithms of ratios, over all matrices, up to 98 % of the way."""
    (a,), (b,) = runs(ours), runs(theirs)
    (shorter, names), (longer, _) = logged(a), logged(b)
    k, rate, norm = math.sqrt(steps(b) / steps(a)), [], []
    ways = [(line["step"] + 1) / steps(b) for line in longer]
    for line in shorter:
        way = (line["step"] + 1) / steps(a)
        i = bisect.bisect_left(ways, way)
        if way > 0.98 or i == 0:
            continue
        part = (way - ways[i - 1]) / (ways[i] - ways[i - 1])
        for m in range(len(names)):
            effective, size = (longer[i - 1][key][m] * (1 - part) + longer[i][key][m] * part for key in ("effective", "norm"))
            rate.append(math.log(line["effective"][m] / k / effective))
            norm.append(math.log(line["norm"][m] / shorter[0]["norm"][m] / (size / longer[0]["norm"][m])))
    return claim, f"{end(a):.4f}", f"{k:.2f}", *(f"{100 * math.sqrt(mean([x * x for x in all])):.0f} %" for all in (rate, norm))


# The paper's gap, the target and the follower of each pair. Both have the same algorithms and places of evaluation.
PAIRS = {
    "50M, M1 to zero: HyperTransfer of Muon": ("order of 1e-4 or less", "m1-muon-0.01-zero", "m1-hypertransfer-0.01-zero"),
    "50M, M1 to zero: Inverse HyperTransfer of MuonH": ("order of 1e-4 or less", "m1-muonh-0.0125-zero", "m1-inverse-0.0125-zero"),
    "50M, M1 to zero: HyperTransfer of AdamW": ("a figure", "m1-adamw-0.008-zero", "m1-adam-hypertransfer-zero"),
    "50M, M1 to zero: Inverse HyperTransfer of AdamH": ("a figure", "m1-adamh-0.01-zero", "m1-adam-inverse-zero"),
    "50M, M2 to zero: HyperTransfer+ of Muon": ("below 5e-6", "muon-0.01-zero-seed1", "plus-0.01-zero-seed1"),
    "50M, M2 to zero: Inverse HyperTransfer+ of MuonH": ("3e-4", "muonh-0.0125-zero-seed1", "inverse-plus-0.0125-zero-seed1"),
    "50M, M2 to a tenth: HyperTransfer+ of Muon": ("3.238, 3.238", "muon-0.003-tenth", "plus-0.003-tenth"),
    "50M, M2 to a tenth: Inverse HyperTransfer+ of MuonH": ("3.45e-4", "muonh-0.0125-tenth-adamw-0.003", "inverse-plus-0.0125-tenth"),
    "50M, M2 at Muon's ratio: Inverse HyperTransfer+ of MuonH": ("3e-5", "muonh-0.0125-matched-again", "inverse-plus-0.0125-matched"),
    "50M, M2 at Muon's ratio, text read once: Inverse HyperTransfer+ of MuonH": ("3e-5", "once-muonh-0.0083-ratio", "once-inverse-0.0083-ratio"),
    "124M, M1 to zero: HyperTransfer of Muon": ("order of 1e-4 or less", "exp1-muon", "exp1-hypertransfer"),
    "124M, M1 to zero: Inverse HyperTransfer of MuonH": ("order of 1e-4 or less", "exp1-muonh", "exp1-inverse-hypertransfer"),
    "124M, M2 to zero: HyperTransfer+ of Muon": ("below 5e-6", "exp2-zero-muon", "exp2-zero-hypertransfer-plus"),
    "124M, M2 to zero: Inverse HyperTransfer+ of MuonH": ("3e-4", "exp2-zero-muonh", "exp2-zero-inverse-hypertransfer-plus"),
    "124M, M2 to a tenth: HyperTransfer+ of Muon": ("3.238, 3.238", "exp2-tenth-muon", "exp2-tenth-hypertransfer-plus"),
    "124M, M2 to a tenth: Inverse HyperTransfer+ of MuonH": ("3.45e-4", "exp2-tenth-muonh", "exp2-tenth-inverse-hypertransfer-plus"),
    "500M, M1, 300 steps: HyperTransfer of Muon": ("a figure", "dense-muon", "dense-hypertransfer"),
    "500M, M1, 300 steps: Inverse HyperTransfer of MuonH": ("a figure", "dense-muonh", "dense-inverse-hypertransfer"),
}
SHORT = {
    "M1 to zero: HyperTransfer of Muon": ("exp1-124m/muon", "exp1-124m/hypertransfer"),
    "M1 to zero: Inverse HyperTransfer of MuonH": ("exp1-124m/muonh", "exp1-124m/inverse-hypertransfer"),
    "M1 to zero: HyperTransfer of AdamW": ("adamw-124m/adamw", "adamw-124m/hypertransfer"),
    "M1 to zero: Inverse HyperTransfer of AdamH": ("adamw-124m/adamh", "adamw-124m/inverse-hypertransfer"),
    "M2 to zero: HyperTransfer+ of Muon": ("exp2-zero-124m/muon", "exp2-zero-124m/hypertransfer-plus"),
    "M2 to zero: Inverse HyperTransfer+ of MuonH": ("exp2-zero-124m/muonh", "exp2-zero-124m/inverse-hypertransfer-plus"),
    "M2 to a tenth: HyperTransfer+ of Muon": ("exp2-tenth-124m/muon", "exp2-tenth-124m/hypertransfer-plus"),
    "M2 to a tenth: Inverse HyperTransfer+ of MuonH": ("exp2-tenth-124m/muonh", "exp2-tenth-124m/inverse-hypertransfer-plus"),
    "M2 at Muon's ratio: Inverse HyperTransfer+ of MuonH": ("exp2-tenth-124m/muonh-matched", "exp2-tenth-124m/inverse-of-matched"),
    "M1 to zero, fp8: HyperTransfer of Muon": ("m1-muon-fp8-1234", "m1-hypertransfer-fp8-1234"),
    "M1 to zero, fp8: Inverse HyperTransfer of MuonH": ("m1-muonh-fp8-1234", "m1-inverse-fp8-1234"),
}


OWN = {  # evaluated as the paper does it
    "50M, M1 to zero: HyperTransfer of Muon, each at its own weights": ("order of 1e-4 or less", "m1-muon-0.01-zero-own", "m1-hypertransfer-0.01-zero-own"),
}


def pairs(*words, of=PAIRS):
    """Those with one of the words in their names, as runs."""
    return [[run for name in names[-2:] for run in runs(name)] for claim, names in of.items() if any(word in claim for word in words)]


def reproduced(claim, paper, found, most, own=()):
    """yes: every pair ends within the paper's largest gap. own: pairs evaluated as the paper does it."""
    exact = sum(not differing(a, b)[0] for a, b in found)
    gap = max(abs(end(a) - end(b)) for a, b in found)
    rest = f", the others end within {gap:.0e}" if exact < len(found) else ""
    for a, b in own:
        apart = abs(end(a) - end(b))
        rest, gap = f"{rest}; with each run at its own weights, as in the paper, one within {apart:.0e}", max(gap, apart)
    return claim, paper, f"{exact} of {len(found)} pairs to the last bit{rest}", "yes" if gap <= most else "no"


def compared(claim, paper, *sides):
    """The sign of each difference must be the paper's; where verdicts differ it is open."""
    found = [[side[0], *both(*side[1:]), side[1:]] for side in sides]
    given = {verdict(paper.split(", ")[0], a, b) for _, a, b, _ in found}
    told = [starred(f"{name}{a}, in training {b}", *map(runs, names)) for name, a, b, names in found]
    return claim, paper, "; ".join(told), given.pop() if len(given) == 1 else "open"


def shaped(claim, paper, told, held):
    """held: for every matrix of every run, whether it has the shape."""
    part = sum(held) / len(held)
    return claim, paper, told, "yes" if part == 1 else "mostly" if part >= 0.9 else "no"


def claims():
    """One row per claim: the claim, the paper's number, ours, and a verdict."""
    muon, inverse = every("base"), every("inverse")
    m1 = "m1-muon-0.01-zero*3", "m1-muonh-0.0125-zero*3"
    zero, tenth = ("muon-0.01-zero*3", "muonh-0.0125-zero*3"), ("muon-0.003-tenth*3", "muonh-0.0125-tenth-adamw-0.003*3")
    once = ("once-m1-muon-0.003*3", "once-m1-muonh-0.0083-adamw-0.003*3"), ("once-muon-0.0067*3", "once-muonh-0.0083-adamw-0.0044*3")
    ratio = "muonh-0.01-matched-adamw-0.003*3"
    muons = pairs("50M, M1 to zero: HyperTransfer of Muon", "50M, M1 to zero: Inverse HyperTransfer of MuonH", "50M, M2 to", "124M")
    yield reproduced("Muon and MuonH each train with the other's losses (50M, 124M)", "to 3.45e-4", muons, 3.45e-4, pairs("own", of=OWN))
    yield reproduced("The same for AdamW and AdamH (50M), and at 500M (300 steps)", "figures", pairs("Adam", "500M"), 3.45e-4)
    yield reproduced("The same for MuonH at Muon's ratio, as Muon (50M)", "to 3e-5", pairs("50M, M2 at Muon's ratio"), 3e-5)

    tuned = "each with its best AdamW ", "m1-muon-0.01-zero-adamw-0.0064*3", "m1-muonh-0.0125-zero-adamw-0.015*3"
    yield compared("M1 to zero, text read 3.5 times: MuonH ends below Muon", "0.003", ("", *m1), tuned)
    leading = [stretches(*pair) for pair in zip(*map(runs, m1))]
    overtakes = all([ahead for ahead, _, _ in found] == [0, 1] for found in leading)
    at = span([found[-1][1] for found in leading])
    yield "There Muon leads first, then MuonH to the end", "a figure", f"from step {at}", "yes" if overtakes else "no"
    yield compared("M2 to zero, text read 3.5 times: MuonH ends below Muon", "0.005",
                   ("", *zero), ("AdamW 0.015 beside Muon ", "muon-0.01-zero-adamw-0.015*3", zero[1]))
    yield compared("M1 to zero, text read once: the same", "0.003", ("", *once[0]))
    yield compared("M2 to zero, text read once: the same", "0.005", ("", *once[1]))
    yield compared("M2 to a tenth: they end level", "0.000", ("", *tenth))
    yield compared("The same, text read once", "0.000", ("", "once-muon-0.002-tenth", "once-muonh-0.0083-tenth"))
    yield compared("To a tenth ends above to zero (Muon, MuonH; from its losses)", "0.021, 0.026", ("", tenth[0], zero[0]), ("", tenth[1], zero[1]))

    ends = [final_to_peak(run) for run in muon if setting(run, "matrices", "final_ratio") == "0.1"]
    best = [f"{mean(final_to_peak(*runs(name))):.3f}" for name in ("muon-0.003-tenth", "once-muon-0.002-tenth", "exp2-tenth-muon")]
    claim = "Muon's rate ends at a tenth of its highest nominally, in effect at less"
    told = "the best {}, text read once {}, 124M {}; all ".format(*best) + span(list(map(mean, ends)), "{:.3f}")
    yield shaped(claim, "0.047", told, [share < 0.1 for run in ends for share in run])
    yield compared("MuonH that falls to Muon's ratio ends below MuonH to a tenth", "0.017", ("", tenth[1], ratio))
    yield compared("It also ends below Muon to a tenth", "0.017", ("", tenth[0], ratio))
    sides = "", tenth[0], "replay-0.0125-matched*3"
    yield compared("The nominal rates of its inverse are better ones for Muon (the paper: the inverse itself)", "0.017", sides)
    yield compared("The same, text read once", "0.017", ("", "once-muon-0.002-tenth", "once-replay-0.0083-ratio"))
    sides = ("fair-0.0125-zero-seed1", "muonh-0.0125-zero-seed1"), ("fair-0.0125-matched", "muonh-0.0125-matched-again")
    gaps = [f"{abs(end(a) - end(b)):.3f} ({largest_gap(a, b):.2f} on the way)" for (a,), (b,) in (map(runs, pair) for pair in sides)]
    told = f"M1: every loss; M2: `fair` Muon ends within {gaps[0]}, at Muon's ratio within {gaps[1]}"
    yield "Effective rates and the optimizer's state govern the dynamics", "in words", told, "one seed"

    counted = [grown(run) for run in muon]
    told = f"{sum(n for n, _ in counted):,} of {sum(of for _, of in counted):,} in {len(muon)} runs"
    yield shaped("The norms of Muon's matrices grow", "figures", told, [n == of for n, of in counted])
    tops, nominal = each(muon, "effective"), each(muon, "rate")
    inside = [top[0] <= other[0] for top, other in zip(tops, nominal)]
    told = f"{sum(inside):,} of {len(inside):,} matrices; the others up to step {max(top[0] for top in tops):,}"
    yield shaped("Muon's effective rate is highest in the warm-up", "figures", told, inside)
    told = f"at half from step {span([top[2] for top in tops])}, nominally from {span([top[2] for top in nominal])}"
    yield shaped("It then falls faster than the nominal one", "figures", told, [top[2] < other[2] for top, other in zip(tops, nominal)])
    tops = each(inverse, "rate")
    own = [len({top[1] for top in each([run], "rate")}) == len(logged(run)[1]) for run in inverse]
    claim = "The inverse's nominal rates for Muon are each matrix's own, with a long warm-up"
    told = f"highest at step {span([top[0] for top in tops])}, at {span([top[1] for top in tops], '{:.3f}')}"
    yield shaped(claim, "in words", told, own + [top[0] > 2 * WARMUP for top in tops])
    losses = [(last(run, "carrier"), last(run, "represented")) for run in every("plus")]
    told = " instead of ".join(span(one, "{:.1f}") for one in zip(*losses))
    yield shaped("On M2 the carrier's own weights are another network", "in words", f"loss {told}", [a > b + 1 for a, b in losses])


def tables():
    sides = ("", "the paper, 124M", "ours, 50M", "in training", "verdict")
    yield "claims", ("the paper's claim", "the paper", "ours", "verdict"), list(claims())
    yield "transfers", ("", "the paper's gap", "target, follower", "losses that differ", "norms s, rates differ by", "verdict"), [
        *(transfer(claim, *rest) for claim, rest in PAIRS.items()),
        *(transfer(claim, *rest) for claim, rest in OWN.items()),
    ]
    shorter = pairs(*(claim for claim, (target, _) in SHORT.items() if "fp8" not in target and not uncommitted(RUNS[target])), of=SHORT)
    yield "flips", ("", "pairs", "steps before the first loss that differs", "pairs that part", "95 %, per step"), [
        flips("50M", pairs("50M")),
        flips("124M, 5,723 steps", pairs("124M")),
        flips("124M, with those of 610 steps", pairs("124M") + shorter),
    ]
    yield "short", ("610 steps at 124M", "target, follower", "losses that differ", "norms s, rates differ by", "verdict"), [
        (claim + (" (not committed)" if any(map(uncommitted, pairs(claim, of=SHORT)[0])) else ""), *transfer(claim, "", *names)[2:])
        for claim, names in SHORT.items()
    ]
    yield "exp1", sides, [
        difference("Muon minus MuonH, three seeds", "+0.003", "m1-muon-0.01-zero*3", "m1-muonh-0.0125-zero*3"),
        difference("the same, each with its best AdamW: 0.0064 beside Muon, 0.015 beside MuonH", "+0.003",
                   "m1-muon-0.01-zero-adamw-0.0064*3", "m1-muonh-0.0125-zero-adamw-0.015*3"),
        difference("the same, AdamW 0.0064 beside both", "+0.003", "m1-muon-0.01-zero-adamw-0.0064", "m1-muonh-0.0125-zero-adamw-0.0064"),
        difference("the same, AdamW 0.015 beside both", "+0.003", "m1-muon-0.01-zero-adamw-0.015", "m1-muonh-0.0125-zero-adamw-0.015"),
        difference("the same at lower rates, 0.0067 and 0.01", "", "m1-muon-0.0067-zero", "m1-muonh-0.01-zero"),
        difference("the same, text read once; AdamW 0.003 beside both", "+0.003", "once-m1-muon-0.003*3", "once-m1-muonh-0.0083-adamw-0.003*3"),
    ]
    yield "exp2", sides, [
        difference("to zero: Muon minus MuonH", "+0.005", "muon-0.01-zero*3", "muonh-0.0125-zero*3"),
        difference("the same, AdamW 0.015 beside Muon", "+0.005", "muon-0.01-zero-adamw-0.015*3", "muonh-0.0125-zero*3"),
        difference("the same, text read once; AdamW 0.0067 beside Muon, 0.0044 beside MuonH", "+0.005",
                   "once-muon-0.0067*3", "once-muonh-0.0083-adamw-0.0044*3"),
        difference("the same, AdamW 0.0067 beside both", "+0.005", "once-muon-0.0067", "once-muonh-0.0083"),
        difference("the same, AdamW 0.0044 beside both", "+0.005", "once-muon-0.0067-adamw-0.0044", "once-muonh-0.0083-adamw-0.0044"),
        difference("to a tenth: Muon minus MuonH", "0.000", "muon-0.003-tenth*3", "muonh-0.0125-tenth-adamw-0.003*3"),
        difference("the same, text read once", "0.000", "once-muon-0.002-tenth", "once-muonh-0.0083-tenth"),
        difference("Muon: to a tenth minus to zero", "+0.021", "muon-0.003-tenth*3", "muon-0.01-zero*3"),
        difference("the same, text read once", "+0.021", "once-muon-0.002-tenth", "once-muon-0.0067"),
        difference("MuonH: to a tenth minus to zero", "+0.026", "muonh-0.0125-tenth-adamw-0.003*3", "muonh-0.0125-zero*3"),
        difference("the same, text read once", "+0.026", "once-muonh-0.0083-tenth", "once-muonh-0.0083-adamw-0.003"),
    ]
    (a,), (b,) = runs("once-muon-0.0067"), runs("once-muonh-0.0083-adamw-0.0044")
    sums = {line["step"]: sum(line["effective"]) / sum(other["effective"]) for line, other in zip(logged(a)[0], logged(b)[0])}
    at = (0, 100, 200, 290, 400, 600, 1100, 2000, 3000, 4000, 5000, 5722)
    yield "once-rates", ("step", *(f"{step:,}" for step in at)), [("Muon's mean effective rate over MuonH's", *(f"{sums[step]:.2f}" for step in at))]
    tenth, matched, peak = "muonh-0.0125-tenth-adamw-0.003*3", "muonh-0.01-matched-adamw-0.003*3", "muonh-0.0125-matched-adamw-0.003*3"
    yield "exp3", sides, [
        difference("MuonH: nominal tenth minus Muon's ratio", "+0.017", tenth, matched),
        difference("the same at peak 0.0125 instead of 0.01", "+0.017", tenth, peak),
        difference("the same, text read once", "+0.017", "once-muonh-0.0083-tenth", "once-muonh-0.0083-ratio"),
        difference("Muon minus MuonH at Muon's ratio", "+0.017", "muon-0.003-tenth*3", matched),
        difference("the same at peak 0.0125 instead of 0.01", "+0.017", "muon-0.003-tenth*3", peak),
        difference("the same at peak 0.0083", "+0.017", "muon-0.003-tenth", "muonh-0.0083-matched-adamw-0.003"),
        difference("the same, text read once", "+0.017", "once-muon-0.002-tenth", "once-muonh-0.0083-ratio"),
        difference("the same, seed 1", "+0.017", "once-muon-0.002-tenth-seed1", "once-muonh-0.0083-ratio-seed1"),
    ]
    yield "small", ("853 thousand parameters, five seeds", "the paper, 124M", "ours", "in training", "verdict"), [
        difference("MuonH: nominal tenth minus Muon's ratio", "+0.017", "ratio-853k/muonh-0.02*5", "ratio-853k/matched-0.02-0.02*5"),
        difference("to a tenth: Muon minus MuonH", "0.000", "ratio-853k/muon-0.02*5", "ratio-853k/muonh-0.02*5"),
        difference("Muon minus MuonH at Muon's ratio", "+0.017", "ratio-853k/muon-0.02*5", "ratio-853k/matched-0.02-0.02*5"),
        difference("Muon minus plain Muon at the rates of that MuonH's inverse", "+0.017", "ratio-853k/muon-0.02*5", "ratio-853k/replay-0.02-0.02-0.02*5"),
        difference("MuonH at Muon's ratio minus `fair` Muon", "", "ratio-853k/matched-0.02-0.02*5", "ratio-853k/fair-0.02-0.02*5"),
    ]
    yield "adam", sides, [
        difference("AdamW 0.016 minus AdamH 0.01 with AdamW at 0.004, three seeds", "a figure", "m1-adamw-0.016-zero*3", "m1-adamh-0.01-zero*3"),
        difference("AdamW 0.016 minus AdamH 0.01 with AdamW at 0.016", "", "m1-adamw-0.016-zero*3", "m1-adamh-0.01-zero-adamw-0.016*3"),
        difference("AdamW 0.008 minus AdamH 0.01 with AdamW at 0.008", "", "m1-adamw-0.008-zero", "m1-adamh-0.01-zero-adamw-0.008"),
        difference("AdamW 0.008 minus AdamH 0.01 with AdamW at 0.004", "", "m1-adamw-0.008-zero", "m1-adamh-0.01-zero"),
    ]
    yield "growth", ("highest norm over the first, and the last over the first", "matrices that grow", "q", "k", "v", "o", "fc", "proj"), [
        growth("50M, M1 to zero", "m1-muon-0.01-zero"),
        growth("50M, M2 to a tenth", "muon-0.003-tenth"),
        growth("124M, M2 to a tenth", "exp2-tenth-muon"),
    ]
    others = ("muonh-0.0125-zero-seed1", "muon-0.01-zero-seed1")
    head = ("validation", "minus MuonH", "in training", "minus tuned Muon", "in training")
    yield "replay", ("M2 to zero, seed 1", *head), [
        beside("MuonH", "muonh-0.0125-zero-seed1", *others),
        beside("plain Muon at the rates of that inverse", "replay-0.0125-zero-seed1", *others),
        beside("`fair` Muon (the paper's appendix)", "fair-0.0125-zero-seed1", *others),
        beside("tuned Muon", "muon-0.01-zero-seed1", *others),
    ]
    others = ("muonh-0.0125-matched-again", "muon-0.003-tenth")
    yield "replay-ratio", ("M2 at Muon's ratio, seed 1234", *head), [
        beside("MuonH", "muonh-0.0125-matched-again", *others),
        beside("Inverse HyperTransfer+ of MuonH", "inverse-plus-0.0125-matched", *others),
        beside("plain Muon at the rates of that inverse", "replay-0.0125-matched", *others),
        beside("`fair` Muon", "fair-0.0125-matched", *others),
        beside("tuned Muon, to a tenth", "muon-0.003-tenth", *others),
    ]
    others = ("once-muonh-0.0083-ratio", "once-muon-0.002-tenth")
    yield "replay-once", ("M2 at Muon's ratio, text read once, seed 1234", *head), [
        beside("MuonH", "once-muonh-0.0083-ratio", *others),
        beside("Inverse HyperTransfer+ of MuonH", "once-inverse-0.0083-ratio", *others),
        beside("plain Muon at the rates of that inverse", "once-replay-0.0083-ratio", *others),
        beside("`fair` Muon", "once-fair-0.0083-ratio", *others),
        beside("tuned Muon, to a tenth", "once-muon-0.002-tenth", *others),
    ]
    replay = "replay-0.0125-matched*3"
    yield "replay-seeds", ("M2 at Muon's ratio, three seeds", "validation", "in training"), [
        differences("the replay minus MuonH", replay, "muonh-0.0125-matched-adamw-0.003*3"),
        differences("the replay minus tuned Muon", replay, "muon-0.003-tenth*3"),
    ]
    yield "followed", ("the replay's effective rates beside MuonH's", "rms over logged steps", "over all steps", "largest of one matrix"), [
        followed("M2 to zero, seed 1", "replay-0.0125-zero-seed1", "muonh-0.0125-zero-seed1"),
        followed("M2 at Muon's ratio, seed 1234", "replay-0.0125-matched", "muonh-0.0125-matched-again"),
        followed("the same, seed 1", "replay-0.0125-matched-seed1", "muonh-0.0125-matched-adamw-0.003-seed1"),
        followed("the same, seed 2", "replay-0.0125-matched-seed2", "muonh-0.0125-matched-adamw-0.003-seed2"),
        followed("text read once, seed 1234", "once-replay-0.0083-ratio", "once-muonh-0.0083-ratio"),
    ]
    yield "ablation", ("M1 to zero, minus Muon", "at the end", "largest on the way"), [
        apart("HyperTransfer", "m1-hypertransfer-0.01-zero", "m1-muon-0.01-zero"),
        apart("without R/s in the gradient", "m1-hypertransfer-0.01-as-is-zero", "m1-muon-0.01-zero"),
        apart("with s fixed at R", "m1-hypertransfer-0.01-no-s-zero", "m1-muon-0.01-zero"),
        apart("rate only: MuonH at Muon's nominal rate, 0.01", "m1-muonh-0.01-zero", "m1-muon-0.01-zero"),
    ]
    yield "carried", ("carried minus tuned by a grid", "validation", "in training"), [
        differences(*row)
        for row in (
            ("M1 to zero: Muon 0.01 as MuonH: 0.01146", "m1-muonh-0.01146-zero-carried", "m1-muonh-0.0125-zero"),
            ("M1 to zero: MuonH 0.0125 as Muon: 0.01109", "m1-muon-0.01109-zero-carried", "m1-muon-0.01-zero"),
            ("M1 to zero, not carried: MuonH at Muon's number, 0.01", "m1-muonh-0.01-zero", "m1-muonh-0.0125-zero"),
            ("M2 to zero: Muon 0.01 as MuonH: 0.01138", "muonh-0.01138-zero-carried", "muonh-0.0125-zero"),
            ("M2 to zero: MuonH 0.0125 as Muon: 0.01109", "muon-0.01109-zero-carried", "muon-0.01-zero"),
            ("M2 to zero, not carried: MuonH at Muon's number, 0.01", "muonh-0.01-zero", "muonh-0.0125-zero"),
            ("M2 to a tenth: Muon 0.003 as MuonH: 0.006674, falls to 0.0827", "muonh-0.006674-tenth-carried", "muonh-0.0125-tenth-adamw-0.003"),
            ("M2 to a tenth: MuonH 0.0125 as Muon: 0.01269, falls to 0.0738", "muon-0.01269-tenth-carried", "muon-0.003-tenth"),
            ("M2 to zero: Muon at weight decay 0.3 instead of 0.1: 0.003804", "muon-0.003804-0.3-zero-carried", "muon-0.01-zero"),
        )
    ]
    yield "horizon", ("Muon on M2 to zero, beside 5,723 steps at 0.01", "validation", "k", "effective rates over k times, rms", "norms, rms"), [
        lengths("1,430 steps, rate and decay by the law", "muon-0.02-0.2-zero-1430-adamw", "muon-0.01-zero"),
        lengths("1,430 steps, numbers unchanged", "muon-0.01-zero-1430", "muon-0.01-zero"),
        lengths("610 steps, rate and decay by the law", "muon-0.0306-0.3063-zero-610-adamw", "muon-0.01-zero"),
        lengths("610 steps, numbers unchanged", "muon-0.01-zero-610", "muon-0.01-zero"),
    ]
    yield "shorter", ("validation on M2 to zero, and the law's rate", "unchanged", "by the law, not for AdamW", "by the law", "the same at other rates"), [
        (claim, *(f"{end(run):.4f}" if run else "" for run in (*runs(unchanged), *(runs(hidden) or [None]), *runs(law))), rates("matrices", runs(others)))
        for claim, unchanged, hidden, law, others in (
            ("1,430 steps, Muon 0.02", "muon-0.01-zero-1430", "", "muon-0.02-0.2-zero-1430-adamw", "muon-{0.0133,0.03}-0.2-zero-1430-adamw"),
            ("1,430 steps, MuonH 0.025", "muonh-0.0125-zero-1430", "", "muonh-0.025-zero-1430-adamw", "muonh-{0.011,0.0167,0.0375}-zero-1430-adamw"),
            ("610 steps, Muon 0.0306", "muon-0.01-zero-610", "muon-0.0306-0.3063-zero-610", "muon-0.0306-0.3063-zero-610-adamw",
             "muon-{0.0091,0.0136,0.0204,0.0459}-0.3063-zero-610-adamw"),
            ("610 steps, MuonH 0.0383", "muonh-0.0125-zero-610", "muonh-0.0383-zero-610", "muonh-0.0383-zero-610-adamw",
             "muonh-{0.0255,0.0574}-zero-610-adamw"),
        )
    ]
    sides = ("one seed, the paper's rates", "the paper", "ours, 124M", "in training", "verdict")
    yield "124m", sides, [
        difference("M1 to zero: Muon minus MuonH", "+0.003", "exp1-muon", "exp1-muonh"),
        difference("M2 to zero: Muon minus MuonH", "+0.005", "exp2-zero-muon", "exp2-zero-muonh"),
        difference("the same with Muon at 0.0067 instead of 0.015", "+0.005", "exp2-zero-muon-0.0067", "exp2-zero-muonh"),
        difference("M2 to a tenth: Muon minus MuonH", "0.000", "exp2-tenth-muon", "exp2-tenth-muonh"),
        difference("MuonH: nominal tenth minus Muon's ratio, both at 0.0125", "+0.017", "exp2-tenth-muonh", "exp3-muonh-0.0125-matched-other-products"),
        difference("MuonH: nominal tenth at 0.0125 minus Muon's ratio at 0.015", "+0.017", "exp2-tenth-muonh", "exp3-muonh-matched"),
        difference("MuonH: to a tenth minus to zero", "+0.026", "exp2-tenth-muonh", "exp2-zero-muonh"),
    ]
    yield "products", ("other algorithms for the matrix products", "products", "at the end", "largest on the way"), [
        products("50M, M2 at Muon's ratio: Inverse HyperTransfer+ minus MuonH", "inverse-plus-0.0125-matched", "muonh-0.0125-matched-adamw-0.003"),
        products("124M, M2 to zero: HyperTransfer+ minus Muon", "exp2-zero-hypertransfer-plus-other-products", "exp2-zero-muon"),
        products("124M, M2 to zero: Inverse HyperTransfer+ minus MuonH", "exp2-zero-inverse-hypertransfer-plus-other-products", "exp2-zero-muonh"),
        products("50M: AdamW and AdamH with seeds 1 and 2, and AdamH with AdamW 0.002, 0.008, 0.016, 0.032, beside the others",
                 "m1-adamh-0.01-zero-seed1", "m1-adamh-0.01-zero", alone=False),
        products("50M: MuonH 0.01 and 0.015 on M2 to zero, beside the others", "muonh-0.01-zero", "muonh-0.0125-zero", alone=False),
        products("50M, text read once: to a tenth and at Muon's ratio, and MuonH with AdamW 0.002, beside the others to zero",
                 "once-muonh-0.0083-adamw-0.002", "once-muonh-0.0083", alone=False),
    ]
    yield "fp8", ("validation after 610 steps, seeds 1234, 1, 2", "bfloat16", "fp8"), [
        (claim, *(", ".join(f"{end(run):.4f}" for run in runs(names)) for names in precisions))
        for claim, *precisions in (
            ("M1 Muon", "m1-muon-bf16-{1234,1,2}", "m1-muon-fp8-{1234,1,2}"),
            ("M1 MuonH", "m1-muonh-bf16-{1234,1,2}", "m1-muonh-fp8-1234"),
            ("M2 Muon", "m2-muon-bf16-{1234,1,2}", "m2-muon-fp8-1234"),
            ("M2 MuonH", "m2-muonh-bf16-{1234,1,2}", "m2-muonh-fp8-1234"),
        )
    ]
    yield "grids", ("one seed; AdamW's rate", "rate: validation (training)"), [
        grid("M1 to zero, Muon; AdamW the same", "matrices", "m1-muon-{0.0067,0.01,0.015}-zero m1-muon-0.01109-zero-carried"),
        grid("M1 to zero, AdamW beside Muon 0.01", "adamw", "m1-muon-0.01-zero m1-muon-0.01-zero-adamw-{0.0044,0.0064,0.015}"),
        grid("M1 to zero, MuonH; AdamW 0.01", "matrices", "m1-muonh-{0.01,0.0125,0.015}-zero m1-muonh-0.01146-zero-carried"),
        grid("M1 to zero, AdamW beside MuonH 0.0125", "adamw", "m1-muonh-0.0125-zero m1-muonh-0.0125-zero-adamw-{0.0064,0.015,0.0225}"),
        grid("M1 to zero, AdamW; AdamW the same", "matrices", "m1-adamw-{0.002,0.004,0.008,0.016,0.032}-zero"),
        grid("M1 to zero, AdamH; AdamW 0.004", "matrices", "m1-adamh-{0.005,0.01,0.02}-zero"),
        grid("M1 to zero, AdamW beside AdamH 0.01", "adamw", "m1-adamh-0.01-zero m1-adamh-0.01-zero-adamw-{0.002,0.008,0.016,0.032}"),
        grid("M2 to zero, Muon; AdamW the same", "matrices", "muon-{0.0067,0.01,0.015}-zero muon-0.01109-zero-carried"),
        grid("M2 to zero, AdamW beside Muon 0.01", "adamw", "muon-0.01-zero muon-0.01-zero-adamw-{0.0064,0.015,0.0225}"),
        grid("M2 to zero, MuonH; AdamW 0.01", "matrices", "muonh-{0.01,0.0125,0.015,0.0225}-zero muonh-0.01138-zero-carried"),
        grid("M2 to zero, AdamW beside MuonH 0.0125", "adamw", "muonh-0.0125-zero muonh-0.0125-zero-adamw-{0.003,0.0064,0.015}"),
        grid("M2 to a tenth, Muon; AdamW the same", "matrices", "muon-{0.002,0.003,0.0044,0.0067}-tenth"),
        grid("M2 to a tenth, AdamW beside Muon 0.003", "adamw", "muon-0.003-tenth muon-0.003-tenth-adamw-{0.0015,0.0064}"),
        grid("M2 to a tenth, MuonH; AdamW 0.01", "matrices", "muonh-{0.01,0.0125,0.015}-tenth"),
        grid("M2 to a tenth, AdamW beside MuonH 0.0125", "adamw", "muonh-0.0125-tenth muonh-0.0125-tenth-adamw-{0.0015,0.003,0.0064}"),
        grid("M2 at Muon's ratio, AdamW beside MuonH 0.0125", "adamw", "muonh-0.0125-matched muonh-0.0125-matched-adamw-{0.0015,0.003,0.0064}"),
        grid("M2 at Muon's ratio, MuonH; AdamW 0.003", "matrices", "muonh-{0.0083,0.01,0.015}-matched-adamw-0.003 muonh-0.0125-matched-again"),
        grid("M1 to zero, text read once, Muon; AdamW the same", "matrices", "once-m1-muon-{0.002,0.003,0.0044,0.0067,0.01}"),
        grid("M1 to zero, text read once, MuonH; AdamW 0.0044", "matrices", "once-m1-muonh-{0.0055,0.0083,0.0125}-adamw-0.0044"),
        grid("M1 to zero, text read once, AdamW beside MuonH 0.0083", "adamw", "once-m1-muonh-0.0083-adamw-{0.002,0.003,0.0044}"),
        grid("M2 to zero, text read once, Muon; AdamW the same", "matrices", "once-muon-{0.0044,0.0067,0.01}"),
        grid("M2 to zero, text read once, MuonH; AdamW 0.0067", "matrices", "once-muonh-{0.0055,0.0083,0.0125,0.0188}"),
        grid("M2 to zero, text read once, AdamW beside MuonH 0.0083", "adamw", "once-muonh-0.0083 once-muonh-0.0083-adamw-{0.002,0.003,0.0044}"),
        grid("M2 to zero, text read once, AdamW beside Muon 0.0067", "adamw", "once-muon-0.0067 once-muon-0.0067-adamw-0.0044"),
        grid("M2 to a tenth, text read once, Muon; AdamW the same", "matrices", "once-muon-{0.0013,0.002,0.003,0.0044}-tenth"),
        grid("M2 to a tenth, text read once, MuonH; AdamW 0.003", "matrices", "once-muonh-{0.0055,0.0083,0.0125}-tenth"),
        grid("M2 to zero, text read once, AdamW beside MuonH 0.0125", "adamw", "once-muonh-0.0125 once-muonh-0.0125-adamw-{0.0044,0.01}"),
    ]
    yield "seeds", ("", "validation, seed 1234", "1", "2", "in training, seed 1234", "1", "2"), [
        seeds("M1 to zero, Muon 0.01", "m1-muon-0.01-zero*3"),
        seeds("M1 to zero, Muon 0.01, AdamW 0.0064", "m1-muon-0.01-zero-adamw-0.0064*3"),
        seeds("M1 to zero, MuonH 0.0125", "m1-muonh-0.0125-zero*3"),
        seeds("M1 to zero, MuonH 0.0125, AdamW 0.015", "m1-muonh-0.0125-zero-adamw-0.015*3"),
        seeds("M1 to zero, AdamW 0.016", "m1-adamw-0.016-zero*3"),
        seeds("M1 to zero, AdamH 0.01, AdamW 0.004", "m1-adamh-0.01-zero*3"),
        seeds("M1 to zero, AdamH 0.01, AdamW 0.016", "m1-adamh-0.01-zero-adamw-0.016*3"),
        seeds("M1 to zero, text read once, Muon 0.003", "once-m1-muon-0.003*3"),
        seeds("M1 to zero, text read once, MuonH 0.0083, AdamW 0.003", "once-m1-muonh-0.0083-adamw-0.003*3"),
        seeds("M2 to zero, Muon 0.01", "muon-0.01-zero*3"),
        seeds("M2 to zero, Muon 0.01, AdamW 0.015", "muon-0.01-zero-adamw-0.015*3"),
        seeds("M2 to zero, MuonH 0.0125", "muonh-0.0125-zero*3"),
        seeds("M2 to a tenth, Muon 0.003", "muon-0.003-tenth*3"),
        seeds("M2 to a tenth, MuonH 0.0125, AdamW 0.003", "muonh-0.0125-tenth-adamw-0.003*3"),
        seeds("M2 at Muon's ratio, MuonH 0.0125, AdamW 0.003", "muonh-0.0125-matched-adamw-0.003*3"),
        seeds("M2 at Muon's ratio, MuonH 0.01, AdamW 0.003", "muonh-0.01-matched-adamw-0.003*3"),
        seeds("M2 at Muon's ratio, the replay", "replay-0.0125-matched*3"),
        seeds("M2 to zero, text read once, Muon 0.0067", "once-muon-0.0067*3"),
        seeds("M2 to zero, text read once, MuonH 0.0083, AdamW 0.0044", "once-muonh-0.0083-adamw-0.0044*3"),
    ]
    muon, once, replay = ("Muon", "MuonH"), "once-muonh-0.0083-adamw-0.0044", ("the replay", "MuonH")
    yield "leads", ("who leads in validation (by up to)", "seed 1234", "1", "2"), [
        leads("M1 to zero", muon, "m1-muon-0.01-zero*3", "m1-muonh-0.0125-zero*3"),
        leads("the same, text read once", muon, "once-m1-muon-0.003*3", "once-m1-muonh-0.0083-adamw-0.003*3"),
        leads("M2 to zero, text read once", muon, "once-muon-0.0067*3", f"{once}*3"),
        leads("the same, AdamW 0.0044 beside both", muon, "once-muon-0.0067-adamw-0.0044", once, (0,)),
        leads("M2, MuonH at Muon's ratio and Muon to a tenth", muon, "muon-0.003-tenth*3", "muonh-0.01-matched-adamw-0.003*3"),
        leads("the same, text read once", muon, "once-muon-0.002-tenth once-muon-0.002-tenth-seed1", "once-muonh-0.0083-ratio once-muonh-0.0083-ratio-seed1", (0, 1)),
        leads("M1 to zero, AdamW 0.016 and AdamH 0.01 with AdamW 0.004", ("AdamW", "AdamH"), "m1-adamw-0.016-zero*3", "m1-adamh-0.01-zero*3"),
        leads("M2 to zero, the replay and MuonH", replay, "replay-0.0125-zero-seed1", "muonh-0.0125-zero-seed1", (1,)),
        leads("M2 to zero, `fair` Muon and MuonH", ("`fair` Muon", "MuonH"), "fair-0.0125-zero-seed1", "muonh-0.0125-zero-seed1", (1,)),
        leads("M2 at Muon's ratio, the replay and MuonH", replay, "replay-0.0125-matched*3", "muonh-0.0125-matched-adamw-0.003*3"),
        leads("the same, text read once", replay, "once-replay-0.0083-ratio", "once-muonh-0.0083-ratio", (0,)),
        leads("M2 at Muon's ratio, the replay and Muon to a tenth", ("the replay", "Muon"), "replay-0.0125-matched*3", "muon-0.003-tenth*3"),
        leads("M2 at Muon's ratio, `fair` Muon and MuonH", ("`fair` Muon", "MuonH"), "fair-0.0125-matched", "muonh-0.0125-matched-again", (0,)),
    ]


def unpack(folder):
    for archive in sorted((ROOT / "docs" / "runs").glob("*.tar.xz")):
        with tarfile.open(archive) as file:
            file.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder


def find(folder):
    for file in pathlib.Path(folder).glob("*/*/metrics.jsonl"):
        RUNS[file.parent.name] = RUNS[f"{file.parent.parent.name}/{file.parent.name}"] = file.parent
    for file in pathlib.Path(folder).glob("*/seed-*/*/metrics.jsonl"):  # as `ht reproduce` trains them: seeds 1234, 1235, ...
        run, seed = file.parent, int(file.parent.parent.name[5:]) - 1234
        RUNS[f"{run.parent.parent.name}/{run.name}" + (f"-seed{seed}" if seed else "")] = run


def table(head, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def fill(files, made, write):
    """Puts each table into its place in the files if `write`, else says which differ; returns the exit code."""
    other, missing = 0, set(made)
    for file in files:
        text = file.read_text()
        for found in re.finditer(r"(<!-- table (\S+) -->\n\n)(.*?)(\n\n<!-- end -->)", text, re.S):
            name, now = found.group(2), made.get(found.group(2))
            missing.discard(name)
            if now is None:
                raise SystemExit(f"{file} has a table {name}, which this program does not make")
            if found.group(3) != now:
                other += 1
                print(f"{file}: {name} is\n{now}\n")
                text = text.replace(found.group(0), found.group(1) + now + found.group(4))
        if write:
            file.write_text(text)
    if missing:
        raise SystemExit(f"no place for: {', '.join(sorted(missing))}")
    return 1 if other and not write else 0


def main(files, write, runs):
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        find(runs or unpack(folder))
        for name, head, rows in tables():
            made[name] = table(head, rows)
            dirty = [run.name for run in USED if uncommitted(run)]
            for file in files:
                if dirty and f"<!-- table {name} -->" in file.read_text() and file.name != "LOG.md":
                    raise SystemExit(f"{file}: table {name} has runs of a program that was not committed: {', '.join(sorted(dirty))}")
            USED.clear()
    return fill(files, made, write)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", metavar="FILE", type=pathlib.Path, nargs="*", default=[ROOT / "docs" / "RESULTS.md", ROOT / "notes" / "LOG.md"])
    options.add_argument("--write", action="store_true", help="write the tables instead of saying which differ")
    options.add_argument("--runs", metavar="FOLDER", type=pathlib.Path, help="where docs/runs/*.tar.xz were unpacked already")
    sys.exit(main(**vars(options.parse_args())))
