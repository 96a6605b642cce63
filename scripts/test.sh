#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests: `test.sh` those of `make test`, `test.sh rest` what `make test-all` has beyond
# them, `test.sh all` both.
#
# A part that fails keeps none of the others from running; the exit code tells. Before each part stands
# how long the run has taken so far. The last line is the closing line of the last runner, or, after a
# failure, the list of parts that failed, each with its tests.
set -euo pipefail

# A Python from elsewhere in PATH would not see Debian's pytest.
pytest=(/usr/bin/python3 -m pytest -p no:cacheprovider)
# Most tests wait most of the time, and each worker has tests of its own.
workers=$(($(nproc) + 2))
failed=()
# One for each part, of what its runner said.
said=build/test-output
peers_pid=

part() {
	printf -- '---- test.sh: [%3d s] %s\n' "$SECONDS" "$1"
}

# hear WHAT COMMAND...: shows what it says, and keeps it. Returns as it does.
hear() {
	"${@:2}" 2>&1 | tee "$said/${1//[ ,]/_}"
}

# run WHAT COMMAND...: notes a failure and goes on.
run() {
	part "$1"
	hear "$@" || failed+=("$1")
}

# Of the part WHAT: the lines in which pytest and ctest name tests that failed, ctest behind a heading.
name_failed() {
	[[ ! -f $said/${1//[ ,]/_} ]] ||
		sed -n '/^The following tests FAILED:/,/^Errors while/p; /^FAILED /p; /^ERROR /p' \
			"$said/${1//[ ,]/_}" | cut -c 1-300
}

build() {
	cmake --preset "$1" "${@:2}" >/dev/null && cmake --build --preset "$1"
}

# tests WHAT MARKERS ARGUMENT...: those that can stand beside each other, in several workers.
tests() {
	run "$1" "${pytest[@]}" -n "$workers" --dist loadfile -m "not alone and ($2)" "${@:3}"
}

# The same of those that cannot; it is no failure that there are none.
tests_alone() {
	local status=0

	part "$1"
	hear "$1" "${pytest[@]}" -m "alone and ($2)" "${@:3}" || status=$?
	((status == 0 || status == 5)) || failed+=("$1")
}

# Peers take what the CPUs have left while other parts run: most of the tests wait.
start_peers() {
	part "building peers in the background, where they are not there (20 to 30 minutes, once)"
	mkdir -p build
	setsid chrt --idle 0 scripts/peers.sh gateway tools kube_apiserver helm \
		>build/peers.log 2>&1 &
	peers_pid=$!
	trap 'pkill -s "$peers_pid" || true' EXIT
}

# Where they cannot be had, the tests that need them are skipped and say so; not in CI.
wait_for_peers() {
	part "waiting for the peers"
	pgrep -s "$peers_pid" | xargs -r -n 1 chrt --other --pid 0 2>/dev/null || true
	wait "$peers_pid" || {
		cat build/peers.log >&2
		[[ ${CI:-} != true ]] || failed+=(peers)
	}
}

run_first() {
	part "building: for release, and by gcc with ASan and UBSan"
	build release -DPROFCOL_TESTS=OFF
	build dev
	run "unit tests, by gcc with ASan and UBSan" ctest --preset dev
	tests_alone "the program as shipped, tests that stand alone" "not peers and not thorough" \
		tests --profcol build/release/profcol
	tests "the program as shipped" "not peers and not thorough" \
		tests --profcol build/release/profcol
}

run_rest() {
	part "building: by clang with ASan and UBSan"
	build release
	build dev
	build clang
	run "unit tests and fuzz corpora, by clang with ASan and UBSan" ctest --preset clang
	wait_for_peers
	tests_alone "the sanitized program, tests that stand alone" sanitized \
		tests/e2e tests/interop --profcol build/dev/profcol
	tests "the sanitized program" sanitized tests/e2e tests/interop --profcol build/dev/profcol
	tests_alone "the program as shipped, peers and long tests that stand alone" \
		"peers or thorough" tests --profcol build/release/profcol
	run "one other kernel, emulated" "${pytest[@]}" -m kernel_one tests/kernels \
		--profcol build/release/profcol
	tests "the program as shipped, with peers, and long tests" "peers or thorough" \
		tests --profcol build/release/profcol
}

cd "$(dirname "$0")/.."
[[ $(id -u) == 0 ]] || {
	echo "test.sh: the tests load BPF programs and need root; run: sudo make test" >&2
	exit 1
}
rm -rf "$said" && mkdir -p "$said"
case ${1:-test} in
test) run_first ;;
rest)
	start_peers
	run_rest
	;;
all)
	start_peers
	run_first
	run_rest
	;;
*)
	echo "test.sh: '$1' is no part; there are: test, rest, all" >&2
	exit 2
	;;
esac
if ((${#failed[@]})); then
	for what in "${failed[@]}"; do
		printf 'test.sh: failed: %s\n' "$what"
		name_failed "$what"
	done >&2
	exit 1
fi
