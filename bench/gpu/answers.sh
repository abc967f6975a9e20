#!/usr/bin/env bash
# Checks on a card what `ht rates` and `ht predict` answer: trains MuonH with carried and with tuned rates at preset demo, and
# Muon at presets small and, with shards, gpt2-124m, and prints two short tables.
#   bench/gpu/answers.sh JAVA JARS OUT [SHARDS]
# JAVA: a JDK 25's java. JARS: a folder with ht's jars. OUT: an empty folder for the runs. SHARDS: a folder of token shards.
# ENGINE=cpu and SEEDS="1234" in the environment change the engine (cuda) and the seeds. Exit 1: a carried run ends further from
# the tuned one than 0.02, or an effective rate is further from its prediction than 25 %.
set -euo pipefail
java=$1 jars=$2 out=$3 shards=${4:-}
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$out"
ht() {
  "$java" -XX:+UseSerialGC --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp "$jars/*" \
    hypertransfer.lab.Main "$@"
}
train() { # NAME CONFIG SETTING...
  local name=$1 config=$2 settings=()
  shift 2
  for setting in "engine=${ENGINE:-cuda}" "$@"; do settings+=(--set "$setting"); done
  ht train "$here/runs/$config" --out "$out/$name" "${settings[@]}" >"$out/$name.log" 2>&1 ||
    echo "$name failed: $(tail -n 1 "$out/$name.log")"
}
carried() { # the settings that ht rates answers: SETTING...
  local settings=()
  for setting in "$@"; do settings+=(--set "$setting"); done
  ht rates "$here/runs/muon.yaml" "${settings[@]}" --to muonh --json | tail -n 1 |
    python3 -c 'import json, sys; a = json.load(sys.stdin); print("matrices.rate=%.5f" % a["rate"], "matrices.final_ratio=%.5f" % a["final_ratio"])'
}

tenth="matrices.final_ratio=0.1 adamw.final_ratio=0.1"
m1=$(carried network=M1 matrices.rate=0.06)
m2=$(carried network=M2 matrices.rate=0.03 matrices.final_ratio=0.1)
for seed in ${SEEDS:-1234 1 2}; do
  train "m1-tuned-$seed" muonh.yaml network=M1 adamw.rate=0.02 matrices.rate=0.03 "seed=$seed"
  train "m1-carried-$seed" muonh.yaml network=M1 adamw.rate=0.02 $m1 "seed=$seed"
  train "m2-tuned-$seed" muonh.yaml network=M2 adamw.rate=0.02 $tenth matrices.rate=0.02 "seed=$seed"
  train "m2-carried-$seed" muonh.yaml network=M2 adamw.rate=0.02 adamw.final_ratio=0.1 $m2 "seed=$seed"
done
train small-m1 muon.yaml preset=small network=M1 steps=400 matrices.rate=0.02
train small-m2 muon.yaml preset=small network=M2 steps=400 $tenth matrices.rate=0.02
predicted="small-m1 small-m2"
if [ -n "$shards" ]; then
  train 124m-m2 muon.yaml preset=gpt2-124m network=M2 "data.train=$shards" "data.validation=$shards" model.batch=64 \
    model.accumulation=2 steps=200 matrices.rate=0.0044 adamw.rate=0.0044 $tenth
  predicted="$predicted 124m-m2"
fi

for run in $predicted; do
  ht predict "$out/$run" --json | tail -n 1 >"$out/$run.predicted" || rm -f "$out/$run.predicted"
done
echo "carried: M1 $m1; M2 $m2"
python3 - "$out" "${SEEDS:-1234 1 2}" $predicted <<'PYTHON'
import json, os, sys
out, seeds, predicted = sys.argv[1], sys.argv[2].split(), sys.argv[3:]
bad = 0

def validation(run):
    lines = [json.loads(line) for line in open(os.path.join(out, run, "metrics.jsonl"))]
    return [line["validation"] for line in lines if "validation" in line][-1]

print(f"{'':6} {'MuonH at demo':14} {'seed':>6} {'tuned':>9} {'carried':>9} {'apart':>9}")
for network in ("m1", "m2"):
    for seed in seeds:
        try:
            tuned, own = (validation(f"{network}-{kind}-{seed}") for kind in ("tuned", "carried"))
        except (OSError, IndexError) as e:
            print(f"FAILED {network} {seed}: {e}")
            bad += 1
            continue
        good = abs(own - tuned) <= 0.02
        bad += not good
        print(f"{'ok' if good else 'FAILED':6} {network:14} {seed:>6} {tuned:9.5f} {own:9.5f} {own - tuned:+9.5f}")
print(f"{'':6} {'prediction of':14} {'steps':>6} {'effective':>9} {'end norm':>9} {'end/peak':>9} {'predicted':>9}")
for run in predicted:
    try:
        error = json.load(open(os.path.join(out, run + ".predicted")))["measured"]
    except (OSError, ValueError) as e:
        print(f"FAILED {run}: {e}")
        bad += 1
        continue
    good = error["effective"] <= 0.25
    bad += not good
    print(f"{'ok' if good else 'FAILED':6} {run:14} {error['steps']:6} {100 * error['effective']:8.1f}% {100 * error['end_norm']:8.1f}%"
          f" {error['end_to_peak']:9.4f} {error['predicted_end_to_peak']:9.4f}")
sys.exit(1 if bad else 0)
PYTHON
