# SPDX-License-Identifier: Apache-2.0
# Completion for bash. Words come from the program's own help, so that they are always its own.
_profcol() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local help command= commands flags word

	COMPREPLY=()
	# bash takes `=` for a word of its own.
	if [[ $current == = ]]; then
		current=
	elif [[ $previous == = ]]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case $previous in
	--config | -o | --output)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	--format) mapfile -t COMPREPLY < <(compgen -W 'yaml json text' -- "$current") && return ;;
	--mode) mapfile -t COMPREPLY < <(compgen -W 'redacted unredacted' -- "$current") && return ;;
	--event)
		mapfile -t COMPREPLY < <(compgen -W 'cpu off-cpu wall wakers page-faults memory-growth' -- "$current")
		return
		;;
	--log-level)
		mapfile -t COMPREPLY < <(compgen -W 'debug info warn error' -- "$current")
		return
		;;
	--set | --feature-gates | --comm | --seconds | --frequency | --otlp) return ;;
	--pid)
		mapfile -t COMPREPLY < <(cd /proc && compgen -W "$(printf '%s ' [0-9]*)" -- "$current")
		return
		;;
	--cgroup) mapfile -t COMPREPLY < <(compgen -d -- "$current") && return ;;
	esac

	help=$("${COMP_WORDS[0]}" --help 2>/dev/null) || return
	commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' <<<"$help")
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[[ $'\n'$commands$'\n' != *$'\n'"$word"$'\n'* ]] || command=$word
	done
	# "of record, shadow: ..." belongs to these commands alone.
	flags=$(sed -n '/^Flags:/,/^$/s/^  \(-[a-z], \)\{0,1\}\(--[a-z-]*\)\(.*\)/\2 \3/p' <<<"$help" |
		awk -v command="$command" '{
			of = match($0, /  of [a-z, -]+:/) ? substr($0, RSTART + 5, RLENGTH - 6) : ""
			if (of == "" || index(", " of ", ", ", " command ", ")) print $1
		}')
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
	elif [[ -z $command ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
	elif [[ $command == view ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
	fi
}
complete -F _profcol profcol
