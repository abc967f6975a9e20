#!/usr/bin/env python3
"""Packs runs for docs/runs: python3 bench/archive.py docs/runs/NAME.tar.xz RUN...

Without checkpoints, events and locks. Of matrices.jsonl it keeps every 10th step up to 320, every 20th up to 600, then every 100th
and the last; with --every N every Nth and the last. Runs keep their place in the folder that all have in common: seed-1234/muon
and seed-1235/muon are two. With --folder, further runs are unpacked into another archive's folder.
"""
import argparse
import io
import json
import os
import pathlib
import re
import tarfile

FILES = ("config.yaml", "decisions.txt", "matrices.jsonl", "metrics.jsonl", "provenance.json", "state.json")


def thinned(text, every, curves):
    lines = [json.loads(line) for line in text.splitlines()]
    kept = [line for line in lines if line["step"] % (every or usual(line["step"])) == 0 or line is lines[-1]]
    for line in kept:
        line |= {key: [None] * len(line[key]) for key in line if curves and key not in ["step", *curves]}
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in kept)


def usual(step):
    return 10 if step <= 320 else 20 if step <= 600 else 100


def recorded(run):
    """The schedule of a replay: a thinned log could not give it back. `ht reproduce` makes those that stand beside their run."""
    found = re.search(r'^  recorded: "?([^"\n]+)', (run / "config.yaml").read_text(), re.M)
    file = run / (found.group(1) if found else "null")
    beside = file.parent / re.sub("-(effective|rate).json$", "", file.name)
    return [file] if file.is_file() and not beside.is_dir() else []


def main(archive, runs, every, curves, experiment, folder):
    if archive.exists():
        raise SystemExit(f"{archive} exists; give a new name")
    runs = sorted({run.resolve() for run in runs})
    for run in runs:
        if not (run / "config.yaml").is_file():
            raise SystemExit(f"{run} is not a run: it has no config.yaml")
    folder = folder or archive.name.removesuffix(".tar.xz")
    common = os.path.commonpath([run.parent for run in runs])
    with tarfile.open(archive, "w:xz", preset=9) as out:

        def add(name, file, place=""):
            text = file.read_text()
            if file.name == "config.yaml":  # these paths hold on one machine only
                text = re.sub(r'^(  (?:train|validation): "?)/.*/([^/\n]+/)', r"\1\2", text, flags=re.M)
                text = re.sub(r'^(  recorded: "?).*/', rf"\1{place}", text, flags=re.M)
            data = (thinned(text, every, curves) if file.name == "matrices.jsonl" else text).encode()
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime = len(data), int(file.stat().st_mtime)
            out.addfile(entry, io.BytesIO(data))

        if experiment:
            add(experiment.name, experiment)
        for run in runs:
            schedule = recorded(run)
            for file in [run / name for name in FILES if (run / name).exists()] + schedule:
                add(f"{run.relative_to(common)}/{file.name}", file, "" if schedule else "../")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("archive", type=pathlib.Path)
    options.add_argument("runs", type=pathlib.Path, nargs="+")
    options.add_argument("--every", type=int, help="the steps of matrices.jsonl to keep")
    options.add_argument("--curves", type=lambda text: text.split(","), help="its curves to keep, such as norm,effective")
    options.add_argument("--experiment", type=pathlib.Path, help="the file that ht reproduce trained, kept beside the runs")
    options.add_argument("--folder", help="the folder inside (default: the archive's name)")
    main(**vars(options.parse_args()))
