#!/usr/bin/env python3
"""Packs runs for docs/runs: python3 bench/archive.py docs/runs/NAME.tar.xz RUN...

Without checkpoints, events and locks. Of matrices.jsonl it keeps every 10th step up to 320, every 20th up to 600, then every 100th
and the last.
"""
import io
import json
import pathlib
import sys
import tarfile

FILES = ("config.yaml", "decisions.txt", "matrices.jsonl", "metrics.jsonl", "provenance.json", "state.json")


def thinned(text):
    lines = [(json.loads(line)["step"], line) for line in text.splitlines(True)]
    return "".join(
        line for step, line in lines if step % (10 if step <= 320 else 20 if step <= 600 else 100) == 0 or step == lines[-1][0])


def main(archive, *runs):
    if pathlib.Path(archive).exists():
        raise SystemExit(f"{archive} exists; give a new name")
    folder = pathlib.Path(archive).name.removesuffix(".tar.xz")
    with tarfile.open(archive, "w:xz", preset=9) as out:
        for run in sorted(map(pathlib.Path, runs)):
            for file in FILES:
                if (run / file).exists():
                    text = (run / file).read_text()
                    data = (thinned(text) if file == "matrices.jsonl" else text).encode()
                    entry = tarfile.TarInfo(f"{folder}/{run.resolve().name}/{file}")
                    entry.size, entry.mtime = len(data), int((run / file).stat().st_mtime)
                    out.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 2 else sys.exit(__doc__)
