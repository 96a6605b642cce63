# SPDX-License-Identifier: Apache-2.0
"""What each load is made of. A function of this file builds a load's programs and returns them."""
import math
import pathlib
import shutil
import subprocess

import cpu_cache
import many_files as many_files_copies
from cache import Step, tool_version
from work import Program, Ring

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"

# Of the round that all languages of `mixed` do.
ROUND = "ed4c032c"
STORM = "8a180971"
DEEP = "b6c26683"
NODE = "82365c3b"
COLD = "db9f0ecf"
LLVM = "fb9d0705"
CROWD_WALKS = ("eb028daf", "ee47ceb1", "9c07c808")  # by the text that a program is made of

STORM_RATE = 500
FLEET = 5000  # processes...
FLEET_WORK_MS = 0.3  # ...each of which works for so long at a time, or somewhat longer...
FLEET_BUSY = 1.2  # ...and that would use so much of all CPUs
FILES, FILES_RATE = 2000, 200  # each runs again after ten seconds
LONG_CLASSES = 400  # are compiled in some 8 s
COLD_TEXTS = 3  # each is linked into every third program; so many divide VISITS (cold_program.c)
COLD_PROGRAMS_MIN = 24
COLD_TOKENS = 24
COLD_CACHES = 2  # times the last level of cache is what all their code exceeds
CROWD_FILES, CROWD_COPIES = 25, 4  # programs with code of their own, processes of each
CROWD_CXX, CROWD_PYTHON, CROWD_LLVM = 40, 40, 20
CROWD = CROWD_FILES * CROWD_COPIES + CROWD_CXX + CROWD_PYTHON + CROWD_LLVM
CROWD_BUSY = 0.8  # of all CPUs: a profiler that starts need not wait for one
HEADERS = (HERE / "unit.h", HERE / "pace.h")


class Recipe:
    """Builds into a cache; knows what was left out, which versions took part, and sizes."""

    def __init__(self, cache, cpus):
        self.cache = cache
        self.cpus = cpus
        self.versions = {}
        self.left_out = []
        self.sizes = {}

    def path(self, name):
        return self.cache.directory / name

    def has(self, program, *tools):
        """Whether the tools of a program are installed; notes what they are, or what is not."""
        if not all(shutil.which(tool) for tool in tools):
            self.left_out.append(program)
            return False
        self.versions.update({tool: tool_version(tool) for tool in tools})
        return True

    def need(self, *tools):
        missing = [tool for tool in tools if not shutil.which(tool)]
        if missing:
            raise FileNotFoundError(
                f"not installed: {', '.join(missing)}; run scripts/setup.sh test"
            )
        self.versions.update({tool: tool_version(tool) for tool in tools})

    def compile(self, name, compiler, source, *flags, inputs=(), libraries=()):
        """A program of our own, without frame pointers."""
        (program,) = self.cache.build(
            Step(
                self.path(name),
                (compiler, "-O2", "-fomit-frame-pointer", *flags, HERE / source, "-o")
                + (self.path(name), *inputs, *libraries),
                (HERE / source, *HEADERS, *inputs),
            )
        )
        return program

    def print(self, name, generator, *arguments):
        """A step that generates a source."""
        return Step(
            self.path(name),
            (PYTHON, HERE / generator, *arguments),
            (HERE / generator,),
            printed=True,
        )


def _cxx(recipe, copies):
    recipe.need("g++")
    program = recipe.compile("cxx_work", "g++", "cxx_work.cc")
    return [Program("cxx", (program, 60), ROUND, warm_up=5)] * copies


def _python(_recipe, copies):
    return [Program("python", (PYTHON, HERE / "python_work.py", 5), ROUND, warm_up=5)] * copies


def _node(recipe, copies):
    if not recipe.has("node", "node"):
        return []
    return [Program("node", ("node", HERE / "node_work.js", 25), ROUND, warm_up=20)] * copies


def _java(recipe, _copies):
    if not recipe.has("java", "java", "javac"):
        return []
    source = HERE / "JavaWork.java"
    classes = recipe.path("JavaWork.class")
    recipe.cache.build(
        Step(classes, ("javac", "-d", recipe.cache.directory, source), (source,)),
    )
    command = ("java", "-Xmx256m", "-cp", recipe.cache.directory, "JavaWork", 70, recipe.cpus)
    return [Program("java", command, ROUND, warm_up=30)]


def _go(recipe, _copies):
    if not recipe.has("go", "go"):
        return []
    program = recipe.path("golang_work")
    recipe.cache.build(
        Step(
            program,
            ("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "."),
            tuple(sorted((HERE / "golang").iterdir())),
            directory=HERE / "golang",
            environment=(
                ("GOTOOLCHAIN", "local"),
                ("GOFLAGS", ""),
                ("GOPROXY", "off"),
                ("GOCACHE", str(recipe.path("go-cache"))),
                ("CGO_ENABLED", "0"),
            ),
        )
    )
    return [Program("go", (program, 65, recipe.cpus), ROUND, warm_up=5)]


def _compiler(recipe, name, command, classes, copies):
    """A compiler in a loop, as a program."""
    recipe.need("gcc", command[0])
    loop = recipe.compile("compile_loop", "gcc", "compile_loop.c")
    source, checksum = recipe.path(f"{name}.cc"), recipe.path(f"{name}.checksum")
    recipe.cache.build(recipe.print(source.name, "compiled_text.py", classes))
    # -S to standard output: it leaves no files behind when it is killed.
    command = (*command, "-S", "-o", "-", source)
    recipe.cache.build(
        Step(checksum, (loop, 1, *command), (loop, source), tool=command[0], printed=True)
    )
    return [Program(name, (loop, 0, *command), checksum.read_text().strip(), warm_up=2)] * copies


def mixed(recipe):
    copies = (recipe.cpus + 1) // 2
    return [
        *_python(recipe, copies),
        *_node(recipe, copies),
        *_java(recipe, copies),
        *_go(recipe, copies),
        *_cxx(recipe, copies),
        *_compiler(recipe, "compiler", ("g++", "-O1"), 1, copies),
    ]


def storm(recipe):
    recipe.need("gcc")
    spawner = recipe.compile("storm_spawner", "gcc", "storm_spawner.c")
    program = recipe.compile("storm_program", "gcc", "storm_program.c")
    return [Program("storm", (spawner, STORM_RATE, program), STORM, warm_up=50)]


def _many_files(recipe):
    """Programs that do the same, as files of their own."""
    flag = f"-Wl,--build-id=0x{many_files_copies.BUILD_ID}"
    program = recipe.compile("many_files_program", "gcc", "storm_program.c", flag)
    directory, generator = recipe.path("many_files"), HERE / "many_files.py"
    recipe.cache.build(
        Step(directory, (PYTHON, generator, program, directory, FILES), (generator, program))
    )
    recipe.sizes = {"programs": FILES}
    return sorted(directory.iterdir())


def many_files(recipe):
    recipe.need("gcc")
    spawner = recipe.compile("storm_spawner", "gcc", "storm_spawner.c")
    return [Program("many_files", (spawner, FILES_RATE, *_many_files(recipe)), STORM, warm_up=50)]


def fleet(recipe):
    """Many processes that run now and then, and never end: they use all CPUs together."""
    recipe.need("gcc")
    spawner = recipe.compile("fleet_spawner", "gcc", "fleet_spawner.c")
    pause_ms = round(FLEET * FLEET_WORK_MS / FLEET_BUSY / recipe.cpus)
    command = (spawner, FLEET, pause_ms, *_many_files(recipe))
    recipe.sizes |= {"processes": FLEET, "pause_ms": pause_ms}
    return [Program("fleet", command, STORM, warm_up=2 * FLEET)]


def _long_compiler(recipe, name, command, classes, copies):
    """A compiler whose runs take longer than a measurement can count: they are no units."""
    loop = recipe.compile("compile_loop", "gcc", "compile_loop.c")
    source = recipe.path(f"{name}.cc")
    recipe.cache.build(recipe.print(source.name, "compiled_text.py", classes))
    command = ("sh", "-c", 'exec "$@" >/dev/null', "sh", loop, 0, *command, "-S", "-o", "-", source)
    return [Program(name, command)] * copies


def large(recipe):
    """Half of the compilers start anew a few times a second and are counted, half of them every
    ten seconds and are not.
    """
    command = ("clang-19", "-O2")
    return [
        *_compiler(recipe, "large", command, 5, (recipe.cpus + 1) // 2),
        *_long_compiler(recipe, "large-long", command, LONG_CLASSES, max(recipe.cpus // 2, 1)),
    ]


def idle(_recipe):
    return [Program("idle", ("sleep", "infinity"))]


def deep(recipe):
    recipe.need("gcc")
    program = recipe.compile("deep_work", "gcc", "deep_work.c")
    return [Program("deep", (program,), DEEP, warm_up=5)] * recipe.cpus


def node(recipe):
    recipe.need("node")
    command = ("node", HERE / "node_async.js", 4)
    return [Program("node", command, NODE, warm_up=20)] * recipe.cpus


def _cold_objects(recipe):
    """The member of the ring without its code, and several codes for it."""
    texts = recipe.cache.build(
        *(recipe.print(f"cold-{seed}.c", "cold_text.py", seed) for seed in range(COLD_TEXTS))
    )
    member = HERE / "cold_program.c"
    sources = [(member, "-O2", HERE / "unit.h"), *((text, "-O1", text) for text in texts)]
    objects = recipe.cache.build(
        *(
            Step(
                recipe.path(f"{source.stem}.o"),
                ("gcc", level, "-fomit-frame-pointer", "-c", source, "-o")
                + (recipe.path(f"{source.stem}.o"),),
                (source, other),
            )
            for source, level, other in sources
        )
    )
    return objects[0], objects[1:]


def _text_bytes(path):
    """Of machine code in an object file."""
    result = subprocess.run(["size", "-A", path], capture_output=True, text=True, check=True)
    rows = [line.split() for line in result.stdout.splitlines()]
    return sum(int(row[1]) for row in rows if row[:1] == [".text"])


def cold_programs(text_bytes, cache_bytes):
    """How many programs exceed the cache, when their codes have these sizes in turn."""
    rounds = math.ceil(COLD_CACHES * cache_bytes / sum(text_bytes))
    return max(COLD_PROGRAMS_MIN, rounds * len(text_bytes))


def cold(recipe):
    recipe.need("gcc", "size")
    member, codes = _cold_objects(recipe)
    sizes = [_text_bytes(code) for code in codes]
    known_bytes = cpu_cache.last_level_bytes()
    cache_bytes = cpu_cache.bytes_to_exceed(known_bytes, recipe.cpus)
    count = cold_programs(sizes, cache_bytes)
    recipe.sizes = {
        "programs": count,
        "text_bytes": count // COLD_TEXTS * sum(sizes),
        "last_level_cache_bytes": known_bytes,
        "cache_bytes_to_exceed": cache_bytes,
    }
    # Files of their own, so that they share no memory, and a build id each, so that no profiler
    # takes two of them for one.
    programs = recipe.cache.build(
        *(
            Step(
                recipe.path(f"cold-{index}"),
                ("gcc", f"-Wl,--build-id=0x{index:040x}", "-o", recipe.path(f"cold-{index}"))
                + (member, codes[index % COLD_TEXTS]),
                (member, codes[index % COLD_TEXTS]),
            )
            for index in range(count)
        )
    )
    commands = tuple((program,) for program in programs)
    rings = (recipe.cpus + 1) // 2
    return [Ring("cold", commands, COLD_TOKENS, COLD, warm_up=5)] * rings


def _crowd_programs(recipe):
    """(kind of code, program) of files that differ in code, or at least in build id."""
    _, codes = _cold_objects(recipe)
    for index in range(CROWD_FILES):
        kind = index % COLD_TEXTS
        flag = f"-Wl,--build-id=0x{CROWD + index:040x}"
        name = f"crowd-{index}"
        yield kind, recipe.compile(name, "gcc", "crowd_program.c", flag, inputs=(codes[kind],))


def crowd(recipe):
    """All of them use an equal share of the CPUs, in turns of about a millisecond."""
    recipe.need("gcc", "g++", "clang-19")  # with which its library comes
    share = min(999, max(1, round(1000 * CROWD_BUSY * recipe.cpus / CROWD)))
    cxx = recipe.compile("cxx_work", "g++", "cxx_work.cc")
    llvm = recipe.compile("llvm_work", "gcc", "llvm_work.c", libraries=("-l:libLLVM.so.19.1",))
    kinds = [
        (f"crowd-{kind}", (program,), CROWD_WALKS[kind], CROWD_COPIES)
        for kind, program in _crowd_programs(recipe)
    ]
    kinds += [
        ("cxx", (cxx, 6), ROUND, CROWD_CXX),
        ("python", (PYTHON, HERE / "python_work.py", 1), ROUND, CROWD_PYTHON),
        ("llvm", (llvm,), LLVM, CROWD_LLVM),
    ]
    recipe.sizes = {"programs": CROWD, "share_per_mille": share}
    return [
        Program(name, (*command, share, CROWD * index + copy), checksum, warm_up=3)
        for index, (name, command, checksum, copies) in enumerate(kinds)
        for copy in range(copies)
    ]


LOADS = {
    load.__name__: load
    for load in (mixed, storm, large, idle, deep, cold, crowd, many_files, fleet, node)
}
