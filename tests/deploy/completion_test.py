# SPDX-License-Identifier: Apache-2.0
"""The manual page and the completions know every command and every flag that the program has."""
import re
import shutil
import subprocess

import pytest

_BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_profcol
printf '%s\\n' "${COMPREPLY[@]}"
"""

# Prints what the function offers instead of showing it.
_ZSH = """
_describe() { local list=${@[-1]}; print -l -- ${${(P)list}%%:*} }
compadd() { print -l -- "$@" }
_files() { print files }
compdef() { }
file=$1
shift
words=("$@")
CURRENT=$#
source $file
"""


@pytest.fixture(scope="module")
def told(program):
    """Commands and flags, as --help has them: [name], [(name, commands that it is of, or none)]."""
    command = [program, "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    commands = re.search(r"^Commands:\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)[1]
    flags = re.search(r"^Flags:\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)[1]
    names = re.findall(r"^  ([a-z][a-z-]*) ", commands, re.MULTILINE)
    found = re.findall(r"^  (?:-\w, )?(--[a-z-]+)(?:.*?  of ([a-z, -]+):)?", flags, re.MULTILINE)
    assert names and found
    return names, [(name, set(filter(None, of.split(", ")))) for name, of in found]


@pytest.fixture(scope="module", params=["bash", "zsh"])
def complete(request, source, program):
    """complete(word...): what the shell offers for the last of the words after the program's."""
    shell = request.param
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}; run: scripts/setup.sh test")
    file = source / f"deploy/completion/profcol.{shell}"
    plain = ["--norc", "--noprofile"] if shell == "bash" else ["-f"]
    script = _BASH if shell == "bash" else _ZSH

    def run(*words):
        command = [shell, *plain, "-c", script, shell, file, program, *words]
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        assert not result.stderr, result.stderr
        return result.stdout.split()

    return run


def test_the_manual_page_has_all(told, source):
    text = (source / "deploy/man/profcol.1").read_text().replace("\\-", "-")
    commands, flags = told
    for name in [*commands, *(name for name, _ in flags)]:
        assert re.search(rf"(?<![\w-]){name}(?![\w-])", text), name


def test_the_manual_page_is_well_formed(source):
    page = source / "deploy/man/profcol.1"
    command = ["man", "--warnings", "--local-file", page]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0
    assert result.stderr == ""
    assert "print-config" in result.stdout


def test_commands(complete, told):
    assert set(told[0]) <= set(complete(""))


def test_flags_of_all_commands_and_of_one(complete, told):
    commands, flags = told
    everywhere = {name for name, of in flags if not of}
    assert everywhere <= set(complete("--"))
    for command in commands:
        own = {name for name, of in flags if command in of}
        others = {name for name, of in flags if of} - own
        offered = set(complete(command, "--"))
        assert own | everywhere <= offered, command
        assert not others & offered, command


def test_values(complete):
    assert {"yaml", "json"} <= set(complete("print-config", "--format", ""))
    assert {"text", "json"} <= set(complete("shadow", "--format", ""))
    assert {"redacted", "unredacted"} <= set(complete("print-config", "--mode", ""))
