#!/usr/bin/env bash
# Checks one or more builds on a machine with a card and no network, and says whether they train to the same bits.
#   bench/gpu/check.sh JAVA GOLDEN SHARDS OUT NAME=JARS[,KEY=VALUE ...] ...
# JAVA: the java of a JRE 25. GOLDEN: the folder of golden trajectories. SHARDS: a folder with *_train_*.bin and *_val_*.bin
# of GPT-2 tokens. OUT: a folder for runs and logs; a build that is in its table is not checked again. JARS: a build's
# lab/target, or one folder with all its jars; then settings that only this build gets, such as matrices.master=float32
# for a build whose default differs.
# All builds share one cache below OUT, so the first one chooses cuBLASLt's algorithms for all.
set -uo pipefail
[ $# -ge 5 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
java=$1 golden=$2 shards=$3 out=$4
shift 4
for path in "$java" "$golden" "$shards"; do
  [ -e "$path" ] || { echo "check.sh: $path does not exist" >&2; exit 2; }
done
mkdir -p "$out"
export XDG_CACHE_HOME=$out/cache
table=$out/table.txt
[ -e "$table" ] || printf '%-12s %-24s %8s  %s\n' build check seconds result >"$table"

ht() { # JARS ARGUMENT ...
  local jars=$1
  shift
  "$java" -XX:+UseSerialGC --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp "$jars/*:$jars/app/*" \
    hypertransfer.lab.Main "$@"
}

row() { # NAME CHECK START RESULT
  printf '%-12s %-24s %8d  %s\n' "$1" "$2" $((SECONDS - $3)) "$4" | tee -a "$table"
}

# The SHA-256 of a checkpoint, and that of its numbers only, which does not depend on names and notes in its header.
sums() {
  local header
  header=$(od -An -tu8 -N8 "$1" | tr -d ' ')
  echo "$(sha256sum <"$1" | cut -c1-64) numbers $(tail -c +$((header + 9)) "$1" | sha256sum | cut -c1-16)"
}

operations() { # NAME JARS ENGINE
  local start=$SECONDS log=$out/$1-selftest-$3.log
  if ht "$2" selftest --engine "$3" >"$log" 2>&1; then row "$1" "selftest $3" $start passed; else
    row "$1" "selftest $3" $start "FAILED, see $log"
  fi
}

trajectories() { # NAME JARS PRECISION
  local start=$SECONDS log=$out/$1-conformance-$3.log
  ht "$2" conformance "$golden" --engine cuda --precision "$3" --json >"$log" 2>&1
  local status=$?
  row "$1" "conformance $3" $start "$([ $status = 0 ] && echo passed || echo FAILED) $(tail -n 1 "$log" | cut -c1-160)"
}

train() { # NAME JARS SETTINGS RUN YAML
  local name=$1 jars=$2 settings=$3 run=$out/$1-$4 start=$SECONDS options=()
  for setting in ${settings//,/ }; do options+=(--set "$setting"); done
  printf '%s\n' "$5" >"$run.yaml"
  rm -rf "$run"
  if ht "$jars" train "$run.yaml" --out "$run" ${options[@]+"${options[@]}"} >"$run.log" 2>&1; then
    row "$name" "train $4" $start "$(sums "$(ls "$run"/checkpoints/step-*.safetensors | tail -n 1)")"
  else
    row "$name" "train $4" $start "FAILED: $(tail -n 1 "$run.log" | cut -c1-160)"
  fi
}

common='engine: cuda
matrices: {rate: 0.02, decay: 0.1, shape_factor: none}
adamw: {rate: 0.01, decay: 0.1}
checkpoint: {every: 1000, keep: 1}'
small="network: M1
preset: small
steps: 200
model: {batch: 8, accumulation: 2}
$common"
large="network: M2
preset: gpt2-124m
steps: 20
model: {batch: 32, accumulation: 2}
data: {train: '$shards', validation: '$shards'}
$common"

for build in "$@"; do
  name=${build%%=*} rest=${build#*=}
  jars=${rest%%,*} settings=${rest#"$jars"}
  grep -q "^$name " "$table" && continue
  [ -d "$jars" ] || { echo "check.sh: the jars of $name should be in $jars, which is no folder" >&2; exit 2; }
  operations "$name" "$jars" cuda
  operations "$name" "$jars" cuda-float32
  trajectories "$name" "$jars" float32
  trajectories "$name" "$jars" bf16
  train "$name" "$jars" "${settings#,}" small "$small"
  train "$name" "$jars" "${settings#,}" gpt2-124m "$large"
done

echo
cat "$table"
for run in small gpt2-124m; do
  grep "train $run " "$table" | sed 's/.*numbers //' | sort -u | wc -l |
    sed "s/^1\$/$run: all builds end with the same numbers/; s/^[0-9]*\$/$run: the builds DIFFER/"
done
! grep -q 'FAILED' "$table"
