#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs tests again and again, in random order, and tells which were not green every time:
#
#     shake.sh [-n RUNS] [-m MINUTES] [-l|-s] unit [REGEX]       unit tests, by ctest -R
#     shake.sh [-n RUNS] [-m MINUTES] [-l|-s] e2e [ARGUMENT...]  the program, by pytest; without
#                                                              ARGUMENT those of make test
#     shake.sh table                                           what all runs so far add up to
#
# With -l compilers keep every CPU busy meanwhile and 200 processes a second are forked. With -s the
# machine stands still now and then for up to eight seconds, but for the twentieth of each CPU that the
# kernel keeps for ordinary programs. No run begins after MINUTES (60). Each result is kept, in
# ~/.cache/profcol/shake (PROFCOL_SHAKE_DIR), so that several sittings add up; `table` tells which rate of
# failure so many green runs exclude. The output of each failed run is kept there, in failed/.
set -euo pipefail

pytest=(/usr/bin/python3 -m pytest -p no:cacheprovider -q)
workers=$(($(nproc) + 2))
kept=${PROFCOL_SHAKE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/profcol/shake}
runs=10 minutes=60 condition=idle
load=

die() {
	echo "shake.sh: $*" >&2
	exit 2
}

# A source that a compiler is busy with for about a second.
write_source() {
	local at

	for ((at = 0; at < 400; at++)); do
		echo "int f$at(int x) { for (int i = 0; i < x; i++) x ^= x * $at + i; return x; }"
	done
}

# Runs in a session of its own, which ends with it.
make_load() {
	local scratch=$1 cpu at

	write_source >"$scratch/source.c"
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		while :; do gcc -O2 -c "$scratch/source.c" -o "$scratch/$cpu.o"; done &
	done
	while :; do
		for ((at = 0; at < 22; at++)); do /bin/true & done
		wait -n || true
		sleep 0.1
	done
}

# Takes the CPU from everybody for SECONDS.
take_cpu() {
	local cpu=$1 seconds=$2

	# By bash's own clock: at this priority nobody else's alarm would come.
	chrt --fifo 90 taskset --cpu-list "$cpu" bash -c \
		"end=\$((SECONDS + $seconds)); while ((SECONDS < end)); do :; done"
}

# As the above, in the place of a hypervisor that has other things to do.
make_standstills() {
	local cpu seconds

	while :; do
		sleep $((5 + RANDOM % 20))
		seconds=$((1 + RANDOM % 8))
		for ((cpu = 0; cpu < $(nproc); cpu++)); do take_cpu "$cpu" "$seconds" & done
		wait
	done
}

start_load() {
	local functions

	functions=$(declare -f write_source make_load take_cpu make_standstills)
	scratch=$(mktemp -d)
	case $condition in
	load) setsid bash -c "$functions; make_load '$scratch'" 2>/dev/null & ;;
	still) setsid bash -c "$functions; make_standstills" 2>/dev/null & ;;
	esac
	load=$!
}

stop_load() {
	[[ -n $load ]] || return 0
	disown "$load" # or bash says that it was killed
	pkill -KILL -s "$load" || true
	while kill -0 "$load" 2>/dev/null; do sleep 0.1; done
	rm -rf "$scratch"
}

# Whatever the outcome: it is in the results.
run_once() {
	local seed=$1 report=$kept/report.xml log=$kept/log

	shift
	rm -f "$report"
	case $1 in
	unit)
		ctest --preset dev --schedule-random -R "${2:-.}" \
			--output-junit "$report" >"$log" 2>&1 || true
		;;
	e2e)
		shift
		"${pytest[@]}" -n "$workers" --dist loadfile --shuffle "$seed" \
			--junitxml "$report" "$@" >"$log" 2>&1 || true
		;;
	esac
	[[ -s $report ]] || {
		tail -n 20 "$log" >&2
		die "the runner left no report; see above"
	}
	scripts/shake_results.py add "$kept" "$condition" "$seed" "$report" || {
		mkdir -p "$kept/failed"
		cp "$log" "$kept/failed/$(date +%Y%m%dT%H%M%S)-$condition-$seed.log"
	}
}

while getopts n:m:ls option; do
	case $option in
	n) runs=$OPTARG ;;
	m) minutes=$OPTARG ;;
	l) condition=load ;;
	s) condition=still ;;
	*) die "see the first lines of scripts/shake.sh" ;;
	esac
done
shift $((OPTIND - 1))
cd "$(dirname "$0")/.."
case ${1:-} in
table) exec scripts/shake_results.py table "$kept" ;;
unit) ;;
e2e) (($# > 1)) || set -- e2e -m "not alone and not peers and not thorough" tests ;;
*) die "'${1:-}' is neither unit, e2e nor table" ;;
esac

mkdir -p "$kept"
trap stop_load EXIT
[[ $condition == idle ]] || start_load
for ((at = 1; at <= runs && SECONDS < 60 * minutes; at++)); do
	seed=$RANDOM
	echo "shake.sh: [$SECONDS s] run $at of $runs, $condition, seed $seed"
	run_once "$seed" "$@"
done
scripts/shake_results.py table "$kept"
