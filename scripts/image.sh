#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The file tree of the container image, all of it: image.sh PROGRAM DIRECTORY [SYSROOT]. The last
# stage of deploy/Dockerfile copies DIRECTORY and nothing else. Libraries come from SYSROOT, the
# unpacked packages of the machine that PROGRAM is for (tests/kernels/arm64/sysroot.py), or from
# this machine.
set -euo pipefail

program=$1
directory=$2
sysroot=${3:-}
source=$(cd "$(dirname "$0")/.." && pwd)
authorities=/etc/ssl/certs/ca-certificates.crt
loader=

die() {
	echo "image.sh: $*" >&2
	exit 1
}

# Where the library $1 lies, below the sysroot.
find_library() {
	local folder

	for folder in {,/usr}/lib/"$(triplet)" {,/usr}/lib64 {,/usr}/lib; do
		[[ ! -e $sysroot$folder/$1 ]] || {
			echo "$folder/$1"
			return
		}
	done
	die "there is no $1 in '${sysroot:-/}', which '$program' needs"
}

triplet() {
	case $(readelf --file-header "$program") in
	*X86-64*) echo x86_64-linux-gnu ;;
	*AArch64*) echo aarch64-linux-gnu ;;
	*) die "'$program' is for neither amd64 nor arm64" ;;
	esac
}

needed_by() {
	readelf --dynamic --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

# A library under the name and at the place where the loader looks for it.
add_libraries() {
	local name path

	while read -r name; do
		[[ $name != "${loader##*/}" ]] || continue
		path=$(find_library "$name")
		[[ ! -e $directory$path ]] || continue
		install -D -m 755 "$sysroot$path" "$directory$path"
		add_libraries "$directory$path"
	done < <(needed_by "$1")
}

[[ -x $program ]] || die "there is no program '$program'; run: make build"
[[ -e $authorities ]] ||
	die "there is no '$authorities', which TLS needs; run: apt-get install ca-certificates"
[[ ! -e $directory ]] || rm -r "$directory"
umask 022
mkdir -p "$directory"

strip='strip'
[[ $(triplet) == "$(uname -m)"-* ]] || strip=$(triplet)-strip
"$strip" -o "$directory/profcol" "$program"
# Commands that were written for the OpenTelemetry eBPF profiler's image.
ln -s profcol "$directory/otelcol-ebpf-profiler"

loader=$(readelf --program-headers --wide "$program" |
	sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
install -D -m 755 "$sysroot$loader" "$directory$loader"
add_libraries "$program"

install -D -m 644 "$authorities" "$directory$authorities"
# Names of peers: what is mounted at /etc/hosts, then the name server.
echo 'hosts: files dns' >"$directory/etc/nsswitch.conf"
install -D -m 644 "$source/LICENSE" "$directory/usr/share/doc/profcol/LICENSE"
install -D -m 644 "$source/bpf/LICENSE" "$directory/usr/share/doc/profcol/LICENSE.bpf"
# What all this is made of, with the files that lie beside the program. The linker's map is there
# where the program was built for this machine.
map=$(dirname "$program")/profcol.map
if [[ -z $sysroot && -e $map ]]; then
	version=$("$program" --version | grep -o '[0-9][0-9.]*[0-9]' | head -1)
	mapfile -t beside < <(cd "$directory" && find lib* -type f -printf '/%p\n')
	# The authorities' one file is made by this of the package that they are in.
	beside+=(/usr/sbin/update-ca-certificates)
	/usr/bin/python3 "$source/scripts/sbom.py" "$program" "$map" "$version" "${beside[@]}" \
		>"$directory/usr/share/doc/profcol/profcol.spdx.json"
fi
