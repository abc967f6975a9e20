#!/usr/bin/env bash
# The cpu engine and PyTorch side by side: the same network and step, the same number of threads, in turns, each turn a process of
# its own. Prints the medians of the rounds and the ratio to the best way to run PyTorch.
#   bench/cpu.sh THREADS ROUNDS SECONDS PRESET...
# In the environment: PYTHON (python3), with PyTorch; NETWORKS ("M1 M2").
set -euo pipefail
threads=$1 rounds=$2 seconds=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT

# Without these PyTorch gives its memory back after every step and faults it in again: it loses a tenth.
keep=glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=17179869184
keep+=:glibc.malloc.trim_threshold=17179869184:glibc.malloc.top_pad=268435456

ours() { HT_THREADS=$threads "$here/../ht" bench --engine cpu --seconds "$seconds" --json "$@"; }
torch() { # TUNABLES THREADS_EACH WORKERS OPTION...
  local tunables=$1 each=$2 workers=$3
  shift 3
  GLIBC_TUNABLES=$tunables THP_MEM_ALLOC_ENABLE=1 LRU_CACHE_CAPACITY=1024 OMP_NUM_THREADS=$each OPENBLAS_NUM_THREADS=$each \
    "${PYTHON:-python3}" "$here/torch_peer.py" --device cpu --threads "$each" --workers "$workers" --seconds "$seconds" "$@"
}
turn() { # NAME COMMAND...
  local name=$1
  shift
  "$@" 2>/dev/null | tail -n 1 | sed "s/^{/{\"way\":\"$name\",/" >>"$lines"
}

for preset; do
  for network in ${NETWORKS:-M1 M2}; do
    for ((round = 0; round < rounds; round++)); do
      options=(--preset "$preset" --network "$network")
      turn ours ours "${options[@]}"
      # Which is best depends on the sizes. One heap for all workers keeps pieces beyond 64 MB, but they wait for each other.
      turn "all threads" torch "$keep" "$threads" 1 "${options[@]}"
      turn shares torch "$keep" 1 "$threads" "${options[@]}"
      turn "shares, one heap" torch "$keep:glibc.malloc.arena_max=1" 1 "$threads" "${options[@]}"
    done
  done
done

echo "commit $(git -C "$here" rev-parse --short HEAD), $threads threads, medians of $rounds rounds of $seconds seconds"
python3 - "$lines" <<'PYTHON'
import collections, json, statistics, sys
turns = collections.defaultdict(lambda: collections.defaultdict(list))
for line in map(json.loads, open(sys.argv[1])):
    turns[line["preset"], line["network"]][line["way"]].append(line)
for (preset, network), ways in turns.items():
    rates = {way: statistics.median(t["tokens_per_s"] for t in its) for way, its in ways.items()}
    best = max((way for way in rates if way != "ours"), key=rates.get)
    print(f"{preset} {network}: ours is {rates['ours'] / rates[best]:.2f} times {ways[best][0]['engine']} ({best})")
    for way, its in ways.items():
        micro, move = (statistics.median(t[part] for t in its) for part in ("micro_ms", "optimizer_ms"))
        print(f"    {way:16} {rates[way]:9,.0f} tokens/s {micro:9,.1f} + {move:8,.1f} ms")
PYTHON
