#!/usr/bin/env python3
"""The tables of losses, norms and rates in docs/RESULTS.md, computed from the runs in docs/runs.

    python3 bench/results.py [FILE...]            says which tables are not those of the runs; exit code 1 if there are any
    python3 bench/results.py [FILE...] --write    writes them

FILE: docs/RESULTS.md, or a copy of it. A table stands between `<!-- table NAME -->` and `<!-- end -->`. After new runs: add their
names below, then --write.
"""
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


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def setting(run, group, key):
    """The value of `key` in `group` of a run's config.yaml, which is flat enough to be read without a library."""
    return re.search(rf"^{group}:\n(?:  .*\n)*?  {key}: \"?([^\"\n]*)", (run / "config.yaml").read_text(), re.M).group(1)


@functools.cache
def steps(run):
    return int(re.search(r"^steps: (\d+)", (run / "config.yaml").read_text(), re.M).group(1))


@functools.cache
def losses(run, kind):
    return {line["step"]: line[kind] for line in lines(run / "metrics.jsonl") if line.get(kind) is not None}


@functools.cache
def logged(run):
    """The lines of a run's log of matrices, and the matrices' names."""
    return lines(run / "matrices.jsonl"), json.loads((run / "provenance.json").read_text())["matrices"]


def last(run, kind):
    found = losses(run, kind)
    return found[max(found)]


def end(run):
    return last(run, "validation")


def training(run):
    """The mean training loss of the last twentieth of the steps."""
    last = [loss for step, loss in losses(run, "loss").items() if step >= steps(run) * 0.95]
    return sum(last) / len(last)


def runs(names):
    """`a b` are two runs, `a-{x,y}` too; `a*3` is a run and its seeds: a, a-seed1, a-seed2."""
    found = []
    for name in names.split():
        name, _, seeds = name.partition("*")
        before, _, choice = name.partition("{")
        choice, _, after = choice.partition("}")
        found += [RUNS[before + x + after] for x in choice.split(",")]
        found += [RUNS[f"{name}-seed{i}"] for i in range(1, int(seeds or 1))]
    return found


class Difference:
    """The mean of `value(a) - value(b)` over the pairs of two sides, and its 95 % interval."""

    def __init__(self, value, ours, theirs):
        each = [value(a) - value(b) for a, b in zip(ours, theirs, strict=True)]
        self.n, self.mean = len(each), sum(each) / len(each)
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


def difference(claim, paper, ours, theirs):
    validation, trained = both(ours, theirs)
    return claim, paper, str(validation), str(trained), verdict(paper, validation, trained)


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


def transfer(claim, paper, target, follower):
    (a,), (b,) = runs(target), runs(follower)
    common, differ = 0, []
    for kind in ("loss", "validation"):
        ours, theirs = losses(a, kind), losses(b, kind)
        common += len(ours.keys() & theirs.keys())
        differ += [step for step in ours.keys() & theirs.keys() if ours[step] != theirs[step]]
    begin = f"exact before step {min(differ):,}, then within" if differ and min(differ) > 1 else "within"
    said = f"{begin} {largest_gap(a, b):.1e}" if differ else "exact"
    norm, rate = follower_errors(a, b)
    return claim, paper, f"{end(a):.4f}, {end(b):.4f}", f"{len(differ):,} of {common:,}", f"{norm:.1g}, {rate:.1g}", said


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


def overtakes(first, second):
    """The validation steps from which each run of `second` stays ahead."""
    at = []
    for a, b in zip(runs(first), runs(second), strict=True):
        ours, theirs = losses(a, "validation"), losses(b, "validation")
        at.append(min(step for step in ours if all(theirs[s] < ours[s] for s in ours if s >= step)))
    return span(at)


def span(values, form="{:,}"):
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def kinds(run, value):
    """The mean of a value of a matrix's log over the matrices of a kind."""
    lines, names = logged(run)
    found = {}
    for k, name in enumerate(names):
        found.setdefault(name.split(".")[-2], []).append(value([line["norm"][k] for line in lines]))
    return {kind: sum(them) / len(them) for kind, them in found.items()}


def final_to_peak(run):
    """Of the effective rate, the mean over the matrices."""
    lines, names = logged(run)
    return f"{sum(lines[-1]['effective'][k] / max(line['effective'][k] for line in lines) for k in range(len(names))) / len(names):.3f}"


def growth(claim, name):
    (run,) = runs(name)
    lines, names = logged(run)
    grown = sum(max(line["norm"][k] for line in lines) > 1.05 * lines[0]["norm"][k] for k in range(len(names)))
    most, last = kinds(run, lambda norm: max(norm) / norm[0]), kinds(run, lambda norm: norm[-1] / norm[0])
    return (claim, f"{grown} of {len(names)}", *(f"{most[kind]:.1f}, {last[kind]:.1f}" for kind in ("q", "k", "v", "o", "fc", "proj")))


def shape(claim, name):
    (run,) = runs(name)
    lines, names = logged(run)

    def highest(curve):
        return max(range(len(lines)), key=curve.__getitem__)

    mean = [sum(line["effective"]) for line in lines]
    halved, peaks, at = [], [], []
    for k in range(len(names)):
        curve = [line["effective"][k] for line in lines]
        top = highest(curve)
        halved.append(next(line["step"] for line, x in zip(lines[top:], curve[top:]) if x <= curve[top] / 2))
        rates = [line["rate"][k] for line in lines]
        peaks.append(max(rates))
        at.append(lines[highest(rates)]["step"])
    return claim, f"{lines[highest(mean)]['step']:,}", span(halved), span(peaks, "{:.4f}"), span(at)


def rates(key, found):
    return ", ".join(f"{float(setting(run, key, 'rate')):.3g}: {end(run):.4f}" for run in found)


def grid(claim, key, names):
    found = sorted(runs(names), key=lambda run: float(setting(run, key, "rate")))
    best = min(found, key=end)
    edge = " (at the edge)" if best in (found[0], found[-1]) else ""
    return claim, ", ".join(f"**{rates(key, [run])}**{edge}" if run == best else rates(key, [run]) for run in found)


def seeds(claim, name):
    found = runs(name)
    return claim, *(f"{end(run):.4f}" for run in found), *(f"{training(run):.4f}" for run in found)


def beside(claim, name, *others):
    (run,) = runs(name)
    return claim, f"{end(run):.4f}", *(str(found) for other in others for found in both(name, other))


def apart(claim, ours, theirs):
    """At the end, and the largest on the way."""
    (a,), (b,) = runs(ours), runs(theirs)
    return claim, f"{end(a) - end(b):+.4f}", f"{largest_gap(a, b):.4f}"


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
    return claim, f"{end(a):.4f}", f"{k:.2f}", *(f"{100 * math.sqrt(sum(x * x for x in all) / len(all)):.0f} %" for all in (rate, norm))


def tables():
    sides = ("", "the paper, 124M", "ours, 50M", "in training", "verdict")
    yield "transfers", ("", "the paper's gap", "target, follower", "losses that differ", "norms s, rates differ by", "verdict"), [
        transfer("50M, M1 to zero: HyperTransfer of Muon", "order of 1e-4 or less", "m1-muon-0.01-zero", "m1-hypertransfer-0.01-zero"),
        transfer("50M, M1 to zero: Inverse HyperTransfer of MuonH", "order of 1e-4 or less", "m1-muonh-0.0125-zero", "m1-inverse-0.0125-zero"),
        transfer("50M, M1 to zero: HyperTransfer of AdamW", "a figure", "m1-adamw-0.008-zero", "m1-adam-hypertransfer-zero"),
        transfer("50M, M1 to zero: Inverse HyperTransfer of AdamH", "a figure", "m1-adamh-0.01-zero", "m1-adam-inverse-zero"),
        transfer("50M, M2 to zero: HyperTransfer+ of Muon", "below 5e-6", "muon-0.01-zero-seed1", "plus-0.01-zero-seed1"),
        transfer("50M, M2 to zero: Inverse HyperTransfer+ of MuonH", "3e-4", "muonh-0.0125-zero-seed1", "inverse-plus-0.0125-zero-seed1"),
        transfer("50M, M2 to a tenth: HyperTransfer+ of Muon", "3.238, 3.238", "muon-0.003-tenth", "plus-0.003-tenth"),
        transfer("50M, M2 to a tenth: Inverse HyperTransfer+ of MuonH", "3.45e-4", "muonh-0.0125-tenth-adamw-0.003", "inverse-plus-0.0125-tenth"),
        transfer("124M, M1 to zero: HyperTransfer of Muon", "order of 1e-4 or less", "exp1-muon", "exp1-hypertransfer"),
        transfer("124M, M1 to zero: Inverse HyperTransfer of MuonH", "order of 1e-4 or less", "exp1-muonh", "exp1-inverse-hypertransfer"),
        transfer("124M, M2 to zero: HyperTransfer+ of Muon", "below 5e-6", "exp2-zero-muon", "exp2-zero-hypertransfer-plus"),
        transfer("124M, M2 to zero: Inverse HyperTransfer+ of MuonH", "3e-4", "exp2-zero-muonh", "exp2-zero-inverse-hypertransfer-plus"),
        transfer("124M, M2 to a tenth: HyperTransfer+ of Muon", "3.238, 3.238", "exp2-tenth-muon", "exp2-tenth-hypertransfer-plus"),
        transfer("124M, M2 to a tenth: Inverse HyperTransfer+ of MuonH", "3.45e-4", "exp2-tenth-muonh", "exp2-tenth-inverse-hypertransfer-plus"),
        transfer("500M, M1, 300 steps: HyperTransfer of Muon", "a figure", "dense-muon", "dense-hypertransfer"),
        transfer("500M, M1, 300 steps: Inverse HyperTransfer of MuonH", "a figure", "dense-muonh", "dense-inverse-hypertransfer"),
        transfer("50M, M1 to zero: HyperTransfer of Muon, each at its own weights", "order of 1e-4 or less", "m1-muon-0.01-zero-own", "m1-hypertransfer-0.01-zero-own"),
    ]
    yield "short", ("610 steps at 124M", "target, follower", "losses that differ", "norms s, rates differ by", "verdict"), [
        (claim, *rest)
        for claim, _, *rest in (
            transfer("M1 to zero: HyperTransfer of Muon", "", "exp1-124m/muon", "exp1-124m/hypertransfer"),
            transfer("M1 to zero: Inverse HyperTransfer of MuonH", "", "exp1-124m/muonh", "exp1-124m/inverse-hypertransfer"),
            transfer("M1 to zero: HyperTransfer of AdamW", "", "adamw-124m/adamw", "adamw-124m/hypertransfer"),
            transfer("M1 to zero: Inverse HyperTransfer of AdamH", "", "adamw-124m/adamh", "adamw-124m/inverse-hypertransfer"),
            transfer("M2 to zero: HyperTransfer+ of Muon", "", "exp2-zero-124m/muon", "exp2-zero-124m/hypertransfer-plus"),
            transfer("M2 to zero: Inverse HyperTransfer+ of MuonH", "", "exp2-zero-124m/muonh", "exp2-zero-124m/inverse-hypertransfer-plus"),
            transfer("M2 to a tenth: HyperTransfer+ of Muon", "", "exp2-tenth-124m/muon", "exp2-tenth-124m/hypertransfer-plus"),
            transfer("M2 to a tenth: Inverse HyperTransfer+ of MuonH", "", "exp2-tenth-124m/muonh", "exp2-tenth-124m/inverse-hypertransfer-plus"),
            transfer("M2 at Muon's ratio: Inverse HyperTransfer+ of MuonH", "", "exp2-tenth-124m/muonh-matched", "exp2-tenth-124m/inverse-of-matched"),
            transfer("M1 to zero, fp8: HyperTransfer of Muon", "", "m1-muon-fp8-1234", "m1-hypertransfer-fp8-1234"),
            transfer("M1 to zero, fp8: Inverse HyperTransfer of MuonH", "", "m1-muonh-fp8-1234", "m1-inverse-fp8-1234"),
        )
    ]
    yield "exp1", sides, [
        difference("Muon minus MuonH, three seeds", "+0.003", "m1-muon-0.01-zero*3", "m1-muonh-0.0125-zero*3"),
        difference("the same, AdamW beside MuonH at 0.015 instead of 0.01", "+0.003", "m1-muon-0.01-zero", "m1-muonh-0.0125-zero-adamw-0.015"),
        difference("the same at lower rates, 0.0067 and 0.01", "", "m1-muon-0.0067-zero", "m1-muonh-0.01-zero"),
        ("MuonH overtakes Muon", "in a figure", f"at step {overtakes('m1-muon-0.01-zero*3', 'm1-muonh-0.0125-zero*3')}", "", ""),
    ]
    yield "exp2", sides, [
        difference("to zero: Muon minus MuonH", "+0.005", "muon-0.01-zero*3", "muonh-0.0125-zero*3"),
        difference("the same on text that is read once", "+0.005", "once-muon-0.0067*3", "once-muonh-0.0083-adamw-0.0044*3"),
        difference("to a tenth: Muon minus MuonH", "0.000", "muon-0.003-tenth*3", "muonh-0.0125-tenth-adamw-0.003*3"),
        difference("Muon: to a tenth minus to zero", "+0.021", "muon-0.003-tenth*3", "muon-0.01-zero*3"),
        difference("MuonH: to a tenth minus to zero", "+0.026", "muonh-0.0125-tenth-adamw-0.003*3", "muonh-0.0125-zero*3"),
    ]
    yield "once", sides, [
        difference("AdamW at 0.0067 beside Muon, 0.0044 beside MuonH, three seeds", "+0.005", "once-muon-0.0067*3", "once-muonh-0.0083-adamw-0.0044*3"),
        difference("AdamW at 0.0067 beside both", "+0.005", "once-muon-0.0067", "once-muonh-0.0083"),
        difference("AdamW at 0.0044 beside both", "+0.005", "once-muon-0.0067-adamw-0.0044", "once-muonh-0.0083-adamw-0.0044"),
    ]
    yield "exp3", sides, [
        difference("MuonH: nominal tenth minus Muon's ratio, three seeds", "+0.017", "muonh-0.0125-tenth-adamw-0.003*3", "muonh-0.0125-matched-adamw-0.003*3"),
        difference("Muon minus MuonH at Muon's ratio, three seeds", "+0.017", "muon-0.003-tenth*3", "muonh-0.0125-matched-adamw-0.003*3"),
        difference("the same at peak 0.01 instead of 0.0125", "+0.017", "muon-0.003-tenth", "muonh-0.01-matched-adamw-0.003"),
    ]
    yield "ratios", ("Muon's nominal ratio is 0.1; its effective one", *(["paper, 124M"] + ["ours, 50M"] * 4 + ["ours, 124M"])), [
        ("rate", "0.0044", "0.002", "0.003", "0.0044", "0.0067", "0.0044"),
        ("mean over the matrices", "0.047", *map(final_to_peak, runs("muon-{0.002,0.003,0.0044,0.0067}-tenth exp2-tenth-muon"))),
    ]
    yield "adam", sides, [
        difference("AdamW 0.016 minus AdamH 0.01, three seeds", "a figure", "m1-adamw-0.016-zero*3", "m1-adamh-0.01-zero*3"),
        difference("AdamW 0.008 minus AdamH 0.01", "", "m1-adamw-0.008-zero", "m1-adamh-0.01-zero"),
    ]
    yield "growth", ("highest norm over the first, and the last over the first", "matrices that grow", "q", "k", "v", "o", "fc", "proj"), [
        growth("50M, M1 to zero", "m1-muon-0.01-zero"),
        growth("50M, M2 to zero", "muon-0.01-zero"),
        growth("50M, M2 to a tenth", "muon-0.003-tenth"),
        growth("124M, M1 to zero", "exp1-muon"),
        growth("124M, M2 to a tenth", "exp2-tenth-muon"),
    ]
    head = ("", "mean effective rate highest at step", "each matrix at half of its highest at step", "highest nominal rate of each matrix", "at step")
    yield "shapes", head, [
        shape("50M, M1: Muon", "m1-muon-0.01-zero"),
        shape("50M, M1: Inverse HyperTransfer of MuonH", "m1-inverse-0.0125-zero"),
        shape("50M, M2 to zero: Muon", "muon-0.01-zero-seed1"),
        shape("50M, M2 to zero: Inverse HyperTransfer+ of MuonH", "inverse-plus-0.0125-zero-seed1"),
        shape("50M, M2 to a tenth: Inverse HyperTransfer+ of MuonH", "inverse-plus-0.0125-tenth"),
        shape("50M, M2 at Muon's ratio: Inverse HyperTransfer+ of MuonH", "inverse-plus-0.0125-matched"),
    ]
    others = ("muonh-0.0125-zero-seed1", "muon-0.01-zero-seed1")
    yield "replay", ("M2 to zero, seed 1", "validation", "minus MuonH", "in training", "minus tuned Muon", "in training"), [
        beside("MuonH", "muonh-0.0125-zero-seed1", *others),
        beside("Inverse HyperTransfer+ of MuonH", "inverse-plus-0.0125-zero-seed1", *others),
        beside("plain Muon at the rates of that inverse", "replay-0.0125-zero-seed1", *others),
        beside("`fair` Muon (the paper's appendix)", "fair-0.0125-zero-seed1", *others),
        beside("tuned Muon", "muon-0.01-zero-seed1", *others),
    ]
    others = ("muonh-0.0125-matched-adamw-0.003", "muon-0.003-tenth")
    yield "replay-ratio", ("M2 at Muon's ratio, seed 1234", "validation", "minus MuonH", "in training", "minus tuned Muon", "in training"), [
        beside("MuonH", "muonh-0.0125-matched-adamw-0.003", *others),
        beside("Inverse HyperTransfer+ of MuonH", "inverse-plus-0.0125-matched", *others),
        beside("plain Muon at the rates of that inverse", "replay-0.0125-matched", *others),
        beside("tuned Muon, to a tenth", "muon-0.003-tenth", *others),
    ]
    yield "own", ("M2", "the evaluated network", "the carrier's own matrices"), [
        (claim, f"{last(run, 'represented'):.1f}", f"{last(run, 'carrier'):.1f}")
        for claim, name in (
            ("50M to zero, HyperTransfer+ of Muon", "plus-0.01-zero-seed1"),
            ("50M to zero, Inverse HyperTransfer+ of MuonH", "inverse-plus-0.0125-zero-seed1"),
            ("50M to a tenth, HyperTransfer+ of Muon", "plus-0.003-tenth"),
            ("50M to a tenth, Inverse HyperTransfer+ of MuonH", "inverse-plus-0.0125-tenth"),
            ("50M at Muon's ratio, Inverse HyperTransfer+ of MuonH", "inverse-plus-0.0125-matched"),
            ("124M to zero, HyperTransfer+ of Muon", "exp2-zero-hypertransfer-plus"),
            ("124M to zero, Inverse HyperTransfer+ of MuonH", "exp2-zero-inverse-hypertransfer-plus"),
            ("124M to a tenth, HyperTransfer+ of Muon", "exp2-tenth-hypertransfer-plus"),
            ("124M to a tenth, Inverse HyperTransfer+ of MuonH", "exp2-tenth-inverse-hypertransfer-plus"),
        )
        for run in runs(name)
    ]
    yield "ablation", ("M1 to zero, minus Muon", "at the end", "largest on the way"), [
        apart("HyperTransfer", "m1-hypertransfer-0.01-zero", "m1-muon-0.01-zero"),
        apart("without R/s in the gradient", "m1-hypertransfer-0.01-as-is-zero", "m1-muon-0.01-zero"),
        apart("with s fixed at R", "m1-hypertransfer-0.01-no-s-zero", "m1-muon-0.01-zero"),
        apart("rate only: MuonH at Muon's nominal rate, 0.01", "m1-muonh-0.01-zero", "m1-muon-0.01-zero"),
    ]
    yield "carried", ("to zero, carried minus tuned by a grid", "validation", "in training"), [
        (claim, *map(str, both(a, b)))
        for claim, a, b in (
            ("M1: Muon 0.01 as MuonH: 0.01146", "m1-muonh-0.01146-zero-carried", "m1-muonh-0.0125-zero"),
            ("M1: MuonH 0.0125 as Muon: 0.01109", "m1-muon-0.01109-zero-carried", "m1-muon-0.01-zero"),
            ("M1, not carried: MuonH at Muon's number, 0.01", "m1-muonh-0.01-zero", "m1-muonh-0.0125-zero"),
            ("M2: Muon 0.01 as MuonH: 0.01138", "muonh-0.01138-zero-carried", "muonh-0.0125-zero"),
            ("M2: MuonH 0.0125 as Muon: 0.01109", "muon-0.01109-zero-carried", "muon-0.01-zero"),
            ("M2, not carried: MuonH at Muon's number, 0.01", "muonh-0.01-zero", "muonh-0.0125-zero"),
            ("M2: Muon at weight decay 0.3 instead of 0.1: 0.003804", "muon-0.003804-0.3-zero-carried", "muon-0.01-zero"),
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
            ("1,430 steps, Muon 0.02", "muon-0.01-zero-1430", "", "muon-0.02-0.2-zero-1430-adamw", "muon-0.0133-0.2-zero-1430-adamw"),
            ("1,430 steps, MuonH 0.025", "muonh-0.0125-zero-1430", "", "muonh-0.025-zero-1430-adamw", "muonh-{0.0167,0.0375}-zero-1430-adamw"),
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
        difference("Muon: to a tenth minus to zero (0.0067)", "+0.021", "exp2-tenth-muon", "exp2-zero-muon-0.0067"),
        difference("Muon: to a tenth minus to zero (0.015)", "+0.021", "exp2-tenth-muon", "exp2-zero-muon"),
        difference("MuonH: to a tenth minus to zero", "+0.026", "exp2-tenth-muonh", "exp2-zero-muonh"),
    ]
    yield "products", ("other algorithms for the matrix products", "at the end", "largest on the way"), [
        apart("50M, M2 at Muon's ratio: Inverse HyperTransfer+ minus MuonH", "inverse-plus-0.0125-matched", "muonh-0.0125-matched-adamw-0.003"),
        apart("124M, M2 to zero: HyperTransfer+ minus Muon", "exp2-zero-hypertransfer-plus-other-products", "exp2-zero-muon"),
        apart("124M, M2 to zero: Inverse HyperTransfer+ minus MuonH", "exp2-zero-inverse-hypertransfer-plus-other-products", "exp2-zero-muonh"),
    ]
    yield "fp8", ("validation after 610 steps, seeds 1234, 1, 2", "bfloat16", "fp8"), [
        (claim, *(", ".join(f"{end(run):.4f}" for run in runs(names)) for names in both))
        for claim, *both in (
            ("M1 Muon", "m1-muon-bf16-{1234,1,2}", "m1-muon-fp8-{1234,1,2}"),
            ("M1 MuonH", "m1-muonh-bf16-{1234,1,2}", "m1-muonh-fp8-1234"),
            ("M2 Muon", "m2-muon-bf16-{1234,1,2}", "m2-muon-fp8-1234"),
            ("M2 MuonH", "m2-muonh-bf16-{1234,1,2}", "m2-muonh-fp8-1234"),
        )
    ]
    yield "grids", ("one seed; AdamW's rate", "rate: validation"), [
        grid("M1 to zero, Muon; AdamW the same", "matrices", "m1-muon-{0.0067,0.01,0.015}-zero m1-muon-0.01109-zero-carried"),
        grid("M1 to zero, MuonH; AdamW 0.01", "matrices", "m1-muonh-{0.01,0.0125,0.015}-zero m1-muonh-0.01146-zero-carried"),
        grid("M1 to zero, AdamW beside MuonH 0.0125", "adamw", "m1-muonh-0.0125-zero m1-muonh-0.0125-zero-adamw-{0.0064,0.015}"),
        grid("M1 to zero, AdamW; AdamW the same", "matrices", "m1-adamw-{0.002,0.004,0.008,0.016,0.032}-zero"),
        grid("M1 to zero, AdamH; AdamW 0.004", "matrices", "m1-adamh-{0.005,0.01,0.02}-zero"),
        grid("M1 to zero, AdamW beside AdamH 0.01", "adamw", "m1-adamh-0.01-zero m1-adamh-0.01-zero-adamw-{0.002,0.008}"),
        grid("M2 to zero, Muon; AdamW the same", "matrices", "muon-{0.0067,0.01,0.015}-zero muon-0.01109-zero-carried"),
        grid("M2 to zero, MuonH; AdamW 0.01", "matrices", "muonh-{0.01,0.0125,0.015,0.0225}-zero muonh-0.01138-zero-carried"),
        grid("M2 to zero, AdamW beside MuonH 0.0125", "adamw", "muonh-0.0125-zero muonh-0.0125-zero-adamw-{0.003,0.0064,0.015}"),
        grid("M2 to a tenth, Muon; AdamW the same", "matrices", "muon-{0.002,0.003,0.0044,0.0067}-tenth"),
        grid("M2 to a tenth, MuonH; AdamW 0.01", "matrices", "muonh-{0.01,0.0125,0.015}-tenth"),
        grid("M2 to a tenth, AdamW beside MuonH 0.0125", "adamw", "muonh-0.0125-tenth muonh-0.0125-tenth-adamw-{0.0015,0.003,0.0064}"),
        grid("M2 at Muon's ratio, AdamW beside MuonH 0.0125", "adamw", "muonh-0.0125-matched muonh-0.0125-matched-adamw-{0.0015,0.003,0.0064}"),
        grid("M2 at Muon's ratio, MuonH; AdamW 0.003", "matrices", "muonh-{0.01,0.0125,0.015}-matched-adamw-0.003"),
        grid("M2, text read once, Muon; AdamW the same", "matrices", "once-muon-{0.0044,0.0067,0.01}"),
        grid("M2, text read once, MuonH; AdamW 0.0067", "matrices", "once-muonh-{0.0055,0.0083,0.0125,0.0188}"),
        grid("M2, text read once, AdamW beside MuonH 0.0083", "adamw", "once-muonh-0.0083 once-muonh-0.0083-adamw-{0.002,0.003,0.0044}"),
        grid("M2, text read once, AdamW beside MuonH 0.0125", "adamw", "once-muonh-0.0125 once-muonh-0.0125-adamw-{0.0044,0.01}"),
    ]
    yield "seeds", ("", "validation, seed 1234", "1", "2", "in training, seed 1234", "1", "2"), [
        seeds("M1 to zero, Muon 0.01", "m1-muon-0.01-zero*3"),
        seeds("M1 to zero, MuonH 0.0125", "m1-muonh-0.0125-zero*3"),
        seeds("M1 to zero, AdamW 0.016", "m1-adamw-0.016-zero*3"),
        seeds("M1 to zero, AdamH 0.01, AdamW 0.004", "m1-adamh-0.01-zero*3"),
        seeds("M2 to zero, Muon 0.01", "muon-0.01-zero*3"),
        seeds("M2 to zero, MuonH 0.0125", "muonh-0.0125-zero*3"),
        seeds("M2 to a tenth, Muon 0.003", "muon-0.003-tenth*3"),
        seeds("M2 to a tenth, MuonH 0.0125, AdamW 0.003", "muonh-0.0125-tenth-adamw-0.003*3"),
        seeds("M2 at Muon's ratio, MuonH 0.0125, AdamW 0.003", "muonh-0.0125-matched-adamw-0.003*3"),
        seeds("M2, text read once, Muon 0.0067", "once-muon-0.0067*3"),
        seeds("M2, text read once, MuonH 0.0083, AdamW 0.0044", "once-muonh-0.0083-adamw-0.0044*3"),
    ]


def unpack(folder):
    for archive in sorted((ROOT / "docs" / "runs").glob("*.tar.xz")):
        with tarfile.open(archive) as file:
            file.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    for file in pathlib.Path(folder).glob("*/*/metrics.jsonl"):
        RUNS[file.parent.name] = RUNS[f"{file.parent.parent.name}/{file.parent.name}"] = file.parent


def main(*arguments):
    write = "--write" in arguments
    files = [name for name in arguments if name != "--write"] or [ROOT / "docs" / "RESULTS.md"]
    documents = {file: pathlib.Path(file).read_text() for file in files}
    with tempfile.TemporaryDirectory() as folder:
        unpack(folder)
        made = {name: "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)) for name, head, rows in tables()}
    other = 0
    for document, text in documents.items():
        for name, table in made.items():
            found = re.search(rf"(<!-- table {name} -->\n\n)(.*?)(\n\n<!-- end -->)", text, re.S)
            if not found:
                raise SystemExit(f"{document} has no place for table {name}")
            if found.group(2) != table:
                other += 1
                print(f"{document}: {name} is\n{table}\n")
                text = text.replace(found.group(0), found.group(1) + table + found.group(3))
        if write:
            pathlib.Path(document).write_text(text)
    return 1 if other and not write else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
