#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the format of our own C, clang-tidy over what the clang preset compiles, the types of the
# page, and scripts for the shell, if there is a shellcheck.
set -euo pipefail

status=0
mapfile -t sources < <(git ls-files --cached --others --exclude-standard '*.c' '*.h')
clang-format-19 --dry-run --Werror "${sources[@]}" || status=1

cmake --preset clang >/dev/null
cmake --build --preset clang >/dev/null # clang-tidy reads generated headers
run-clang-tidy-19 -quiet -p build/clang "^$PWD/(lib|host|receiver|processors|exporters)/" ||
	status=1

tsc --project lib/flame/page || status=1

if command -v shellcheck >/dev/null; then
	shellcheck scripts/*.sh .ci/run || status=1
fi
exit "$status"
