#!/usr/bin/env bash
# Trains `ht reproduce arena` or `record` on a card, several runs at a time, in as many starts as it takes.
#   bench/gpu/study.sh JAVA JARS OUT AT_ONCE NAME [key=value ...]
# JAVA: a JDK 25's java. JARS: a folder with ht's jars. OUT: a folder; unpack there first what earlier starts on other machines packed,
# because finished runs are not trained again. NAME: an experiment or its file. The settings behind NAME are those of all runs.
# It ends with the tables when all runs are trained. If LIMIT is set, it ends LIMIT seconds after its start: runs under way then save,
# and the next start with the same OUT continues them. OUT/packed-TIME.tar.xz has the runs that this start finished, without
# weights, with all that the tables and the replays need, and the algorithms of matrix products, so that all machines take the same; leave
# some seconds for that. PRESET is paper-50m unless set.
set -uo pipefail
[ $# -ge 5 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
java=$1 jars=$2 out=$3 at_once=$4 name=$5
shift 5
mkdir -p "$out"
out=$(cd "$out" && pwd)
export XDG_CACHE_HOME=$out/cache
begun=$out/begun # as old as the last pack
[ -e "$begun" ] || touch "$begun"
set=()
for setting in "$@"; do set+=(--set "$setting"); done

for ((i = 0; i < at_once; i++)); do
  timeout "${LIMIT:-0}" "$java" -XX:+UseSerialGC --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp "$jars/*:$jars/app/*" \
    hypertransfer.lab.Main reproduce "$name" --preset "${PRESET:-paper-50m}" --out "$out/runs" ${set[@]+"${set[@]}"} >"$out/$i.log" 2>&1 &
  processes[i]=$!
done
failed=0
for ((i = 0; i < at_once; i++)); do
  wait "${processes[i]}"
  status=$?
  [ $status = 0 ] || [ $status = 124 ] || { failed=$status && echo "$out/$i.log: $(tail -n 1 "$out/$i.log")" >&2; }
done
touch "$out/now"

mapfile -t finished < <(cd "$out" && find runs -name state.json -newer "$begun" -exec grep -lE '"(state":"finished|kind":"diverged)"' {} + | xargs -r dirname | sort)
if [ ${#finished[@]} -gt 0 ]; then
  packed=$out/packed-$(date +%m%d-%H%M%S).tar.xz
  tar -cJf "$packed" -C "$out" --exclude=checkpoints --exclude='events.*' --exclude=lock "${finished[@]}" \
    $(cd "$out" && find cache -path '*/hypertransfer/cuda' 2>/dev/null) && mv "$out/now" "$begun" || failed=1
  echo "packed ${#finished[@]} runs, $(du -h "$packed" | cut -f1): $packed"
fi
grep -v "^step " "$out/0.log" | tail -n 60
exit $failed
