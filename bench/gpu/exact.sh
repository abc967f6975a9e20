#!/usr/bin/env bash
# Trains targets and their followers on a card and counts the losses that differ, to the last bit.
#   bench/gpu/exact.sh JAVA JARS SHARDS OUT CASES [key=value ...]
# JAVA: a JDK 25's java. JARS: a folder with ht's jars. SHARDS: a folder of token shards. OUT: an empty folder for the runs.
# CASES: a file with one run per line: NAME TARGET|- SETTING ...; two runs train at a time, those without a target first.
set -euo pipefail
java=$1 jars=$2 shards=$3 out=$4 cases=$5
shift 5
mkdir -p "$out"

train() {
  name=$1
  shift 2
  set -- "$@" $COMMON
  settings=()
  for setting in "$@"; do settings+=(--set "$setting"); done
  "$JAVA" -XX:+UseSerialGC --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp "$JARS/*" \
    hypertransfer.lab.Main train "$CASE_FILE" --out "$OUT/$name" "${settings[@]}" >"$OUT/$name.log" 2>&1 ||
    echo "$name failed: $(tail -n 1 "$OUT/$name.log")"
}
export -f train
export JAVA=$java JARS=$jars OUT=$out CASE_FILE=$out/empty.yaml COMMON="data.train=$shards data.validation=$shards $*"
echo 'network: M1' >"$CASE_FILE"

for kind in '==' '!='; do
  awk -v kind="$kind" '/^[^#]/ && ((kind == "==") == ($2 == "-"))' "$cases" |
    xargs -P 2 -d '\n' -I{} bash -c 'train {}'
done

python3 - "$out" "$cases" <<'PYTHON'
import json, os, sys
out, cases = sys.argv[1:]

def curves(run):
    losses = {}
    for line in open(os.path.join(out, run, "metrics.jsonl")):
        record = json.loads(line)
        for key in ("loss", "validation"):
            if record.get(key) is not None:
                losses[key, record["step"]] = record[key]
    return losses

print(f"{'run':34} {'target':22} {'losses':>7} {'differ':>7} {'first':>6} {'largest':>9} {'final':>10}")
for line in open(cases):
    if not line.strip() or line.startswith("#"):
        continue
    name, target = line.split()[:2]
    try:
        own = curves(name)
        last = max(step for key, step in own if key == "validation")
        final = own["validation", last]
        if target == "-":
            print(f"{name:34} {'':22} {len(own):7} {'':7} {'':6} {'':9} {final:10.5f}")
            continue
        other = curves(target)
        common = [key for key in own if key in other]
        differ = sorted(step for key, step in common if own[key, step] != other[key, step])
        largest = max(abs(own[key] - other[key]) for key in common)
        print(f"{name:34} {target:22} {len(common):7} {len(differ):7} {differ[0] if differ else '-':>6} {largest:9.1e} {final:10.5f}")
    except (OSError, ValueError) as e:
        print(f"{name:34} {target:22} {e}")
PYTHON
