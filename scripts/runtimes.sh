#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes language runtimes of many versions, each in a folder of its own with nothing installed, into
# a cache outside the tree:
#
#     runtimes.sh [NAME...]    makes those that are missing; no name means all, and `python` those
#                              whose names begin with `python-`
#     runtimes.sh --path NAME  prints the path of a program that is started like the runtime's own;
#                              makes nothing
#     runtimes.sh --list       prints each with what it is made from, and its size if it is there
#
# tests/runtimes/table says which there are, in three lines each. Each lies in
# PROFCOL_RUNTIMES_DIR/NAME-KEY (~/.cache/profcol/runtimes), the key being a hash of these lines and
# of the recipe below. A runtime is made in a directory beside its own, tried there, and moved in. A
# run that makes others removes each runtime that no run has asked for in 14 days.
set -euo pipefail

script=$(realpath "${BASH_SOURCE[0]}")
tree=$(realpath "$(dirname "$script")/..")
table=$tree/tests/runtimes/table
cache=${PROFCOL_RUNTIMES_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/profcol/runtimes}
together=3
kept_minutes=$((14 * 24 * 60))

die() {
	echo "runtimes.sh: $*" >&2
	exit 1
}

# ---- the table ----

all_names() {
	sed -n 's/^\([a-z].*\)/\1/p' "$table"
}

# Those that a word of the command line means, one a line.
names_of() {
	all_names | grep -E "^${1//./\\.}(-.*)?\$" ||
		die "no runtime is called '$1'; scripts/runtimes.sh --list prints all"
}

# Sets kind, packages, and what is run: variables, program, arguments, and the beginning of answer.
read_row() {
	local row words word

	mapfile -t row < <(grep -A2 -xF -e "$1" "$table" | sed 1d)
	((${#row[@]} == 2)) || die "no runtime is called '$1'; scripts/runtimes.sh --list prints all"
	read -r kind packages <<<"${row[0]}"
	read -ra words <<<"${row[1]%% => *}"
	answer=${row[1]##* => }
	variables=() program='' arguments=()
	for word in "${words[@]}"; do
		if [[ -n $program ]]; then
			arguments+=("$word")
		elif [[ $word == *=* ]]; then
			variables+=("$word")
		else
			program=$word
		fi
	done
}

# The folder of a runtime whose row is read.
folder_of() {
	local key

	key=$(
		{
			echo "$kind $packages ${variables[*]} $program ${arguments[*]} $answer"
			declare -f "make_$kind" "start_in_${ways[$kind]}"
			[[ $kind != debian ]] || cat "$tree/tests/runtimes/debian_root.py"
			[[ $kind != cpython ]] || cat "$tree/tests/runtimes/debian_source.py"
		} | sha256sum | cut -c1-16
	)
	echo "$cache/$1-$key"
}

# ---- recipes: each makes `root` in the current directory from packages; prints their versions ----

declare -A ways=([debian]=chroot [cpython]=place [pip]=place [npm]=place [maven]=place [go]=place)

make_debian() {
	local release names

	read -r release names <<<"$1"
	# shellcheck disable=SC2086 # several names
	/usr/bin/python3 "$tree/tests/runtimes/debian_root.py" "$release" root $names
}

# From the source of a Debian release, with what `configure` is told.
make_cpython() {
	local release package options

	read -r release package options <<<"$1"
	/usr/bin/python3 "$tree/tests/runtimes/debian_source.py" "$release" source "$package"
	mkdir work
	# shellcheck disable=SC2086 # several options
	(cd work && ../source/configure --quiet --prefix=/made --disable-test-modules \
		--with-ensurepip=no $options && command make --silent -j"$(nproc)" &&
		command make --silent altinstall DESTDIR="$PWD/installed") >log 2>&1 ||
		{
			tail -n 20 log >&2
			return 1
		}
	# It finds its library beside its program, wherever both are.
	mv work/installed/made root
	rm -rf source log root/include root/share root/lib/python*/{idlelib,tkinter,turtledemo}
}

make_pip() {
	/usr/bin/python3 -m venv work
	# shellcheck disable=SC2086 # several packages
	work/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps \
		--no-compile --target root $1 >&2
	echo "$1"
}

make_npm() {
	npm pack --silent "$1" >&2
	mkdir root
	tar -xf ./*.tgz -C root --strip-components=1
	rm ./*.tgz
	echo "$1"
}

make_maven() {
	local artifact folder

	read -r artifact folder <<<"$1"
	# Its repository is for one run at a time.
	flock "$cache/.maven.lock" mvn --quiet --batch-mode -Dmaven.repo.local="$cache/.maven" \
		org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
		-Dartifact="$artifact" -DoutputDirectory="$PWD/work" >&2
	unzip -q work/*.jar -d work/unpacked
	mv -T "work/unpacked/$folder" root
	echo "$artifact"
}

make_go() {
	local architecture module

	architecture=$(go env GOARCH)
	module=golang.org/toolchain@v0.0.1-go$1.linux-$architecture
	GOTOOLCHAIN=local GOWORK=off GOFLAGS=-modcacherw GOMODCACHE=$PWD/work \
		go mod download "$module" >&2
	mv "work/$module" root
	# As few as there have to be for `go build`; a module's files cannot be executable.
	rm -rf root/{api,doc,misc,test} root/pkg/*_race \
		root/pkg/tool/*/{api,cover,doc,fix,pprof,test2json,trace,vet}
	chmod +x root/bin/* root/pkg/tool/*/*
	echo "$module"
}

# ---- how a runtime is started; each prints a script, in which `here` has `root` ----

# Without arguments of words of the table; @ is the runtime's root.
quote_words() {
	local root=$1 word

	shift
	for word in "$@"; do
		echo -n " \"${word//@/$root}\""
	done
}

# The same process all the way: whoever starts it has the runtime's process id.
start_in_place() {
	# shellcheck disable=SC2016 # of that script
	echo "exec env$(quote_words '$here/root' "${variables[@]}" "$program") \"\$@\""
}

# In the root's own libc, read-only, with the machine's /tmp: files there have the same names.
start_in_chroot() {
	cat <<-EOF
		case \$PWD/ in /tmp/*) there=\$PWD ;; *) there=/ ;; esac
		exec unshare --mount --propagation private sh -euc '
			root=\$1 there=\$2
			shift 2
			mount --bind "\$root" "\$root"
			mount -o remount,bind,ro "\$root"
			for place in proc sys dev tmp; do
				mount --rbind "/\$place" "\$root/\$place"
			done
			exec unshare --root "\$root" --wd "\$there" "\$@"
		' sh "\$here/root" "\$there" /bin/sh -c '
			export PATH=/usr/sbin:/usr/bin:/sbin:/bin$(quote_words '' "${variables[@]}")
			exec$(quote_words '' "$program") "\$@"
		' sh "\$@"
	EOF
}

write_start() {
	local file=${program##*/}

	{
		echo '#!/bin/sh'
		echo "# $1: made by scripts/runtimes.sh"
		# shellcheck disable=SC2016 # of that script
		echo 'here=$(dirname "$(readlink -f "$0")")'
		"start_in_${ways[$kind]}"
	} >"$file"
	chmod +x "$file"
	[[ $kind == debian ]] || chmod +x "${program/@/root}"
}

# ---- commands ----

mark_used() {
	touch -c "$1" 2>/dev/null || true
}

recipe() {
	read_row "$1"
	"make_$kind" "$packages" >versions
	rm -rf work
	write_start "$1"
}

# Does what was made run, and say what the table tells?
try() {
	local said

	said=$("$1/${program##*/}" "${arguments[@]}" 2>&1) || true
	[[ $said == *"$answer"* ]] || {
		echo "runtimes.sh: ${program##*/} ${arguments[*]} says, without '$answer': $said" >&2
		return 1
	}
}

make() {
	local name=$1 folder scratch began=$SECONDS

	read_row "$name"
	folder=$(folder_of "$name")
	if [[ -d $folder ]]; then
		mark_used "$folder"
		return 0
	fi
	[[ $kind != debian || $(id -u) == 0 ]] || die "$name is of Debian's, made and started by root only"
	echo "runtimes.sh: making $name ..." >&2
	scratch=$(mktemp -d "$cache/.making.$name.XXXX")
	# A process of its own: errexit does not hold in a function whose status is asked for.
	if ! (cd "$scratch" && exec "$script" --recipe "$name") || ! try "$scratch"; then
		rm -rf "$scratch"
		die "$name could not be made (see above); packages: scripts/setup.sh runtimes"
	fi
	chmod 755 "$scratch"
	mv -T "$scratch" "$folder"
	echo "runtimes.sh: $name took $((SECONDS - began)) s, $(size_of "$folder")" >&2
}

size_of() {
	du -sm "$1" | sed 's/\t.*/ MB/'
}

make_all() {
	mkdir -p "$cache"
	exec {lock}>"$cache/.lock"
	flock -n "$lock" || {
		echo "runtimes.sh: waiting for another run" >&2
		flock "$lock"
	}
	rm -rf "$cache"/.making.*
	# Most of their time is spent waiting for what is downloaded.
	printf '%s\n' "$@" | xargs -n 1 -P "$together" "$script" --make {lock}>&- ||
		die "not all could be made (see above)"
	rm -rf "$cache/.maven" # what was downloaded
	find "$cache" -mindepth 1 -maxdepth 1 -name '*-????????????????' \
		-mmin "+$kept_minutes" -exec rm -rf {} +
}

print_path() {
	local folder

	read_row "$1"
	folder=$(folder_of "$1")
	[[ -d $folder ]] || die "'$1' is not made; run: scripts/runtimes.sh $1"
	mark_used "$folder"
	echo "$folder/${program##*/}"
}

print_list() {
	local name folder size

	for name in $(all_names); do
		read_row "$name"
		folder=$(folder_of "$name")
		size=-
		[[ ! -d $folder ]] || size=$(size_of "$folder")
		printf '%-20s %8s  %s %s\n' "$name" "$size" "$kind" "$packages"
	done
}

case ${1:-} in
--path) print_path "${2:?a name}" ;;
--list) print_list ;;
--make) make "$2" ;;
--recipe) recipe "$2" ;;
-*) die "no option '$1'; there are --path NAME and --list" ;;
'')
	mapfile -t names < <(all_names)
	make_all "${names[@]}"
	;;
*)
	names=()
	for word in "$@"; do
		found=$(names_of "$word")
		mapfile -t -O "${#names[@]}" names <<<"$found"
	done
	make_all "${names[@]}"
	;;
esac
