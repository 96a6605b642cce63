# SPDX-License-Identifier: Apache-2.0
"""Programs that live for a moment: most of their stacks are whole, and none is of a wrong file."""
import collections
import itertools
import shutil
import statistics
import subprocess

import pytest

import shadow_file
from profcol_run import pipeline, read_samples
from true_chains import TrueChains, Verdict
from unwind_targets import TARGETS, build

# What shows how quickly profcol gets to know a program is judged of the program as shipped alone: under
# the sanitizers it takes several times as long.

RATE = 199
# Two programs that take turns: what is known of one is wrong of the other.
NAMES = ("gcc_O0", "omit_frame_pointer")
LIVES = 40
ROUNDS = 320  # of a program: some 60 ms
CHILDREN, CHILD_MS = 60, 30
LOADERS, LOADER_MS = 16, 25
CHAIN, LINK_US, CHAIN_RATE = 600, 1500, 999
# On a loaded machine the thread that gets to know them waits for a CPU, too.
LEAST_WHOLE = 0.95
CHILDS_CHAIN = ("burn_leaf", "burn_middle", "burn_root", "child", "main")


def has_user_part(sample):
    return bool(sample.mark) or any(frame.file.startswith("/") for frame in sample.frames)


def ends_of(samples):
    """A counter, of those that have a user part."""
    ends = collections.Counter()
    for sample in filter(has_user_part, samples):
        ends[sample.mark or "whole"] += sample.count
    return ends


def share_of_whole(samples, what):
    """Of those that have a user part; says what there was."""
    ends = ends_of(samples)
    share = ends["whole"] / max(1, ends.total())
    print(f"{what}: {100 * share:.1f} % of {ends.total()} are whole; {dict(ends)}")
    assert ends.total() >= 100, "too few samples to judge by"
    return share


class Program:
    """One of them, with the samples of its lives."""

    def __init__(self, target, built, directory):
        self._target = target
        self._built = built
        self._shadow = directory / f"{target.name}.shadow"
        self.samples = []

    @property
    def path(self):
        return str(self._built[0])

    def live(self):
        """Its number, when it is over."""
        process = subprocess.Popen([self.path, self._shadow, str(ROUNDS)])
        assert process.wait() == 0
        return process.pid

    def verdicts(self):
        """A counter, of whole stacks that are not of the dynamic linker alone."""
        checker = TrueChains(self._target, *self._built, shadow_file.read(self._shadow))
        verdicts = collections.Counter()
        for sample in self.samples:
            if not sample.mark and has_user_part(sample):
                verdicts[checker.judge(sample.frames).verdict] += sample.count
        return verdicts


@pytest.fixture(scope="module")
def programs(source, start_profcol_once, tmp_path_factory):
    directory = tmp_path_factory.mktemp("lives")
    targets = [target for target in TARGETS if target.name in NAMES]
    programs = [
        Program(target, build(target, source / "tests/targets", directory), directory)
        for target in targets
    ]
    run = start_profcol_once(pipeline(directory / "out", {"samples_per_second": RATE})).wait_ready()
    for program in programs:  # its files are met
        program.live()
    turns = itertools.islice(itertools.cycle(programs), LIVES)
    of_pid = {program.live(): program for program in turns}
    run.stop()
    for sample in read_samples(directory / "out"):
        if sample.labels.get("pid") in of_pid:
            of_pid[sample.labels["pid"]].samples.append(sample)
    return programs


def test_most_of_their_stacks_are_whole(programs):
    lives = collections.defaultdict(list)
    for program in programs:
        for sample in program.samples:
            lives[sample.labels["pid"]].append(sample)
    share_of_whole(itertools.chain.from_iterable(lives.values()), "executed programs")
    # Of most lives: where the machine stands still, all that live at that time are cut.
    ends = [found for life in lives.values() if (found := ends_of(life))]
    assert len(ends) >= LIVES / 2
    assert statistics.median(one["whole"] / one.total() for one in ends) >= LEAST_WHOLE


@pytest.mark.sanitized
def test_no_frame_is_of_the_other_program(programs):
    for program in programs:
        others = {other.path for other in programs} - {program.path}
        files = {frame.file for sample in program.samples for frame in sample.frames}
        assert program.path in files
        assert not files & others


@pytest.mark.sanitized
def test_their_chains_are_true(programs):
    for program in programs:
        verdicts = program.verdicts()
        print(program.path, {verdict.value: count for verdict, count in verdicts.items()})
        assert verdicts[Verdict.TRUE] >= 60
        assert verdicts[Verdict.WRONG] <= 0.01 * verdicts.total()


def test_a_fork_is_walked_by_what_is_known_of_its_parent(
    start_profcol, start_target, build_target, tmp_path
):
    run = start_profcol(pipeline(tmp_path / "out", {"samples_per_second": RATE})).wait_ready()
    target = start_target(build_target("forks"), CHILDREN, CHILD_MS)
    assert target.wait_exit() == 0
    run.stop()

    samples = [
        sample
        for sample in read_samples(tmp_path / "out")
        if sample.labels.get("comm") == "forks" and sample.labels.get("pid") != target.pid
    ]
    assert share_of_whole(samples, "forks") >= LEAST_WHOLE
    chains = collections.Counter()
    for sample in samples:
        if not sample.mark and "burn_leaf" in sample.names:
            leaf = sample.names.index("burn_leaf")  # above it, interrupts
            chain = sample.names[leaf : leaf + len(CHILDS_CHAIN)]
            chains[chain == CHILDS_CHAIN] += sample.count
            assert sample.names[-1] == "_start"
    assert chains[True] >= 60
    assert chains[False] <= 0.01 * chains.total()


def compile_target(source, path, *flags):
    command = ["gcc", "-g", "-O2", *flags, source / "tests/targets" / f"{path.stem}.c"]
    subprocess.run([*command, "-o", path], check=True)
    return path


@pytest.mark.sanitized
def test_what_the_parent_has_loaded_since_is_not_its_forks(
    start_profcol, start_target, source, tmp_path
):
    name = "fork_then_load"
    program = compile_target(source, tmp_path / name)
    compile_target(source, tmp_path / f"{name}.so", "-DLIBRARY", "-shared", "-fPIC")
    of_parent = (tmp_path / f"{name}.so").rename(tmp_path / "parents.so")
    of_children = tmp_path / "childs.so"
    shutil.copy(of_parent, of_children)
    run = start_profcol(pipeline(tmp_path / "out", {"samples_per_second": RATE})).wait_ready()
    target = start_target(program, LOADERS, LOADER_MS, of_parent, of_children)
    assert target.wait_exit() == 0
    run.stop()

    parent, children = collections.Counter(), collections.Counter()
    for sample in read_samples(tmp_path / "out"):
        if sample.labels.get("comm") != name:
            continue
        counter = parent if sample.labels["pid"] == target.pid else children
        for file in {frame.file for frame in sample.frames}:
            counter[file] += sample.count
    assert parent[str(of_parent)] >= 20
    assert children[str(of_children)] >= 20
    assert not children[str(of_parent)] and not parent[str(of_children)]


# Static ones run at once, with nothing between the exec and their code at the same addresses.
@pytest.mark.parametrize("linking", [("-no-pie",), ("-static",)], ids=lambda flags: flags[0])
def test_no_program_of_a_chain_is_taken_for_another(
    start_profcol, start_target, source, tmp_path, linking
):
    names = ("chain_one", "chain_two")
    flags = (*linking, "-fno-omit-frame-pointer")
    compile_target(source, tmp_path / "exec_chain", *flags).rename(tmp_path / names[0])
    compile_target(source, tmp_path / "exec_chain", *flags, "-DPADDED").rename(tmp_path / names[1])
    paths = [str(tmp_path / name) for name in names]
    receiver = {"samples_per_second": CHAIN_RATE}
    run = start_profcol(pipeline(tmp_path / "out", receiver)).wait_ready()
    # A short one first, by which the files are met.
    for links in (CHAIN // 10, CHAIN):
        assert start_target(paths[0], links, LINK_US, paths[1]).wait_exit() == 0
    run.stop()

    seen = collections.Counter()
    for sample in read_samples(tmp_path / "out"):
        for name in names:
            if sample.labels.get("comm") == name:
                seen.update(
                    {(name, frame.file) for frame in sample.frames if frame.file in paths}
                )
    for name, path, other in zip(names, paths, reversed(paths)):
        assert seen[name, path] >= 20
        assert not seen[name, other]
