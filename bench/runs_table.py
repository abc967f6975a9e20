#!/usr/bin/env python3
"""A table of finished runs, from their own files only.

    python3 bench/runs_table.py PLACE ... [A:B ...]

PLACE: a folder with runs inside, or a .tar.xz of one. One row per run: settings, last validation loss, the end of the effective
rate over its peak (mean and range over the hidden matrices), and how much the norms have grown at the end, by kind of matrix. For
each pair A:B, names of two runs, the second table has the validation loss of A minus that of B at the end, how many training and
validation losses differ in any bit, and who leads when. For a pair of different lengths another table compares A with B by the
horizon law instead: effective rates over k = sqrt(steps of B / steps of A), and norms over their first, at the same part of the way.
Where B follows another run, a table has the largest relative differences of its target's norms to A's own and of its effective rates
to A's, and the last loss of its own matrices as they are; where not, one has the means of the last training losses, which tell from
validation what comes of text that is read again. A:A is the shape of A's rates: where they are highest, and how the end over the
peak differs by kind of matrix.
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


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def setting(config, group, key):
    """The value of `key` in `group` of a run's config.yaml, which is flat enough to be read without a library."""
    return re.search(rf"^{group}:\n(?:  .*\n)*?  {key}: \"?([^\"\n]*)", config, re.M).group(1)


@functools.cache
def losses(run, kind):
    return {line["step"]: line[kind] for line in lines(run / "metrics.jsonl") if line.get(kind) is not None}


def row(run):
    config = (run / "config.yaml").read_text()
    logged = lines(run / "matrices.jsonl")
    names = json.loads((run / "provenance.json").read_text())["matrices"]
    kinds, ratios = {}, []
    for k, name in enumerate(names):
        effective = [line["effective"][k] for line in logged]
        ratios.append(effective[-1] / max(effective))
        kinds.setdefault(name.split(".")[-2], []).append(logged[-1]["norm"][k] / logged[0]["norm"][k])
    validations = losses(run, "validation")
    values = [
        run.name,
        setting(config, "matrices", "mode"),
        setting(config, "matrices", "final_ratio"),
        setting(config, "matrices", "rate"),
        setting(config, "adamw", "rate"),
        re.search(r"^seed: (\d+)", config, re.M).group(1),
        f"{validations[max(validations)]:.4f}",
        f"{sum(ratios) / len(ratios):.4f} ({min(ratios):.4f} to {max(ratios):.4f})",
        ", ".join(f"{kind} {sum(growth) / len(growth):.2f}" for kind, growth in kinds.items()),
    ]
    return "| " + " | ".join(values) + " |"


def pair(a, b):
    """How many losses differ, where the sign of A minus B changes, the largest difference in between, and the last one."""
    both = {kind: (losses(a, kind), losses(b, kind)) for kind in ("loss", "validation")}
    common = [(kind, step) for kind, (ours, theirs) in both.items() for step in ours if step in theirs]
    differ = [step for kind, step in common if both[kind][0][step] != both[kind][1][step]]
    count = f"{len(differ)} of {len(common)}" + (f", from step {min(differ)} on" if differ else "")
    ours, theirs = both["validation"]
    steps = sorted(step for step in ours if step in theirs and step > 0)
    leaders = [a if ours[s] < theirs[s] else b if theirs[s] < ours[s] else None for s in steps]
    parts, begin = [], 0
    for i, leader in enumerate(leaders):
        if i + 1 == len(steps) or leaders[i + 1] != leader:
            part = steps[begin : i + 1]
            largest = max(abs(ours[s] - theirs[s]) for s in part)
            if leader:
                parts.append(f"{leader.name} from {part[0]} to {part[-1]} (at most {largest:.4f})")
            begin = i + 1
    apart = max(abs(ours[s] - theirs[s]) for s in steps)
    if len(parts) > 6:
        parts = [f"{len(parts) - 1} changes, at most {apart:.4f}; the last: {parts[-1]}"]
    if 0 < apart < 0.0005:
        parts = [f"nobody by more than {apart:.1e}"]
    return f"| {a.name} - {b.name} | {ours[steps[-1]] - theirs[steps[-1]]:+.4f} | {count} | {'; '.join(parts) or 'nobody'} |"


def follower(a, b):
    """How far B's idea of its target is from A, over all matrices and common logged steps."""
    logs = [{line["step"]: line for line in lines(run / "matrices.jsonl")} for run in (a, b)]
    common = sorted(set(logs[0]) & set(logs[1]))
    values = [
        max(abs(x - y) / y for s in common for x, y in zip(logs[1][s][ours], logs[0][s][theirs]))
        for ours, theirs in (("target_norm", "norm"), ("effective", "effective"))
    ]
    carrier = losses(b, "carrier")
    last = f"{carrier[max(carrier)]:.1f}" if carrier else "-"
    return f"| {b.name} | {len(common)} | {values[0]:.1e} | {values[1]:.1e} | {last} |"


def training(a, b):
    """Over the last twentieth of the steps."""
    means = []
    for run in (a, b):
        last = [loss for step, loss in sorted(losses(run, "loss").items()) if step >= steps(run) * 0.95]
        means.append(sum(last) / len(last))
    below = [losses(run, "validation")[steps(run)] - mean for run, mean in zip((a, b), means)]
    return f"| {a.name} - {b.name} | {means[0] - means[1]:+.4f} | {below[0]:.3f}, {below[1]:.3f} |"


def shape(run):
    logged = lines(run / "matrices.jsonl")
    names = json.loads((run / "provenance.json").read_text())["matrices"]

    def highest(curve):
        return max(range(len(logged)), key=curve.__getitem__)

    mean = [sum(line["effective"]) / len(names) for line in logged]
    halved, kinds, nominal = [], {}, []
    for k, name in enumerate(names):
        curve = [line["effective"][k] for line in logged]
        top = highest(curve)
        halved.append(next(line["step"] for line, x in zip(logged[top:], curve[top:]) if x <= curve[top] / 2))
        kinds.setdefault(name.split(".")[-2], []).append(curve[-1] / curve[top])
        rates = [line["rate"][k] for line in logged]
        top = highest(rates)
        nominal.append((rates[top], logged[top]["step"]))
    peaks, at = zip(*nominal)
    values = [
        run.name,
        f"{max(mean):.4f} at {logged[highest(mean)]['step']}",
        f"{min(halved)} to {max(halved)}",
        f"{min(peaks):.4f} to {max(peaks):.4f} at {min(at)} to {max(at)}",
        ", ".join(f"{kind} {sum(ends) / len(ends):.4f}" for kind, ends in kinds.items()),
    ]
    return "| " + " | ".join(values) + " |"


def steps(run):
    return int(re.search(r"^steps: (\d+)", (run / "config.yaml").read_text(), re.M).group(1))


def lengths(a, b):
    """Root mean squares of logarithms of ratios, over all matrices and logged steps of A up to 98 % of the way."""
    logs, k = {run: lines(run / "matrices.jsonl") for run in (a, b)}, math.sqrt(steps(b) / steps(a))
    ways = {run: [(line["step"] + 1) / steps(run) for line in logs[run]] for run in (a, b)}
    rate, norm = [], []
    for way, line in zip(ways[a], logs[a]):
        i = bisect.bisect_left(ways[b], way)
        if way > 0.98 or i == 0:
            continue
        low, high, part = logs[b][i - 1], logs[b][i], (way - ways[b][i - 1]) / (ways[b][i] - ways[b][i - 1])
        for m in range(len(line["norm"])):
            effective, size = (low[key][m] * (1 - part) + high[key][m] * part for key in ("effective", "norm"))
            rate.append(math.log(line["effective"][m] / k / effective))
            norm.append(math.log(line["norm"][m] / logs[a][0]["norm"][m] / (size / logs[b][0]["norm"][m])))
    rms = [f"{100 * math.sqrt(sum(x * x for x in all) / len(all)):.0f} %" for all in (rate, norm)]
    return f"| {a.name} - {b.name} | {steps(a)}, {steps(b)} | {k:.4f} | {rms[0]} | {rms[1]} |"


def main(*arguments):
    places = [pathlib.Path(argument) for argument in arguments if ":" not in argument]
    pairs = [argument.split(":") for argument in arguments if ":" in argument]
    with tempfile.TemporaryDirectory() as unpacked:
        for place in places:
            if place.is_file():
                with tarfile.open(place) as archive:
                    archive.extractall(unpacked, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        folders = [place for place in places if place.is_dir()] + [pathlib.Path(unpacked)]
        runs = {file.parent.name: file.parent for folder in folders for file in sorted(folder.glob("**/metrics.jsonl"))}
        print("| run | mode | final ratio | rate | AdamW's rate | seed | validation | end/peak of the effective rate | norm at the end / start |")
        print("|---|---|---|---|---|---|---|---|---|")
        for run in runs.values():
            print(row(run))
        pairs = [(runs[a], runs[b]) for a, b in pairs]
        others = [both for both in pairs if both[0] != both[1]]
        alike = [both for both in others if steps(both[0]) == steps(both[1])]
        table("| pair | at the end | losses that differ | who leads at which validations |", pair, alike)
        head = "| follower | logged steps | its target's norms, largest relative difference | effective rates | loss of its own matrices |"
        table(head, follower, [both for both in alike if follows(both[1])])
        head = "| pair | training loss, mean of the last twentieth | below the last validation by |"
        table(head, training, [both for both in alike if not any(map(follows, both))])
        head = "| pair | steps | k | effective rate over k times the other's, rms | norm, rms |"
        table(head, lengths, [both for both in others if both not in alike])
        head = "| run | highest effective rate (mean), at step | each at half of its own, at step | highest nominal rates, at step | end/peak |"
        table(head, lambda run, _: shape(run), [both for both in pairs if both[0] == both[1]])


def follows(run):
    return "transfer" in setting((run / "config.yaml").read_text(), "matrices", "mode")


def table(head, line, pairs):
    if pairs:
        print(f"\n{head}\n" + "|---" * (head.count("|") - 1) + "|")
    for a, b in pairs:
        print(line(a, b))


if __name__ == "__main__":
    main(*sys.argv[1:])
