#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what Debian 12 needs to build profcol (`setup.sh build`) or also to test and to
# measure it (`setup.sh test`). This is the one list of packages. Idempotent, and quick when
# everything is there.
set -euo pipefail

build_packages=(
	make cmake ninja-build gcc libc6-dev
	clang-19 llvm-19 bpftool # BPF programs and their skeletons
	libbpf-dev libelf-dev zlib1g-dev
	libyaml-dev
	libnanopb-dev libprotobuf-c-dev protobuf-c-compiler
	libdeflate-dev
	libiberty-dev
	libxxhash-dev nettle-dev
	libcap-dev libseccomp-dev
)

test_packages=(
	libcmocka-dev
	libclang-rt-19-dev clang-format-19 clang-tidy-19
	g++ binutils                     # programs to be profiled
	python3 python3-pytest
	procps util-linux libcap2-bin iproute2
	linux-perf                       # the peer of `make bench`
)

die() {
	echo "setup.sh: $*" >&2
	exit 1
}

# Those of the packages given that are not installed, one a line.
missing_packages() {
	local package

	for package in "$@"; do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
			echo "$package"
	done
}

case ${1:-build} in
build) packages=("${build_packages[@]}") ;;
test) packages=("${build_packages[@]}" "${test_packages[@]}") ;;
*) die "'$1' is not a list of packages; use 'build' or 'test'" ;;
esac

command -v dpkg-query >/dev/null ||
	die "this is not Debian; install the counterparts of: ${packages[*]}"
# Any Go will do for `go tool pprof`, the reader that the tests compare with.
if [[ ${1:-build} == test ]] && ! command -v go >/dev/null; then
	packages+=(golang-go)
fi

mapfile -t missing < <(missing_packages "${packages[@]}")
((${#missing[@]})) || exit 0

[[ $(id -u) == 0 ]] || die "not root; run: sudo apt-get install ${missing[*]}"
echo "setup.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >/dev/null ||
	die "apt-get could not install them; profcol is built and tested on Debian 12 (bookworm)" \
		"with bookworm-updates and bookworm-security"
