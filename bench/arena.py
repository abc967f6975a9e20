#!/usr/bin/env python3
"""The tables of docs/ARENA.md, from the lines that `ht reproduce EXPERIMENT --json` prints for the runs in docs/runs:

    mkdir -p out
    for study in arena-853k record-131k record-853k learned-131k; do
      tar xJf docs/runs/$study.tar.xz -C out
      ./ht reproduce out/$study/experiment.yaml --out out/$study --json
    done | python3 bench/arena.py [--write] [FILE]

All four lines are needed, in this order. Says which tables of FILE (docs/ARENA.md) are not those of the runs, exit code 1 if there are any;
with --write writes them.
"""
import json
import pathlib
import sys

from results import ROOT, Difference, fill, mean, table

NAMES = {"normuon": "NorMuon", "adamuon": "AdaMuon", "soap": "SOAP", "soap-muon": "SOAP-Muon", "sgd": "SGD", "muonh": "MuonH",
         "floor": "floor", "brake": "brake 0.5", "pinned": "pinned", "all": "all three"}
NORMS = {"recursion": "Muon's own: the recursion", "fixed": "stays", "line": "a straight line", "trained": "trained"}


def name(row):
    return NAMES.get(row["row"], row["row"].capitalize())


def minus(row):
    """The difference and its interval; bold where it is more than noise by Holm."""
    if "mean" not in row:
        return ""
    mean, low, high = (f"{round(row[key], 3) + 0:+.3f}" for key in ("mean", "low", "high"))
    return f"{f'**{mean}**' if row['holm'] < 0.05 else mean} ({low} to {high})"


def rate(row):
    edge = ", an end of its grid" if row["edges"] else ""
    return f"{float(row['tuned']['matrices.rate']):g}{edge}"


def share(row):
    if "share_mean" not in row:
        return ""
    if row.get("share_low") is None:
        return "unclear"
    mean, low, high = (round(100 * row[f"share_{key}"]) for key in ("mean", "low", "high"))
    return f"{mean} % ({low} to {high})"


def rows(parts, part):
    return {row["row"]: row for row in parts[part]["rows"]}


def directions(parts):
    own, equal = rows(parts, "own"), rows(parts, "equal")
    head = ("", "rate", "angle", "validation", "minus Muon", "place", "minus Muon, at Muon's effective rates", "place", "share of the schedule")
    return head, [
        (name(row), rate(row), f"{row['angle']:.2f}", f"{row['validation']:.3f}", minus(row), str(row["rank"]), minus(equal[key]), str(equal[key]["rank"]),
         share(equal[key]))
        for key, row in own.items()
    ]


def policies(parts):
    own, muon, ball = rows(parts, "own"), rows(parts, "by-muon"), rows(parts, "by-muonh")
    head = ("", "rate", "angle", "minus Muon", "plain Muon at its rates, minus Muon", "share, Muon", "plain MuonH at its rates, minus MuonH", "share, MuonH")
    return head, [
        (name(row), rate(row), f"{row['angle']:.2f}", minus(row), minus(muon.get(key, {})), share(muon.get(key, {})), minus(ball.get(key, {})),
         share(ball.get(key, {})))
        for key, row in own.items()
    ]


def norms(parts):
    losses = {key: row["losses"] for key, row in rows(parts, "M2").items()}

    def apart(run, other):
        return "" if run == other else str(Difference(float, losses[run], losses[other]))

    return ("the proxy norm", "validation", "minus the recursion", "minus a norm that stays"), [
        (text, f"{mean(losses[run]):.4f}", apart(run, "recursion"), apart(run, "fixed"))
        for run, text in NORMS.items()
    ]


def main(*arguments):
    files = [pathlib.Path(argument) for argument in arguments if argument != "--write"] or [ROOT / "docs" / "ARENA.md"]
    answers = [json.loads(line) for line in sys.stdin if line.strip()]
    parts = [{part["name"]: part for part in answer["parts"]} for answer in answers]
    made = {"directions": directions(parts[0]), "policies": policies(parts[1]), "larger": policies(parts[2]), "norms": norms(parts[3])}
    made = {name: table(*rows) for name, rows in made.items()}
    return fill(files, made, "--write" in arguments)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
