# SPDX-License-Identifier: Apache-2.0
"""Configurations, and what `validate` says of them: the reference distribution's, and ours.

verdicts/README.md tells how a case is written. What we say is tested always; what the reference
says, which the cases note, is compared with the real one by the slow tests.
"""
import codecs
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent / "verdicts"
DIFFERENCES = "docs/differences.md"
GATES = "--feature-gates"
HEADER = re.compile(r"# (case|judge|environment|arguments|reference|profcol|differs): (.*)")
PLACE = re.compile(r"\S.*:[1-9]\d*:[1-9]\d*: ")
EX_USAGE, EX_CONFIG = 2, 78


@dataclasses.dataclass
class Verdict:
    """`accepts`, `refuses: TEXT` or `does not answer`, of one header line or several."""

    accepts: bool
    texts: list

    @classmethod
    def read(cls, lines):
        words = {line.partition(":")[0] for line in lines}
        assert words in ({"accepts"}, {"refuses"}, {"does not answer"}), lines
        texts = [text.strip() for _, _, text in (line.partition(":") for line in lines) if text]
        assert ("refuses" in words) == (len(texts) == len(lines)), lines
        return cls(accepts="accepts" in words, texts=texts)


@dataclasses.dataclass
class Case:
    path: pathlib.Path
    headers: dict

    @classmethod
    def read(cls, path):
        """The case that a file is, or None: a part of another one."""
        data = path.read_bytes()
        encoding = "utf-16" if data.startswith(codecs.BOM_UTF16_LE) else "utf-8-sig"
        headers = {}
        for line in data.decode(encoding, errors="replace").splitlines():
            match = HEADER.fullmatch(line)
            if not match:
                break
            headers.setdefault(match[1], []).append(match[2])
        return cls(path, headers) if headers else None

    @property
    def name(self):
        return str(self.path.relative_to(FOLDER))

    @property
    def judge(self):
        return self.headers.get("judge", ["reference"])[0]

    @property
    def reference(self):
        return Verdict.read(self.headers["reference"])

    @property
    def profcol(self):
        return Verdict.read(self.headers["profcol"])

    @property
    def arguments(self):
        arguments = shlex.split(self.headers.get("arguments", [f"--config {self.path.name}"])[0])
        if not any(GATES in one for one in arguments):
            arguments.append(f"{GATES}=service.profilesSupport")
        return arguments

    @property
    def environment(self):
        """Little besides its own variables, so that nothing of this machine counts."""
        lines = [line.replace(r"\n", "\n") for line in self.headers.get("environment", [])]
        sanitizers = {name: text for name, text in os.environ.items() if "SAN_OPTIONS" in name}
        return {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"} | sanitizers | dict(
            line.split("=", 1) for line in lines
        )

    def validate(self, program):
        return self.run(program, "validate", *self.arguments)

    def print_config(self, program, *arguments):
        return self.run(program, "print-config", "--mode", "unredacted", *arguments)

    def run(self, program, *arguments):
        return subprocess.run(
            [program, *arguments],
            cwd=self.path.parent,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=300,
        )


CASES = [
    case
    for path in sorted(FOLDER.rglob("*"))
    if path.is_file() and path.suffix != ".md" and (case := Case.read(path))
]


def parametrized(cases, marks=lambda case: ()):
    """A test for each of the cases."""
    params = [pytest.param(case, id=case.name, marks=marks(case)) for case in cases]
    return pytest.mark.parametrize("case", params)


every_case = parametrized(CASES)
every_accepted_case = parametrized([case for case in CASES if case.profcol.accepts])


# A start under the sanitizers takes 40 ms of CPU time. Each case has one of these: what is accepted
# is printed then, which goes the same way and further.
@parametrized(CASES, lambda case: [] if case.profcol.accepts else [pytest.mark.sanitized])
def test_our_verdict(program, case):
    result = case.validate(program)
    output = result.stdout + result.stderr
    if case.profcol.accepts:
        # What it warns of is not there on this machine: variables, files.
        said = [line for line in output.splitlines() if not line.startswith("warning: ")]
        assert (result.returncode, said) == (0, [])
        return
    assert result.returncode in (EX_CONFIG, EX_USAGE), output
    for text in case.profcol.texts:
        assert text in output
    if result.returncode == EX_USAGE:
        return
    # Whatever is said beyond what the case expects says where, too.
    for line in output.splitlines():
        assert PLACE.match(line) or any(text in line for text in case.profcol.texts), line


@pytest.mark.sanitized
@every_accepted_case
def test_what_is_accepted_is_printed(program, case):
    result = case.print_config(program, *case.arguments)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout


@every_accepted_case
def test_what_is_printed_is_the_same_configuration(program, case, tmp_path):
    """Printed, read back and printed again."""
    printed = []
    arguments = case.arguments
    for name in ("first.yaml", "second.yaml"):
        result = case.print_config(program, *arguments)
        assert result.returncode == 0, result.stderr
        printed.append(result.stdout)
        (tmp_path / name).write_text(result.stdout)
        gates = [one for one in case.arguments if GATES in one]
        arguments = ["--config", tmp_path / name, *gates]
    assert printed[0] == printed[1]


@pytest.mark.slow
@every_case
def test_the_verdict_of_the_reference(peer, case):
    """Where it has been built: that takes too long for every run of the tests."""
    if case.headers["reference"] == ["does not answer"]:
        return
    result = case.validate(peer(case.judge, optional=True))
    output = result.stdout + result.stderr
    assert (result.returncode == 0) == case.reference.accepts, output
    for text in case.reference.texts:
        assert text in output


def gate_stages(program):
    """What `featuregate` prints, as stages by identifier."""
    result = subprocess.run([program, "featuregate"], capture_output=True, text=True, check=True)
    return {row.split()[0]: row.split()[2] for row in result.stdout.splitlines()[1:]}


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["reference", "gateway"])
def test_every_gate_is_known_with_its_stage(program, peer, judge):
    theirs = gate_stages(peer(judge, optional=True))
    assert "service.profilesSupport" in theirs
    ours = gate_stages(program)
    assert {gate: ours.get(gate) for gate in theirs} == theirs


def test_there_are_enough_and_both_verdicts_among_them():
    assert len(CASES) >= 60
    assert {case.profcol.accepts for case in CASES} == {True, False}


def test_a_difference_has_its_reason_and_nothing_else_has():
    wrong = [
        case.name
        for case in CASES
        if ("differs" in case.headers) != (case.profcol.accepts != case.reference.accepts)
    ]
    assert not wrong


def test_the_table_names_every_difference_and_nothing_else(source):
    text = (source / DIFFERENCES).read_text()
    named = re.findall(r"`([\w/]+\.yaml)`", text)
    assert sorted(named) == sorted(case.name for case in CASES if "differs" in case.headers)


def test_every_part_belongs_to_a_case():
    """Parts are read by the cases of their folder, or by other parts."""
    for path in FOLDER.rglob("parts/*"):
        users = [one for one in path.parent.parent.rglob("*") if one.is_file() and one != path]
        stem = f"parts/{path.name}"
        named = [one for one in users if stem in one.read_text(errors="replace")]
        by_variable = [one for one in users if f"/{path.name}}}" in one.read_text(errors="replace")]
        assert named or by_variable, path
