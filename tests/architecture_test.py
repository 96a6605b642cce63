# SPDX-License-Identifier: Apache-2.0
"""The layout holds: who may include whom, what each folder must have, how files may be called."""
import json
import os
import pathlib
import re
import subprocess

import pytest
import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
OPTION = re.compile(r'\bPROFCOL_OPTION_\w+\(\s*"(\w+)"')
COMPONENT_ROOTS = ("receiver", "processors", "extensions", "exporters")
# Values of the example that are no defaults, and say so there.
EXAMPLES = [
    ("receivers", "pprof", "file", "include"),
    ("receivers", "pprof", "remote", "endpoint"),
    ("processors", "resource", "attributes"),
    ("processors", "attributes", "actions"),
    ("exporters", "file", "path"),
    ("exporters", "pprof", "directory"),
    ("exporters", "otlp_grpc", "endpoint"),
    ("exporters", "otlp_grpc", "tls", "insecure"),
    ("exporters", "otlp_http", "endpoint"),
    ("processors", "memory_limiter", "check_interval"),
    ("processors", "memory_limiter", "limit_mib"),
    ("service", "extensions"),
    ("service", "pipelines"),
]
FORBIDDEN_NAMES = {"util", "utils", "common", "misc", "helper", "helpers"}

# The one header that both sides of the kernel border include.
SHARED_WITH_KERNEL = "sample.h"
# From a frame to its caller: one code for both sides.
WALK_IN_USER_SPACE = ("receiver/ebpf/deferred/walk.c", "unwind_apply.h")
# The numbers of language runtimes; and what the two sides of each say to each other.
RUNTIME_NUMBERS = "runtimes/runtime_number.h"
RUNTIMES = pathlib.Path("receiver/ebpf/runtimes")
# Words by which a runtime is named in code, and where it is named besides its own files.
RUNTIME_WORDS = {
    "cpython": r"cpython|\bpython\b",
    "hotspot": r"hotspot|jvm|\bjava\b",
    "go": r"goroutine|\bRUNTIME_GO\b",
    "v8": r"\bv8_|\bRUNTIME_V8\b|_v8\b",
    "toy": r"\btoy\b|\btoy_|_toy\b",
}
RUNTIME_REGISTRIES = {
    "bpf/runtimes/runtime_number.h",
    "bpf/runtimes/runtimes.bpf.h",
    "receiver/ebpf/runtimes/registry.c",
    "receiver/ebpf/config.h",
    "receiver/ebpf/options.c",
}

# Which folders of lib/ a folder of lib/ may use: those below it.
LIB_FLOORS = [
    "base",
    "loop",
    "tls",
    "sockets",
    "http_head",
    "stream",
    "http_client",
    "confighttp",
    "proto",
    "profile",
    "flame",
    "ottl",
    "attributes",
    "net",
]


def sources(*roots, suffixes=(".c", ".h")):
    """Paths of the source files below `roots`, relative to the source tree."""
    for root in roots:
        for path in sorted((SOURCE / root).rglob("*")):
            if path.suffix in suffixes:
                yield path.relative_to(SOURCE)


def includes(path):
    """Names that a file includes, each with whether it is in quotes."""
    text = (SOURCE / path).read_text()
    return [(name, quote == '"') for quote, name in INCLUDE.findall(text)]


def component_folder(path):
    """The folder of the component that a file belongs to: receiver/ebpf, exporters/pprof."""
    return pathlib.Path(*path.parts[:2])


def component_folders():
    return sorted(
        {component_folder(path) for path in sources(*COMPONENT_ROOTS) if len(path.parts) > 2}
    )


def lib_headers():
    """What other folders may include of lib: the header named like its folder."""
    return {f"{folder.name}/{folder.name}.h" for folder in (SOURCE / "lib").iterdir()}


def is_in(folder, name):
    return (SOURCE / folder / name).resolve().is_file()


def is_shared_by_runtimes(path, name):
    """Is it a header of bpf/runtimes that this file of the receiver may include?"""
    own = path.is_relative_to(RUNTIMES) and name == f"runtimes/{path.parent.name}.h"
    return own or (name == RUNTIME_NUMBERS and path.is_relative_to("receiver/ebpf"))


def strays_of_component(path):
    """Includes of a component's file that are neither public, nor lib's, nor its own."""
    folder = component_folder(path)
    for name, quoted in includes(path):
        if not quoted:
            if name.startswith("profcol/") and not is_in("include", name):
                yield name
            continue
        own = is_in(path.parent, name) or is_in(folder, name)
        generated = name.endswith(".skel.h") and folder == pathlib.Path("receiver/ebpf")
        kernel = name == SHARED_WITH_KERNEL and folder == pathlib.Path("receiver/ebpf")
        kernel = kernel or is_shared_by_runtimes(path, name)
        kernel = kernel or (path.as_posix(), name) == WALK_IN_USER_SPACE
        if not (own or generated or kernel or name in lib_headers()):
            yield name


@pytest.mark.parametrize("folder", component_folders(), ids=str)
def test_a_component_includes_public_headers_lib_and_itself(folder):
    strays = {
        str(path): names for path in sources(folder) if (names := list(strays_of_component(path)))
    }
    assert not strays


def test_a_subfolder_of_a_component_shows_the_others_one_header():
    strays = []
    for folder in component_folders():
        for path in sources(folder):
            for name, quoted in includes(path):
                target = (SOURCE / folder / name).resolve()
                if not quoted or "/" not in name or not target.is_file():
                    continue
                # runtimes/runtime.h is what one of them is.
                names = {target.parent.name, target.parent.name.removesuffix("s")}
                if target.parent != (SOURCE / path).parent and target.stem not in names:
                    strays.append(f"{path}: {name}")
    assert not strays


def test_lib_includes_only_what_stands_below_it():
    strays = []
    for path in sources("lib"):
        folder = path.parts[1]
        floor = LIB_FLOORS.index(folder)
        for name, quoted in includes(path):
            if not quoted or is_in(path.parent, name):
                continue
            below = name.split("/")[0] in LIB_FLOORS[: floor + 1] and is_in("lib", name)
            generated = folder in ("proto", "profile", "net") and name.endswith(".pb-c.h")
            if not (below or generated or is_in(pathlib.Path("lib") / folder, name)):
                strays.append(f"{path}: {name}")
    assert not strays


def test_host_knows_components_only_by_their_descriptors():
    roots = [root for root in COMPONENT_ROOTS if (SOURCE / root).is_dir()]
    component_headers = {path.name for path in sources(*roots) if path.suffix == ".h"}
    strays = []
    for path in sources("host"):
        for name, quoted in includes(path):
            if not quoted or is_in(path.parent, name) or is_in("host", name):
                continue
            if name not in lib_headers():
                strays.append(f"{path}: {name}")
            if name.split("/")[0] in COMPONENT_ROOTS or name in component_headers:
                strays.append(f"{path}: {name}")
    assert not strays


def test_public_headers_include_only_public_headers():
    strays = [
        f"{path}: {name}"
        for path in sources("include")
        for name, quoted in includes(path)
        if quoted or (name.startswith("profcol/") and not is_in("include", name))
    ]
    assert not strays


def test_kernel_and_receiver_share_one_header_and_the_walk():
    kernel_headers = {
        path.relative_to("bpf").as_posix() for path in sources("bpf") if path.suffix == ".h"
    }
    shared = {
        name
        for path in sources("receiver/ebpf")
        for name, _ in includes(path)
        if name in kernel_headers and not is_in(path.parent, name)
        if (path.as_posix(), name) != WALK_IN_USER_SPACE
        if not is_shared_by_runtimes(path, name)
    }
    assert shared == {SHARED_WITH_KERNEL}
    used = {(path, name) for path in sources("bpf") for name, quoted in includes(path) if quoted}
    assert SHARED_WITH_KERNEL in {name for _, name in used}
    for path, name in used:
        where = f"{path} includes {name}, which lies elsewhere"
        assert is_in("bpf", name) or is_in(path.parent, name), where


def runtimes():
    return sorted(path.name for path in (SOURCE / RUNTIMES).iterdir() if path.is_dir())


@pytest.mark.parametrize("runtime", runtimes())
def test_a_runtime_is_named_in_its_place_alone(runtime):
    word = re.compile(RUNTIME_WORDS[runtime], re.IGNORECASE)
    kernel_side = f"bpf/runtimes/{runtime}"
    own = (f"{RUNTIMES.as_posix()}/{runtime}/", f"{kernel_side}.", f"{kernel_side}_")
    strays = [
        f"{path}:{number}: {line.strip()}"
        for path in sources("bpf", "receiver", "host", "lib", "include")
        if not path.as_posix().startswith(own) and path.as_posix() not in RUNTIME_REGISTRIES
        for number, line in enumerate((SOURCE / path).read_text().splitlines(), 1)
        if word.search(line)
    ]
    assert not strays


@pytest.mark.parametrize("runtime", runtimes())
def test_a_runtime_has_both_sides_and_its_row(runtime):
    assert (SOURCE / f"bpf/runtimes/{runtime}.bpf.h").exists()
    readme = (SOURCE / RUNTIMES / "README.md").read_text()
    assert re.search(rf"^\| `{runtime}` \|", readme, re.MULTILINE)
    registry = (SOURCE / RUNTIMES / "registry.c").read_text()
    assert f"&runtime_{runtime}," in registry


def test_kernel_side_needs_no_generated_headers():
    for path in sources("bpf"):
        assert "vmlinux.h" not in [name for name, _ in includes(path)], path


def option_keys(folder):
    """Keys of the option tables in a component's folder."""
    return {
        key
        for path in sources(folder, suffixes=(".c",))
        for key in OPTION.findall((SOURCE / path).read_text())
    }


@pytest.mark.parametrize("folder", component_folders(), ids=str)
def test_a_component_has_a_readme_with_all_its_options(folder):
    keys = option_keys(folder)
    assert keys or folder.name == "nop"
    readme = (SOURCE / folder / "README.md").read_text()
    rows = re.findall(r"^\| *`([\w.\[\]]+)` *\|", readme, re.MULTILINE)
    documented = {part.removesuffix("[]") for row in rows for part in row.split(".")}
    assert keys - documented == set(), "not in the table of options"


def own_files():
    """Every file of the tree that is ours, build output left out."""
    for directory, folders, files in os.walk(SOURCE):
        folders[:] = [
            folder
            for folder in folders
            if folder not in {".git", "build", "profiles", "__pycache__", "node_modules"}
        ]
        for file in files:
            yield pathlib.Path(directory, file).relative_to(SOURCE)


def test_no_file_is_named_for_nothing():
    strays = [
        str(path)
        for path in own_files()
        if FORBIDDEN_NAMES & {part.split(".")[0].lower() for part in path.parts}
    ]
    assert not strays


def test_every_source_says_its_licence():
    strays = [
        str(path)
        for path in own_files()
        if path.suffix in {".c", ".h", ".cc", ".py", ".sh"}
        and "SPDX-License-Identifier: " not in (SOURCE / path).read_text()[:200]
    ]
    assert not strays


# ---- with the program ----


def components(program):
    """(kind, component) of every component in the program, as `profcol components` shows it."""
    text = subprocess.run(
        [program, "components"], capture_output=True, text=True, check=True, timeout=300
    ).stdout
    kinds = yaml.safe_load(text)
    found = [
        (kind, component)
        for kind in ("receivers", "processors", "exporters", "extensions")
        for component in kinds[kind]
    ]
    assert found, text
    return found


def option_paths(options, *above):
    for option in options or []:
        path = (*above, option["key"])
        yield path
        yield from option_paths(option.get("options"), *path)


def test_the_example_shows_every_component(program):
    example = yaml.safe_load((SOURCE / "pipeline.yaml.example").read_text())
    for kind, component in components(program):
        types = {name.split("/")[0] for name in example[kind]}
        assert component["name"] in types, kind


def test_the_example_shows_every_option(program):
    example = (SOURCE / "pipeline.yaml.example").read_text()
    shown = set(re.findall(r"\b([\w.]+):", example))
    hidden = [
        (kind, component["name"], ".".join(path))
        for kind, component in components(program)
        for path in option_paths(component["options"])
        if path[-1] not in shown
    ]
    assert not hidden


def only_examples(tree, *above):
    """`tree` with its sections, but without the values that should be defaults."""
    if above in EXAMPLES or tree is None:
        return tree
    return {
        key: only_examples(value, *above, key)
        for key, value in tree.items()
        if isinstance(value, dict) or value is None or (*above, key) in EXAMPLES
    }


def effective(program, path):
    """The configuration in `path` with all defaults, every value written in the one way."""
    output = subprocess.run(
        [program, "print-config", "--format", "json", "--config", path],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout
    return json.loads(output)


def test_the_examples_values_are_the_defaults(program, tmp_path):
    example = SOURCE / "pipeline.yaml.example"
    bare = only_examples(yaml.safe_load(example.read_text()))
    assert "verbosity" not in bare["exporters"]["debug"]
    (tmp_path / "bare.yaml").write_text(yaml.safe_dump(bare))
    assert effective(program, example) == effective(program, tmp_path / "bare.yaml")


@pytest.mark.parametrize("directory", ["", "/var/tmp/elsewhere"])
def test_the_example_is_valid(program, directory):
    environment = dict(os.environ)
    if directory:
        environment["PROFCOL_DIRECTORY"] = directory
    result = subprocess.run(
        [program, "validate", "--config", SOURCE / "pipeline.yaml.example"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert (result.returncode, result.stdout) == (0, "")
    # It has every component, and a pipeline with a few.
    for line in result.stderr.splitlines():
        assert line.startswith("warning: ") and line.endswith(", it will not run"), line
