#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# All tests: unit tests under ASan and UBSan with both compilers (clang replays the fuzz
# corpora too), then the real program, sanitized and as shipped. The last line is the closing
# line of the last runner.
set -euo pipefail

# A Python from elsewhere in PATH would not see Debian's pytest.
pytest=(/usr/bin/python3 -m pytest -p no:cacheprovider)
[[ $(id -u) == 0 ]] || {
	echo "test.sh: the tests load BPF programs and need root; run: sudo make test" >&2
	exit 1
}

# Where they cannot be had, the tests that need them are skipped and say so; not in CI.
scripts/peers.sh gateway tools kube_apiserver helm >/dev/null || [[ ${CI:-} != true ]]

for preset in dev clang; do
	cmake --preset "$preset" >/dev/null
	cmake --build --preset "$preset"
	ctest --preset "$preset"
done
cmake --preset release -DPROFCOL_TESTS=OFF >/dev/null
cmake --build --preset release

"${pytest[@]}" tests/e2e tests/interop -m sanitized --profcol build/dev/profcol
"${pytest[@]}" tests --profcol build/release/profcol
