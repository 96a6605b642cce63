#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Profiles this machine and shows what it did: run.sh PROGRAM [SECONDS]. The profile lands in
# ./profiles; standard output ends with its path and the ten hottest functions.
set -euo pipefail

program=$1
seconds=${2:-10}
directory=$PWD/profiles
scratch=$(mktemp -d)
pid=

finish() {
	[[ -z $pid ]] || kill "$pid" 2>/dev/null || true
	rm -rf "$scratch"
}
trap finish EXIT

[[ $(id -u) == 0 ]] || {
	echo "run.sh: profiling the whole machine needs root; run: sudo make run" >&2
	exit 1
}

# An interval beyond the run makes one batch of all of it: one file, and one table of hot
# functions, both written when the program ends.
cat >"$scratch/pipeline.yaml" <<YAML
receivers:
  profiling:
    samples_per_second: 99
    reporter_interval: 1h
exporters:
  pprof:
    directory: $directory
    interval: 1h
  debug:
    top: 10
    use_internal_logger: false
service:
  pipelines:
    profiles:
      receivers: [profiling]
      exporters: [pprof, debug]
YAML

# In a session of its own: Ctrl-C ends the wait below, not the program, which is then
# asked to finish like at any other end.
trap : INT
setsid "$program" --config "$scratch/pipeline.yaml" >"$scratch/table" 2>"$scratch/log" &
pid=$!
for ((i = 0; i < 300; i++)); do
	! grep -q 'Everything is ready' "$scratch/log" || break
	kill -0 "$pid" 2>/dev/null || break
	sleep 0.1
done
if kill -0 "$pid" 2>/dev/null; then
	echo "profiling this machine for $seconds seconds ..."
	sleep "$seconds"
	kill -TERM "$pid" 2>/dev/null || true
fi
status=0
wait "$pid" || status=$?
pid=
if ((status)); then
	cat "$scratch/log" >&2
	exit "$status"
fi

profile=$(find "$directory" -name '*.pb.gz' -newer "$scratch/pipeline.yaml" | sort | tail -n 1)
[[ -n $profile ]] || {
	cat "$scratch/log" >&2
	echo "run.sh: no profile was written to $directory" >&2
	exit 1
}
sed -n 's/.*\tprofcol\t\(samples: \)/\1/p' "$scratch/log"
echo
sed -n '/^Hottest/,$p' "$scratch/table"
echo
echo "profile: ${profile#"$PWD"/}   (go tool pprof -top ${profile#"$PWD"/})"
