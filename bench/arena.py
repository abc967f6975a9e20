#!/usr/bin/env python3
"""The tables of docs/ARENA.md, from the lines that `ht reproduce EXPERIMENT --json` prints for the runs in docs/runs:

    mkdir -p out
    for study in arena-853k arena-853k-seeds record-131k record-853k record-853k-seeds learned-131k; do
      tar xJf docs/runs/$study.tar.xz -C out
    done
    for study in arena-853k/experiment arena-853k/seeds record-131k/experiment record-853k/experiment record-853k/seeds learned-131k/experiment; do
      ./ht reproduce out/$study.yaml --out out/${study%/*} --json
    done | python3 bench/arena.py [--write] [FILE]

All six lines are needed, in this order. Says which tables of FILE (docs/ARENA.md) are not those of the runs, exit code 1 if there are any;
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
    mean, low, high = (f"{row[key]:+.3f}".replace("+0.000", "0.000").replace("-0.000", "0.000") for key in ("mean", "low", "high"))
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
    sides = [(text, rows(parts, part)) for part, text in (("by-muon", "Muon"), ("by-muonh", "MuonH")) if part in parts]
    head = ("", "rate", "angle", "minus Muon", *(cell for text, _ in sides for cell in (f"plain {text} at its rates, minus {text}", f"share, {text}")))
    return head, [
        (name(row), rate(row), f"{row['angle']:.2f}", minus(row), *(cell(side.get(key, {})) for _, side in sides for cell in (minus, share)))
        for key, row in rows(parts, "own").items()
    ]


def norms(parts):
    losses = {key: row["losses"] for key, row in rows(parts, "M2").items()}

    def apart(run, other):
        return "" if run == other else str(Difference(float, losses[run], losses[other]))

    return ("the proxy norm", "validation", "minus the recursion", "minus a norm that stays"), [
        (text, f"{mean(losses[run]):.4f}", apart(run, "recursion"), apart(run, "fixed"))
        for run, text in NORMS.items()
    ]


TABLES = {"directions": directions, "directions-seeds": directions, "policies": policies, "larger": policies, "larger-seeds": policies, "norms": norms}


def main(*arguments):
    files = [pathlib.Path(argument) for argument in arguments if argument != "--write"] or [ROOT / "docs" / "ARENA.md"]
    answers = [json.loads(line) for line in sys.stdin if line.strip()]
    made = {
        name: table(*rows({part["name"]: part for part in answer["parts"]}))
        for (name, rows), answer in zip(TABLES.items(), answers, strict=True)
    }
    return fill(files, made, "--write" in arguments)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
