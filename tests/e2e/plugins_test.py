# SPDX-License-Identifier: Apache-2.0
"""Components from shared objects: somebody else's, and our own, the profiler among them."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

from plugin_builds import run_quietly, with_plugins
from profcol_run import Profcol, pipeline, read_profile
from waiting import wait_until

CHAIN = ("burn_leaf", "burn_middle", "burn_root", "main")
HAS_RUN = "the refused plugin has run"
EX_CONFIG = 78
PROFILER = "profcol_receiver_profiling.so"


# Building them all takes minutes.
thorough = pytest.mark.thorough


@pytest.fixture(scope="module")
def our_plugins(source):
    """(program, folder): a build that has every component as a plugin, none built in."""
    run_quietly("cmake", "--preset", "plugins", cwd=source)
    run_quietly("cmake", "--build", "--preset", "plugins", cwd=source)
    return source / "build/plugins/profcol", source / "build/plugins/plugins"


def with_extension(configuration, name):
    configuration["extensions"] = {name: None}
    configuration["service"]["extensions"] = [name]
    return configuration


# ---- what is installed ----


def test_each_header_compiles_alone(prefix):
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = run_quietly("pkg-config", "--cflags", "profcol", env=environment).split()
    headers = sorted((prefix / "include/profcol").glob("*.h"))
    assert "plugin.h" in [header.name for header in headers]
    for header in headers:
        text = f"#include <profcol/{header.name}>\n"
        command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *flags]
        run_quietly(*command, "-x", "c", "-", input=text)


def test_installed_files(prefix):
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    assert {
        "bin/profcol",
        "include/profcol/component.h",
        "lib/cmake/profcol/profcolConfig.cmake",
        "lib/pkgconfig/profcol.pc",
        "share/doc/profcol/pipeline.yaml.example",
        "share/doc/profcol/docs/plugins.md",
        "share/doc/profcol/LICENSE",
    } <= files
    assert (prefix / "lib/profcol").is_dir()
    directories = [path for path in prefix.parent.rglob("*") if path.is_dir()]
    assert {path.stat().st_mode & 0o7777 for path in directories} == {0o755}
    # An installed file that names the place it was installed from could not be moved.
    for path in (prefix / "lib").rglob("*"):
        if path.is_file():
            assert str(prefix) not in path.read_text(errors="replace")


def declared_functions(source):
    """Functions that the headers say the program provides."""
    for header in ("errors.h", "batch.h"):
        text = (source / "include/profcol" / header).read_text()
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        begin = text.index("#pragma GCC visibility push")
        end = text.index("#pragma GCC visibility pop")
        public = re.sub(r"static inline.*?\n}", "", text[begin:end], flags=re.DOTALL)
        yield from re.findall(r"\b(profcol_\w+)\(", public)


def test_the_program_exports_what_the_headers_declare_and_nothing_else(program, source):
    declared = set(declared_functions(source))
    assert len(declared) > 50
    text = run_quietly("nm", "-D", "--defined-only", program)
    functions = {line.split()[2] for line in text.splitlines() if line.split()[1] in "TtWi"}
    if "__asan_init" in run_quietly("nm", "-D", program):
        functions = {name for name in functions if name.startswith("profcol_")}
    assert functions == declared


# ---- somebody else's plugins ----


@pytest.mark.sanitized
def test_a_sample_plugin_changes_samples(
    prefix, sample_plugins, plugin_directory, start_target, build_target, tmp_path
):
    other = tmp_path / "unwanted"
    shutil.copy(build_target("burn"), other)
    configuration = pipeline(tmp_path / "out")
    configuration["processors"] = {"marker": {"value": "seen", "drop_thread": "unwanted"}}
    configuration["service"]["pipelines"]["profiles"]["processors"] = ["marker"]
    with_plugins(configuration, plugin_directory(sample_plugins / "marker.so"))
    run = Profcol(prefix / "bin/profcol", tmp_path / "run", configuration)
    try:
        run.wait_ready()
        wanted, unwanted = start_target(build_target("burn")), start_target(other)
        wanted.wait_burnt(1000)
        unwanted.wait_burnt(1000)
        run.stop()
    finally:
        run.kill()

    profile = read_profile(tmp_path / "out")
    samples = profile.of_pid(wanted.pid)
    assert sum(sample.count for sample in samples) >= 50
    assert {sample.labels["sample.plugin"] for sample in samples} == {"seen"}
    assert CHAIN in {sample.names[: len(CHAIN)] for sample in samples}
    # Before it executed the program, the process had the name of who started it.
    names = {sample.labels.get("thread.name") for sample in profile.of_pid(unwanted.pid)}
    assert "unwanted" not in names
    assert run.balance().causes["thread_name"] >= 50


def refuse(prefix, configuration, tmp_path):
    """The one line and the exit code of a program that does not start."""
    run = Profcol(prefix / "bin/profcol", tmp_path / "run", configuration)
    try:
        status = run.wait_exit()
    finally:
        run.kill()
    assert "Everything is ready" not in run.log
    assert HAS_RUN not in run.log
    return status, run.log


REFUSED = {
    "wrong_abi": "it does not fit this program: ABI version: expected 1, found 99; build it with "
    "the headers of this profcol",
    "newer": "it does not fit this program: size of struct profcol_component: expected",
    "other_build": "it was built together with another profcol: expected build",
    "not_a_plugin": "it is not a plugin of profcol's: it lacks the note that",
    "undefined_symbol": "it cannot be loaded: undefined symbol: arena_create",
    "executable_stack": "it asks for an executable stack, which the whole program would get",
    "run_path": "it has a run path (DT_RUNPATH), where libraries would be found that nobody has",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_plugin_that_does_not_fit_is_refused(
    name, prefix, sample_plugins, plugin_directory, tmp_path
):
    directory = plugin_directory(sample_plugins / f"{name}.so")
    status, log = refuse(prefix, with_plugins(pipeline(tmp_path / "out"), directory), tmp_path)
    assert status == EX_CONFIG
    (line,) = log.splitlines()
    reason = f"service::plugins: cannot load plugin '{directory}/{name}.so': {REFUSED[name]}"
    assert re.match(rf"\S+:\d+:\d+: {re.escape(reason)}", line)


def test_a_type_that_is_built_in_is_refused(prefix, sample_plugins, plugin_directory, tmp_path):
    directory = plugin_directory(sample_plugins / "same_type.so")
    status, log = refuse(prefix, with_plugins(pipeline(tmp_path / "out"), directory), tmp_path)
    assert status == EX_CONFIG
    reason = "exporter 'debug' is there already, built in; remove one of them"
    assert log.endswith(
        f": service::plugins: cannot load plugin '{directory}/same_type.so': {reason}\n"
    )


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_directory_that_others_may_write_to_is_refused(
    mode, prefix, sample_plugins, plugin_directory, tmp_path
):
    directory = plugin_directory(sample_plugins / "marker.so")
    directory.chmod(mode)
    status, log = refuse(prefix, with_plugins(pipeline(tmp_path / "out"), directory), tmp_path)
    assert status == EX_CONFIG
    assert log.endswith(
        f": service::plugins: cannot load plugins from '{directory}': directory '{directory}' is writable by "
        f"others than root (mode {mode:04o}); chmod go-w '{directory}'\n"
    )


def test_a_file_of_another_user_is_refused(prefix, sample_plugins, plugin_directory, tmp_path):
    directory = plugin_directory(sample_plugins / "marker.so")
    os.chown(directory / "marker.so", 65534, -1)
    status, log = refuse(prefix, with_plugins(pipeline(tmp_path / "out"), directory), tmp_path)
    assert status == EX_CONFIG
    file = f"'{directory}/marker.so'"
    assert f"file {file} belongs to user 65534, not to root; chown root {file}" in log


def test_a_plugin_that_fails_to_start_ends_the_start(
    prefix, sample_plugins, plugin_directory, tmp_path
):
    directory = plugin_directory(sample_plugins / "start_fails.so")
    configuration = with_plugins(pipeline(tmp_path / "out"), directory)
    with_extension(configuration, "start_fails")
    status, log = refuse(prefix, configuration, tmp_path)
    assert status == 1
    (line,) = (line for line in log.splitlines() if line.startswith("Error: "))
    assert "start_fails" in line
    assert line.endswith("there is no such machine")


def test_validate_knows_plugins(prefix, sample_plugins, plugin_directory, tmp_path):
    directory = plugin_directory(sample_plugins / "marker.so")
    text = "receivers: {profiling: }\nprocessors: {marker: {valu: x}}\nexporters: {debug: }\n"
    text += "service:\n  pipelines:\n    profiles: {receivers: [profiling], "
    text += f"processors: [marker], exporters: [debug]}}\n  plugins: [{directory}]\n"
    file = tmp_path / "pipeline.yaml"
    command = [prefix / "bin/profcol", "validate", "--config", file]
    file.write_text(text)
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 78
    assert "processors::marker: has invalid keys: valu; did you mean 'value'?" in result.stderr
    file.write_text(text.replace("valu:", "value:"))
    run_quietly(*command)


def test_the_doctor_reports_refused_plugins(prefix, sample_plugins, plugin_directory):
    directory = plugin_directory(sample_plugins / "wrong_abi.so", sample_plugins / "newer.so")
    plugins = f"yaml:service::plugins: [{directory}]"
    command = [prefix / "bin/profcol", "doctor", "--json", "--config", plugins]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == ""
    report = json.loads(result.stdout)
    assert (report["ok"], report["missing"]) == (False, 2)
    (part,) = report["parts"]
    assert [finding["subject"] for finding in part["findings"]] == ["plugins", "plugins"]
    reasons = [finding["detail"] for finding in part["findings"]]
    assert reasons[0].startswith(f"cannot load plugin '{directory}/newer.so': it does not fit")
    assert reasons[1].startswith(f"cannot load plugin '{directory}/wrong_abi.so': it does not")
    assert part["findings"][1]["remedy"] == "build it with the headers of this profcol"


@pytest.fixture
def private_program(program, sample_plugins):
    """(copy, directory): the program and a directory with `marker`, which all may read."""
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        directory.chmod(0o755)
        plugins = directory / "plugins"
        plugins.mkdir(mode=0o755)
        shutil.copy(program, directory / "profcol")
        shutil.copy(sample_plugins / "marker.so", plugins)
        (plugins / "marker.so").chmod(0o644)
        yield directory / "profcol", plugins


def run_as_stranger(command, **options):
    return subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", *command],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


def ask_for_helper(command, file):
    """What `profcol helper` says that a stranger starts, who has opened `file` as the plugin."""
    ours, theirs = socket.socketpair()

    def arrange():
        plugin = os.open(file, os.O_RDONLY)
        os.dup2(theirs.fileno(), 3)
        os.dup2(plugin, 5)

    with ours, theirs:
        result = run_as_stranger(command, preexec_fn=arrange, close_fds=False)
    assert result.returncode == 2
    return result.stderr


PRIVILEGED = "cannot load plugins into a program that has more rights than who starts it; take "


def test_a_program_with_file_capabilities_loads_no_plugins(private_program):
    """Whoever starts it could make any file look like root's, in a file system of his own."""
    program, plugins = private_program
    command = [program, "components", "--config", f"yaml:service::plugins: [{plugins}]"]
    result = run_as_stranger(command)
    assert result.returncode == 0, result.stderr
    assert "name: marker" in result.stdout
    run_quietly("setcap", "cap_perfmon+ep", program)
    result = run_as_stranger(command)
    assert result.returncode == 78
    assert PRIVILEGED in result.stderr
    assert run_as_stranger([program, "components"]).returncode == 0
    run_quietly(*command)  # root has the rights anyway


def test_a_helper_with_file_capabilities_loads_no_plugin(private_program):
    program, plugins = private_program
    command = [program, "helper", "processor", "marker", "plugin"]
    no_helper = "Error: 'helper' is a command that profcol gives itself\n"
    assert ask_for_helper(command, plugins / "marker.so") == no_helper
    run_quietly("setcap", "cap_perfmon+ep", program)
    assert PRIVILEGED in ask_for_helper(command, plugins / "marker.so")


# ---- our own ----


def copies(folder, pattern="*.so"):
    return sorted(folder.glob(pattern))


@thorough
def test_every_component_of_ours_can_be_a_plugin(
    source, program, our_plugins, plugin_directory
):
    loader, folder = our_plugins
    directory = plugin_directory(*copies(folder))
    plugins = f"yaml:service::plugins: [{directory}]"
    run_quietly(
        loader, "validate", "--config", source / "pipeline.yaml.example", "--config", plugins
    )
    types = re.compile(r"^    - name: (\w+)", re.MULTILINE)
    built_in = types.findall(run_quietly(program, "components"))
    assert types.findall(run_quietly(loader, "components")) == []
    assert types.findall(run_quietly(loader, "components", "--config", plugins)) == built_in
    assert len(copies(directory)) == len(built_in)


@thorough
def test_our_plugins_show_one_symbol_and_need_what_the_program_exports(our_plugins, source):
    exported = set(declared_functions(source))
    for plugin in copies(our_plugins[1]):
        defined = run_quietly("nm", "-D", "--defined-only", plugin).split()
        assert [word for word in defined if word.startswith(("profcol", "otlp", "pprof"))] == [
            "profcol_plugin"
        ]
        needed = run_quietly("nm", "-D", "--undefined-only", plugin).split()
        assert {word for word in needed if word.startswith("profcol")} <= exported


def chain_share(samples):
    """Of these samples, those with the whole chain of tests/targets/burn.c."""
    whole = sum(sample.count for sample in samples if sample.names[: len(CHAIN)] == CHAIN)
    return whole / sum(sample.count for sample in samples)


def build_ids_of_leaf(samples):
    frames = {frame for sample in samples for frame in sample.frames}
    return {frame.build_id for frame in frames if frame.name == CHAIN[0]}


def helpers_of(run):
    """Processes of the run that have loaded the profiler's plugin, but are not the run."""
    return [pid for pid in run.children() if PROFILER in read_maps(pid)]


def read_maps(pid):
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
            return maps.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""  # it has ended since


def open_files(pid):
    """What the descriptors of a process lead to."""
    for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(path)


def kernel_names(profile):
    """Of the frames in the kernel."""
    frames = {frame for sample in profile.samples for frame in sample.frames}
    return {frame.name for frame in frames if frame.file == "vmlinux"}


@pytest.fixture
def loaded_profiler(our_plugins, plugin_directory, tmp_path):
    """(run, directory): the profiler loaded, with the exporter it writes by."""
    loader, folder = our_plugins
    directory = plugin_directory(folder / PROFILER, folder / "profcol_exporter_pprof.so")
    configuration = with_plugins(pipeline(tmp_path / "loaded"), directory)
    run = Profcol(loader, tmp_path / "run", configuration)
    yield run.wait_ready(), directory
    run.kill()


@thorough
def test_the_profiler_gives_the_same_as_a_plugin(
    loaded_profiler, start_profcol, start_target, build_target, burner, tmp_path
):
    """Beside the one that is built in, over the same programs."""
    loaded, _ = loaded_profiler
    built_in = start_profcol(pipeline(tmp_path / "built_in")).wait_ready()
    mangled = start_target(build_target("mangled_names"))
    burner.wait_burnt(2000)
    mangled.wait_burnt(2000)
    for run in (loaded, built_in):
        run.stop()

    profiles = [read_profile(tmp_path / name) for name in ("loaded", "built_in")]
    first, second = (profile.of_pid(burner.pid) for profile in profiles)
    assert chain_share(first) > 0.9
    assert chain_share(second) > 0.9
    assert {tuple(sorted(sample.labels)) for sample in first} == {
        tuple(sorted(sample.labels)) for sample in second
    }
    assert build_ids_of_leaf(first) == build_ids_of_leaf(second)
    assert len(build_ids_of_leaf(first)) == 1
    assert "" not in build_ids_of_leaf(first)
    for profile in profiles:
        names = {name for sample in profile.of_pid(mangled.pid) for name in sample.names}
        assert {"market::stall::sell", "harbor::dock::unload"} <= names
        assert kernel_names(profile)
        assert None not in kernel_names(profile)


@thorough
def test_the_workers_of_a_loaded_profiler(loaded_profiler, start_target, build_target, tmp_path):
    """They run the file that the host has loaded, also when that one has been replaced since."""
    run, directory = loaded_profiler
    first = start_target(build_target("burn")).wait_burnt(500)
    wait_until(lambda: len(helpers_of(run)) >= 2, "workers with the plugin in them")
    workers = helpers_of(run)
    for worker in workers:
        assert not [path for path in open_files(worker) if PROFILER in path]
    replaced = directory / PROFILER
    replaced.unlink()
    replaced.write_text("no plugin at all")
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    # Another build of the program, which no worker has seen yet.
    copy = tmp_path / "copied"
    copy.write_bytes(build_target("burn").read_bytes() + b"x")
    copy.chmod(0o755)
    second = start_target(copy)
    second.wait_burnt(1000)
    wait_until(lambda: set(helpers_of(run)) - set(workers), "another worker")
    run.stop()
    profile = read_profile(tmp_path / "loaded")
    assert chain_share(profile.of_pid(first.pid)) > 0.9
    assert chain_share(profile.of_pid(second.pid)) > 0.9
