#!/usr/bin/env bash
# Checks on a card what `ht rates` and `ht predict` answer, and prints two short tables.
#   bench/gpu/answers.sh JAVA JARS OUT [SHARDS]
# JAVA: a JDK 25's java. JARS: a folder with ht's jars. OUT: a folder for the runs. SHARDS: a folder of token shards.
# Rates, at preset demo on both networks: sweeps Muon, carries the best rate to MuonH, sweeps MuonH around it. Every rate is
# trained with each seed and judged by the mean. Predictions: two runs of preset small, and with SHARDS one of gpt2-124m.
# In the environment: ENGINE (cuda), SEEDS ("1234 1 2"), STEPS (400). About 60 runs of seconds each, and one of three minutes.
set -euo pipefail
java=$1 jars=$2 out=$3 shards=${4:-}
here=$(cd "$(dirname "$0")/../.." && pwd)
seeds=${SEEDS:-1234 1 2} steps=${STEPS:-400}
mkdir -p "$out"
ht() {
  "$java" -XX:+UseSerialGC --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp "$jars/*" \
    hypertransfer.lab.Main "$@"
}
settings() { for setting in "$@"; do printf -- '--set\n%s\n' "$setting"; done; }
sweep() { # NAME CONFIG RATES SETTING...
  local name=$1 config=$2 rates=$3
  shift 3
  mapfile -t set < <(settings "engine=${ENGINE:-cuda}" "steps=$steps" "$@")
  ht sweep "$here/runs/$config" --out "$out/$name" --grid "matrices.rate=$rates" --grid "seed=${seeds// /,}" "${set[@]}" \
    >"$out/$name.log" 2>&1 || { tail -n 3 "$out/$name.log"; exit 1; }
}
means() { # the mean last validation loss of each rate of a sweep: RATE MEAN, the best first
  python3 - "$1" <<'PYTHON'
import collections, glob, json, re, sys
losses = collections.defaultdict(list)
for file in glob.glob(sys.argv[1] + "/*/metrics.jsonl"):
    rate = re.search(r"matrices\.rate=([0-9.eE-]+[0-9])", file).group(1)
    lines = [json.loads(line) for line in open(file)]
    losses[rate].append([line["validation"] for line in lines if "validation" in line][-1])
ranked = sorted((sum(all) / len(all), rate) for rate, all in losses.items())
print("\n".join(f"{rate} {mean:.5f}" for mean, rate in ranked))
PYTHON
}

printf '%-8s %-22s %-30s %-22s %s\n' network "best Muon" "carried to MuonH" "best MuonH" "carried minus best"
for network in M1 M2; do
  common=("network=$network" adamw.rate=0.02)
  [ $network = M1 ] || common+=(matrices.final_ratio=0.1 adamw.final_ratio=0.1)
  sweep "$network-muon" muon.yaml 0.015,0.03,0.06,0.12,0.24 "${common[@]}"
  read -r rate muon < <(means "$out/$network-muon")
  mapfile -t set < <(settings "steps=$steps" "${common[@]}" "matrices.rate=$rate")
  read -r carried ratio around < <(ht rates "$here/runs/muon.yaml" "${set[@]}" --to muonh --json | tail -n 1 | python3 -c '
import json, sys
a = json.load(sys.stdin)
print("%.5f %.4f" % (a["rate"], a["final_ratio"]), ",".join("%.5f" % (a["rate"] * 2 ** (i / 2)) for i in range(-3, 4)))')
  sweep "$network-muonh" muonh.yaml "$around" "${common[@]}" "matrices.final_ratio=$ratio"
  read -r best lowest < <(means "$out/$network-muonh")
  own=$(means "$out/$network-muonh" | awk -v r="$carried" '$1 == r {print $2}')
  printf '%-8s %-22s %-30s %-22s %s\n' $network "$rate: $muon" "$carried to $ratio: $own" "$best: $lowest" \
    "$(python3 -c "print('%+.5f' % ($own - $lowest))")"
  means "$out/$network-muon" | sort -g | sed 's/^/    Muon  /'
  means "$out/$network-muonh" | sort -g | sed 's/^/    MuonH /'
done

train() { # NAME SETTING...
  local name=$1
  shift
  mapfile -t set < <(settings "engine=${ENGINE:-cuda}" "$@")
  ht train "$here/runs/muon.yaml" --out "$out/$name" "${set[@]}" >"$out/$name.log" 2>&1 || { tail -n 3 "$out/$name.log"; exit 1; }
  echo "$name: $(ht predict "$out/$name" | grep '^this run')"
}
train small-m1 preset=small network=M1 "steps=$steps" matrices.rate=0.02
train small-m2 preset=small network=M2 "steps=$steps" matrices.rate=0.02 matrices.final_ratio=0.1 adamw.final_ratio=0.1
if [ -n "$shards" ]; then
  train 124m-m2 preset=gpt2-124m network=M2 "data.train=$shards" "data.validation=$shards" model.batch=64 model.accumulation=2 \
    steps=610 matrices.rate=0.0044 adamw.rate=0.0044 matrices.final_ratio=0.1 adamw.final_ratio=0.1 log.matrices_every=10
fi
