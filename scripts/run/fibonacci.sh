#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A shell for `make run` to profile: adds up Fibonacci's numbers, and starts a program now and then,
# for $1 seconds.
set -euo pipefail

fibonacci() {
	local left

	if (($1 < 2)); then
		sum=$1
		return
	fi
	fibonacci $(($1 - 1))
	left=$sum
	fibonacci $(($1 - 2))
	sum=$((left + sum))
}

while ((SECONDS < $1)); do
	fibonacci 12
	/bin/true
done
