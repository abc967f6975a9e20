#!/usr/bin/env bash
# Trains a queue of runs on a card, several at a time. Lines may be added to the queue, or changed, while it works.
#   bench/gpu/queue.sh JAVA JARS OUT AT_ONCE [key=value ...]
# JAVA: a JDK 25's java. JARS: a folder with ht's jars. OUT: a folder for the runs; OUT/queue holds one run per line: NAME SETTING ...
# The settings behind AT_ONCE are those of all runs. decisions=FILE, in a line or behind AT_ONCE, is no setting: OUT/FILE holds the
# algorithms of matrix products that a new run begins with, another run's decisions.txt, so that both have the same bits; the last one
# counts. A run that has begun is not begun again; a run that failed or was stopped is continued from its checkpoint when its line is
# there once more after OUT/NAME.taken was removed. The weights of a finished run are deleted. Ends when OUT/stop exists, after the
# runs under way; or LIMIT seconds after its start, if that is set: runs under way then save, and the next start continues them.
set -uo pipefail
java=$1 jars=$2 out=$3 at_once=$4
shift 4
limit=${LIMIT:-1000000000}
mkdir -p "$out"
touch "$out/queue"
echo 'network: M1' >"$out/empty.yaml"

next() { # the first line whose run nobody has taken
  while read -r name settings; do
    case $name in '' | '#'*) continue ;; esac
    if mkdir "$out/$name.taken" 2>/dev/null; then
      echo "$name $settings"
      return
    fi
  done <"$out/queue"
}

worker() {
  while [ ! -e "$out/stop" ] && [ $SECONDS -lt "$limit" ]; do
    read -r -a line < <(next)
    if [ ${#line[@]} = 0 ]; then
      sleep 0.5
      continue
    fi
    name=${line[0]} start=$SECONDS set=() decisions=
    for setting in "$@" "${line[@]:1}"; do
      case $setting in decisions=*) decisions=${setting#*=} ;; *) set+=(--set "$setting") ;; esac
    done
    export XDG_CACHE_HOME=$out/cache/$decisions # or a run would take what another one measured
    if [ -n "$decisions" ] && [ ! -e "$out/$name/config.yaml" ] &&
      ! install -D -m 644 "$out/$decisions" "$out/$name/decisions.txt"; then
      echo "$name not trained: no $out/$decisions to begin with" >>"$out/done"
      continue
    fi
    left=$((limit - SECONDS)) # timeout takes 0 for no limit
    timeout $((left > 0 ? left : 1)) "$java" -XX:+UseSerialGC --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp "$jars/*:$jars/app/*" \
      hypertransfer.lab.Main train "$out/empty.yaml" --out "$out/$name" "${set[@]}" >"$out/$name.log" 2>&1
    status=$?
    [ $status != 0 ] || rm -rf "$out/$name/checkpoints"
    [ $status != 124 ] || rmdir "$out/$name.taken"
    echo "$name status $status, $((SECONDS - start)) s: $(tail -n 1 "$out/$name.log" | cut -c1-200)" >>"$out/done"
  done
}

for ((i = 0; i < at_once; i++)); do worker "$@" & done
wait
