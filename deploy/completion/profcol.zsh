#compdef profcol
# SPDX-License-Identifier: Apache-2.0
# Completion for zsh. Words come from the program's own help, so that they are always its own.
_profcol() {
	setopt local_options extended_glob
	local help word command= of
	local -a commands flags names match

	case $words[CURRENT-1] in
	--config | -o | --output) _files && return ;;
	--format) compadd yaml json text && return ;;
	--mode) compadd redacted unredacted && return ;;
	--event) compadd cpu off-cpu wall wakers page-faults memory-growth && return ;;
	--log-level) compadd debug info warn error && return ;;
	--pid) _pids && return ;;
	--cgroup) _directories && return ;;
	--set | --feature-gates | --comm | --seconds | --frequency | --otlp) return ;;
	esac

	help=$($words[1] --help 2>/dev/null) || return
	commands=(${(f)"$(sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\)[^a-z]*  *\([A-Za-z].*\)/\1:\2/p' <<<$help)"})
	names=(${commands%%:*})
	for word in ${words[2,CURRENT-1]}; do
		(( $names[(Ie)$word] )) && command=$word
	done
	for word in ${(f)"$(sed -n '/^Flags:/,/^$/s/^  \(-[a-z], \)\{0,1\}\(--[a-z-]*\)[ A-Z=]*  *\(.*\)/\2:\3/p' <<<$help)"}; do
		of=
		[[ ${word#*:} == (#b)of\ ([a-z,\ -]##):* ]] && of=$match[1]
		[[ -n $of && ", $of, " != *", $command, "* ]] || flags+=($word)
	done
	if [[ $words[CURRENT] == -* ]]; then
		_describe -o flag flags
	elif [[ -z $command ]]; then
		_describe command commands
	else
		_files
	fi
}
_profcol "$@"
