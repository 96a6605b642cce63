#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Profiles this machine and shows what it did: run.sh PROGRAM [SECONDS [LOAD]]. LOAD `none` starts
# nothing beside it; else there is something to see on an idle machine, too (scripts/run/). The
# profile lands in ./profiles, with a flame graph; standard output ends with the ten hottest functions
# and the paths.
set -euo pipefail

program=$1
seconds=${2:-10}
load=${3:-small}
directory=$PWD/profiles
sources=$(dirname "$0")/run
scratch=$(mktemp -d)
pid=
load_pids=()

finish() {
	((${#load_pids[@]} == 0)) || kill "${load_pids[@]}" 2>/dev/null || true
	[[ -z $pid ]] || kill "$pid" 2>/dev/null || true
	rm -rf "$scratch"
}
trap finish EXIT

die() {
	echo "run.sh: $*" >&2
	exit 1
}

[[ $(id -u) == 0 ]] || die "profiling the whole machine needs root; run: sudo make run"
[[ $seconds =~ ^[1-9][0-9]{0,3}$ && $seconds -le 3600 ]] ||
	die "'$seconds' is no number of seconds from 1 to 3600; run: make run DURATION=10"
[[ $load == small || $load == none ]] || die "LOAD is 'small' or 'none', not '$load'"

# Ctrl-C ends the wait for the program, which is then asked to finish like at any other end.
interrupted=
sleeping=
interrupt() {
	interrupted=1
	end_sleep
	[[ ! -t 1 ]] || echo # the terminal has shown ^C
}
# Bash would say that it was killed, had nobody waited for it.
end_sleep() {
	[[ -z $sleeping ]] || { kill -KILL "$sleeping" && wait "$sleeping"; } 2>/dev/null || true
}
trap interrupt INT
trap 'exit 129' HUP
trap 'exit 143' TERM

# start_load NAME COMMAND...: runs the command as nobody, on the one CPU of all the load. The kernel
# kills the command when this script ends, even if the script is killed.
start_load() {
	taskset -c "$cpu" setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs \
		--pdeathsig KILL -- "$@" >/dev/null 2>>"$scratch/load" </dev/null &
	load_pids+=($!)
}

start_loads() {
	local cpu time=$((seconds + 60))

	cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
	chmod 755 "$scratch"
	install -m 644 "$sources"/* "$scratch"
	g++ -O2 "$scratch/mandelbrot.cc" -o "$scratch/mandelbrot" 2>"$scratch/load" || {
		[[ -n $interrupted ]] || cat "$scratch/load" >&2
		return 0
	}
	echo "beside it, on one CPU: C++ (mandelbrot), Python (queens.py) and bash (fibonacci.sh)," \
		"to have something to see; without them: make run LOAD=none"
	start_load "$scratch/mandelbrot" "$time"
	start_load /usr/bin/python3 "$scratch/queens.py" "$time"
	start_load /bin/bash "$scratch/fibonacci.sh" "$time"
}

# An interval beyond the run makes one batch of all of it: one file, and one table of hot
# functions, both written when the program ends.
cat >"$scratch/pipeline.yaml" <<YAML
receivers:
  profiling:
    samples_per_second: 99
    reporter_interval: 1h
exporters:
  pprof:
    directory: $directory
    interval: 1h
  debug:
    top: 10
    use_internal_logger: false
service:
  shutdown_timeout: 60s # all of the run is written at its end
  telemetry:
    metrics: {level: none} # whose port another may have
  pipelines:
    profiles:
      receivers: [profiling]
      exporters: [pprof, debug]
YAML

[[ $load == none ]] || start_loads
[[ -z $interrupted ]] || exit 130

# In a session of its own: Ctrl-C is not the program's, unless it comes just before that.
: >"$scratch/log"
setsid setpriv --pdeathsig TERM -- "$program" --config "$scratch/pipeline.yaml" \
	>"$scratch/table" 2>"$scratch/log" &
pid=$!
for ((i = 0; i < 300; i++)); do
	! grep -q 'Everything is ready' "$scratch/log" || break
	kill -0 "$pid" 2>/dev/null || break
	[[ -z $interrupted ]] || break
	sleep 0.1 || true
done
if kill -0 "$pid" 2>/dev/null; then
	if [[ -z $interrupted ]]; then
		echo "profiling this machine for $seconds seconds ..."
		# In the background, where a trap runs at once. Ctrl-C may come before bash waits: the trap
		# ends what is waited for; and before the trap knows what that is.
		setpriv --pdeathsig KILL -- sleep "$seconds" &
		sleeping=$!
		[[ -z $interrupted ]] || end_sleep
		wait "$sleeping" 2>/dev/null || true
		end_sleep # a trap ends `wait`, too
		sleeping=
	fi
	# Until the child is another program, it may catch the signal like this script, and forget it.
	while [[ /proc/$pid/exe -ef /proc/$$/exe ]]; do sleep 0.05 || true; done
	kill -TERM "$pid" 2>/dev/null || true
fi
status=0
wait "$pid" || status=$?
pid=
if ((status)) && [[ -z $interrupted ]]; then
	cat "$scratch/log" >&2
	exit "$status"
fi

profile=
[[ ! -d $directory ]] ||
	profile=$(find "$directory" -name '*.pb.gz' -newer "$scratch/pipeline.yaml" | sort | tail -n 1)
[[ -n $profile || -z $interrupted ]] || {
	echo "run.sh: interrupted before there was anything to show" >&2
	exit 130
}
[[ -n $profile ]] || {
	cat "$scratch/log" >&2
	die "no profile was written to $directory"
}
[[ ! -s $scratch/load ]] || sed 's/^/run.sh: of the load: /' "$scratch/load" >&2
# Time, level, place, message, fields.
awk -F '\t' '$4 ~ /^samples: |of samples have no name: / { print $4 }' "$scratch/log"
echo
sed -n '/^Hottest/,$p' "$scratch/table"
echo
echo "profile: ${profile#"$PWD"/}   (go tool pprof -top ${profile#"$PWD"/})"
! "$program" view "$profile" -o "$directory/flame.html" >/dev/null ||
	echo "flame graph: ${directory#"$PWD"/}/flame.html   (open it in a browser)"
