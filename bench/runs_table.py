#!/usr/bin/env python3
"""A table of finished runs, from their own files only.

    python3 bench/runs_table.py FOLDER [A:B ...]

FOLDER has runs inside. One row per run: settings, last validation loss, the end of the effective rate over its peak (mean and
range over the hidden matrices), and how much the norms have grown at the end, by kind of matrix. For each pair A:B, names of two
runs, the second table has the validation loss of A minus that of B: who leads when.
"""
import json
import pathlib
import re
import sys


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def setting(config, group, key):
    """The value of `key` in `group` of a run's config.yaml, which is flat enough to be read without a library."""
    return re.search(rf"^{group}:\n(?:  .*\n)*?  {key}: \"?([^\"\n]*)", config, re.M).group(1)


def validations(run):
    return {line["step"]: line["validation"] for line in lines(run / "metrics.jsonl") if line.get("validation") is not None}


def row(run):
    config = (run / "config.yaml").read_text()
    logged = lines(run / "matrices.jsonl")
    names = json.loads((run / "provenance.json").read_text())["matrices"]
    kinds, ratios = {}, []
    for k, name in enumerate(names):
        effective = [line["effective"][k] for line in logged]
        ratios.append(effective[-1] / max(effective))
        kinds.setdefault(name.split(".")[-2], []).append(logged[-1]["norm"][k] / logged[0]["norm"][k])
    losses = validations(run)
    values = [
        run.name,
        setting(config, "matrices", "mode"),
        setting(config, "matrices", "final_ratio"),
        setting(config, "matrices", "rate"),
        setting(config, "adamw", "rate"),
        re.search(r"^seed: (\d+)", config, re.M).group(1),
        f"{losses[max(losses)]:.4f}",
        f"{sum(ratios) / len(ratios):.4f} ({min(ratios):.4f} to {max(ratios):.4f})",
        ", ".join(f"{kind} {sum(growth) / len(growth):.2f}" for kind, growth in kinds.items()),
    ]
    return "| " + " | ".join(values) + " |"


def leads(a, b):
    """Where the sign of A minus B changes, the largest difference in between, and the last one."""
    ours, theirs = validations(a), validations(b)
    steps = sorted(step for step in ours if step in theirs and step > 0)
    parts, begin = [], 0
    for i, step in enumerate(steps):
        sign = ours[step] < theirs[step]
        if i + 1 == len(steps) or (ours[steps[i + 1]] < theirs[steps[i + 1]]) != sign:
            part = steps[begin : i + 1]
            largest = max((ours[s] - theirs[s] for s in part), key=abs)
            parts.append(f"{(a if sign else b).name} from {part[0]} to {part[-1]} (at most {abs(largest):.4f})")
            begin = i + 1
    return f"| {a.name} - {b.name} | {ours[steps[-1]] - theirs[steps[-1]]:+.4f} | {'; '.join(parts)} |"


def main(folder, *pairs):
    folder = pathlib.Path(folder)
    print("| run | mode | final ratio | rate | AdamW's rate | seed | validation | end/peak of the effective rate | norm at the end / start |")
    print("|---|---|---|---|---|---|---|---|---|")
    for file in sorted(folder.glob("**/metrics.jsonl")):
        print(row(file.parent))
    if pairs:
        print("\n| pair | at the end | who leads at which validations |\n|---|---|---|")
    for pair in pairs:
        a, b = (next(folder.glob(f"**/{name}")) for name in pair.split(":"))
        print(leads(a, b))


if __name__ == "__main__":
    main(*sys.argv[1:])
