#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tells which share of lines and branches the tests of `make test` run through, folder by folder:
# coverage.sh [unit]. With `unit` only unit tests run. build/coverage/coverage.txt has each file.
#
# What ends a process at once (a signal, the sandboxed worker) writes no counts: of such code the
# figures are too low.
set -euo pipefail

cd "$(dirname "$0")/.."
build=build/coverage
workers=$(($(nproc) + 2))

cmake --preset coverage >/dev/null
cmake --build --preset coverage
find "$build" -name '*.gcda' -delete
ctest --preset coverage || true
[[ ${1-} == unit ]] || /usr/bin/python3 -m pytest -p no:cacheprovider -q -n "$workers" \
	--dist loadfile -m "not alone and not peers and not thorough" tests \
	--profcol "$build/profcol" || true

gcovr --root . --object-directory "$build" --exclude tests/ --exclude build/ \
	--gcov-ignore-parse-errors --json "$build/coverage.json" \
	>"$build/gcovr.log" 2>&1 || {
	tail -n 5 "$build/gcovr.log" >&2
	exit 1
}
scripts/coverage_table.py "$build/coverage.json" | tee "$build/coverage.txt"
