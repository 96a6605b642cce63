#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An ordinary user attacks the profiler by all that processes share in it, at once, beside programs
# of others and the benchmark's load `mixed`: what does it cost, and what is left of the others'
# stacks? As root.
#
#     MINUTES=60 scripts/attack.sh [PROFCOL]
#
# The profiler has 128 MiB and a fifth of a CPU, by cgroups of either version. tests/attack/attack.py
# says who attacks, and how.
set -eu
cd "$(dirname "$0")/.."
profcol=${1:-build/release/profcol}
if [ ! -x "$profcol" ]; then
	echo "no program $profcol; run: make build" >&2
	exit 1
fi
exec /usr/bin/python3 tests/attack/attack.py --minutes "${MINUTES:-60}" --load mixed "$profcol"
