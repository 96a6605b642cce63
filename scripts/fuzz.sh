#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh [TARGET [RUNS]]: runs a fuzz target, or without TARGET one after the other, from the
# corpus in tests/fuzz and what earlier runs added to it in build/fuzz/found/TARGET. Ends at the
# first finding; the input is left there and the last lines say how to run it again.
set -euo pipefail

one=${1-} runs=${2:-10000000}
cd "$(dirname "$0")/.."
names=()
for source in tests/fuzz/*_fuzz.c; do
	name=$(basename "$source" .c)
	[[ -n $one && $name != "$one" ]] || names+=("$name")
done
((${#names[@]})) || {
	echo "fuzz.sh: there is no fuzz target '$one'; tests/fuzz has them" >&2
	exit 1
}
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target "${names[@]}"

fuzz() {
	local name=$1 found=build/fuzz/found/$1

	mkdir -p "$found"
	echo "fuzz.sh: $name, $runs runs; log: $found.log"
	"build/fuzz/tests/fuzz/$name" -runs="$runs" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
		-print_final_stats=1 -artifact_prefix="$found." "$found" \
		"tests/fuzz/corpus/$name" >"$found.log" 2>&1 || {
		tail -n 40 "$found.log" >&2
		echo "fuzz.sh: a finding; run: build/fuzz/tests/fuzz/$name $found.*-*" >&2
		exit 1
	}
	grep -E 'number_of_executed_units|average_exec_per_sec' "$found.log"
}

for name in "${names[@]}"; do
	fuzz "$name"
done
