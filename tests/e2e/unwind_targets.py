# SPDX-License-Identifier: Apache-2.0
"""Programs with a shadow stack (tests/targets/shadow.h), in every layout of code and of unwind
tables that a profiler meets: how each is built, and how its stacks look.
"""
import dataclasses
import os
import pathlib
import shutil
import struct
import subprocess
import typing

from decided import Share

ZIG_PACKAGE = "ziglang==0.15.2"

# Of a program that is wrong now and then by nature: until a function has made its frame, and after
# it has left it, its caller is passed over. Of 23,258 samples on a busy machine 11 were so, fewer on
# an idle one. As good as fault at 1.15 in a thousand; 2.2 pass once in a million times, where 6 of
# 6,700 passed once in 110 times.
_WRONG_BY_NATURE = Share(fine=0.0005, fault=0.0022)

# What stands between the program's first function and the end of the stack, leaf first.
_GLIBC = r"libc\.so\.6 libc\.so\.6 _start"
_GLIBC_THREAD = r"libc\.so\.6 libc\.so\.6"
_GLIBC_CONTEXT = r"libc\.so\.6"
_STATIC = r"__libc_start_call_main \S+ _start"
_STATIC_THREAD = r"start_thread \S+"
# musl has no unwind tables: its first function is where stacks may end.
_MUSL = r"libc_start_main_stage2( \S+){0,3}"
_MUSL_THREAD = r"start( \S+)?"
_MUSL_SHARED = r"libc\.so( \S+){0,3}"
_RUST = r"(\S+ ){1,8}main libc\.so\.6 libc\.so\.6 _start"
_ZIG = r"(\S+ ){1,8}(start\.)?_start"
_GO = r"runtime\.main runtime\.goexit(\.abi0)?|runtime\.goexit(\.abi0)?"
# The last function of a stack of Go's scheduler: of a thread of its own, or below one that left its
# goroutine for good. How much time it takes depends on what else the machine does. systemstack is
# not among them: it comes back to the goroutine, whose functions are to be there.
_GO_SCHEDULER = r"runtime\.(mstart|mcall|morestack)(\.abi0)?"


class Missing(Exception):
    """A target cannot be built here; the text names the way out."""

    def __init__(self, text, is_installed_by_setup):
        super().__init__(text)
        self.is_installed_by_setup = is_installed_by_setup


@dataclasses.dataclass(frozen=True)
class Target:
    name: str
    source: str  # in tests/targets
    command: tuple  # compiler and flags
    roots: tuple = ("main",)  # the first function of the program's own on a stack
    tail: str = _GLIBC  # a pattern: what called that, leaf first
    leaves: tuple = ("light", "heavy")  # where it spends its time
    functions: int = 16
    finish: typing.Callable = None  # finish(symbols, path): makes the program from the linked file
    glue: str = None  # a pattern: frames that a language puts between a program's own
    transit: float = 0.01  # share of samples outside of the leaves, at most
    elsewhere: str = None  # a pattern: the last of those that need no function of the program's own
    wrong: Share = None  # of samples; None: as of any program
    thorough: bool = False  # only in make test-all: another one stands for its layout in make test
    covers: bool = True  # whether enough samples fall on every chain
    chains: frozenset = None  # written by hand: all there are
    between: frozenset = frozenset()  # seen as well, while the program has no proper stack


# ---- what is done to a linked file ----


def strip(symbols, path):
    subprocess.run(["strip", "--strip-all", "-o", path, symbols], check=True)


def drop_section_headers(symbols, path):
    """Program headers are all that is left, as after sstrip."""
    strip(symbols, path)
    data = bytearray(path.read_bytes())
    (offset,) = struct.unpack_from("<Q", data, 40)  # e_shoff
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 64, 0, 0)  # e_shentsize, e_shnum, e_shstrndx
    path.write_bytes(data[:offset])


# ---- compilers ----

_C = ("-std=gnu17", "-D_GNU_SOURCE")


def _gcc(*flags):
    return ("gcc", *_C, *flags)


def _clang(*flags):
    return ("clang-19", *_C, *flags)


def _musl(*flags):
    return ("musl-gcc", *_C, "-O2", *flags)


def _no_compiler(command):
    """The Missing of a compiler that is not there."""
    if command in ("rustc", "zig"):
        how = {
            "rustc": "install Rust, for instance: apt-get install rustc",
            "zig": f"install {ZIG_PACKAGE} from Python's registry, or put zig into PATH",
        }[command]
        return Missing(f"no {command}; {how}", False)
    return Missing(f"no {command}; run: scripts/setup.sh test", True)


def _zig():
    """The command of Zig: the one in PATH, else the Python package."""
    if found := shutil.which("zig"):
        return [found]
    for python in ("python3", "/usr/bin/python3"):
        if not subprocess.run([python, "-c", "import ziglang"], capture_output=True).returncode:
            return [python, "-m", "ziglang"]
    raise _no_compiler("zig")


def _check(command, **options):
    command = [str(part) for part in command]
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{' '.join(command)}:\n{result.stderr}"


def _build_rust(target, source, symbols):
    recorder = symbols.with_suffix(".recorder.o")
    _check(["gcc", *_C, "-O2", "-c", source / "recorder.c", "-o", recorder])
    link = ["-C", f"link-arg={recorder}"]
    _check([*target.command, "--edition", "2021", *link, source / target.source, "-o", symbols])


def _build_zig(target, source, symbols):
    recorder = symbols.with_suffix(".recorder.o")
    _check(["gcc", *_C, "-O2", "-ffreestanding", "-c", source / "recorder.c", "-o", recorder])
    cache = pathlib.Path.home() / ".cache/profcol/zig"
    flags = [*target.command[1:], "--cache-dir", cache, f"-femit-bin={symbols}"]
    _check([*_zig(), "build-exe", *flags, source / target.source, recorder], cwd=symbols.parent)


def _build_go(target, source, symbols):
    path = source / target.source
    has_c = path.is_dir()
    environment = os.environ | {
        "GOFLAGS": "-buildvcs=false",
        "GOWORK": "off",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "1" if has_c else "0",
    }
    what = {"cwd": path} if has_c else {}
    _check([*target.command, "-o", symbols, "." if has_c else path], env=environment, **what)


def _build_c(target, source, symbols):
    libraries = ["-pthread"] if target.source == "threads.c" else []
    _check([*target.command, source / target.source, "-o", symbols, *libraries])


def build(target, source, directory):
    """(path, symbols): the program and a file with its symbols, which may be the same one.

    `source` is tests/targets. Missing is raised where the compiler is not there.
    """
    compiler = target.command[0]
    if compiler != "zig" and not shutil.which(compiler):
        raise _no_compiler(compiler)
    path = directory / target.name
    symbols = directory / f"{target.name}.symbols" if target.finish else path
    recipes = {"rustc": _build_rust, "zig": _build_zig, "go": _build_go}
    recipe = recipes.get(os.path.basename(compiler), _build_c)
    recipe(target, source, symbols)
    if target.finish:
        target.finish(symbols, path)
    return path, symbols


# ---- the targets ----


def _plain(name, command, **options):
    return Target(name, "shadow_stack.c", command, **options)


_HARDENED = (
    "-O2",
    "-fcf-protection=full",
    "-fstack-protector-strong",
    "-fstack-clash-protection",
    "-Wl,-z,relro,-z,now",
)
_POINTERS_ONLY = (
    "-O2",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-fno-omit-frame-pointer",
    "-mno-omit-leaf-frame-pointer",
)

_LAYOUTS = [
    *(_plain(f"gcc_{level}", _gcc(f"-{level}")) for level in ("O0", "O1", "O2", "O3", "Os")),
    *(_plain(f"clang_{level}", _clang(f"-{level}")) for level in ("O0", "O1", "O2", "O3")),
    _plain("omit_frame_pointer", _gcc("-O2", "-fomit-frame-pointer")),
    _plain("frame_pointer", _gcc("-O2", "-fno-omit-frame-pointer")),
    _plain("frame_pointers_only", _gcc(*_POINTERS_ONLY), wrong=_WRONG_BY_NATURE),
    _plain("debug_frame", _gcc("-O2", "-g", "-fno-asynchronous-unwind-tables")),
    _plain("cf_protection", _gcc(*_HARDENED)),
    _plain("separate_code", _gcc("-O2", "-Wl,-z,separate-code")),
    _plain("noseparate_code", _gcc("-O2", "-Wl,-z,noseparate-code")),
    _plain("stripped", _gcc("-O2"), finish=strip),
    _plain("no_section_headers", _gcc("-O2"), finish=drop_section_headers),
    _plain("non_pie", _gcc("-O2", "-no-pie", "-fno-pie")),
    _plain("static", _gcc("-O2", "-static"), tail=_STATIC),
    _plain("static_stripped", _gcc("-O2", "-static"), tail=_STATIC, finish=strip),
    _plain("static_pie", _gcc("-O2", "-static-pie"), tail=_STATIC),
    _plain(
        "static_pie_no_headers",
        _gcc("-O2", "-static-pie"),
        tail=_STATIC,
        finish=drop_section_headers,
    ),
    _plain("musl", _musl(), tail=_MUSL_SHARED),
    _plain("musl_static", _musl("-static"), tail=_MUSL),
]

_FRAMES = [
    *(
        Target(f"{name}_{compiler}", f"{name}.c", command("-O2"))
        for name in ("alloca", "realigned", "huge_frames")
        for compiler, command in (("gcc", _gcc), ("clang", _clang))
    ),
    # Touching every page of a frame before it is used takes time.
    Target(
        "huge_frames_probed",
        "huge_frames.c",
        _gcc("-O2", "-fstack-clash-protection"),
        transit=0.3,
    ),
    Target("jit", "jit.c", _gcc("-O2"), functions=18),
    Target("jit_trampoline", "jit.c", _gcc("-O2", "-DWITHOUT_FRAME_POINTER"), functions=18),
]

_TAIL_CHAINS = frozenset(
    {
        ("first", "by_name", "main"),
        ("second", "by_name", "main"),
        ("third", "by_name", "main"),
        ("pointer", "by_pointer", "main"),
        ("pier", "by_pointer", "main"),
        ("leaf", "bridge", "by_pointer", "main"),
        ("choice", "by_chance", "main"),
        ("left", "by_chance", "main"),
        ("right", "by_chance", "main"),
        ("middle", "by_middle", "main"),
        ("leaf", "viaduct", "by_middle", "main"),
    }
)


def _tail_calls(name, command):
    leaves = tuple(sorted({chain[0] for chain in _TAIL_CHAINS}))
    return Target(name, "tail_calls.c", command, leaves=leaves, functions=17, chains=_TAIL_CHAINS)


def _signals(name, command, **options):
    return Target(name, "signals.c", command, functions=19, **options)


# Before it jumps to a handler, the unwinder puts the registers for it into its own frame. From then
# to the jump these lead to a wrong caller of the function below: itself or, where it has a frame
# pointer, the next but one.
_WAYS = (("fail", "counter", "shop", "main"), ("fail", "search", "safe", "bank", "main"))
_LANDING = frozenset(
    ("<unwinder>", *chain)
    for way in _WAYS
    for at in range(len(way) - 1)
    for chain in ((way[at], *way[at:]), (way[at], *way[at + 2 :]))
    if len(chain) > 1
)


def _exceptions(name, level):
    return Target(
        name,
        "exceptions.cc",
        ("g++", level),
        leaves=("fail", "tidy"),
        functions=9,
        between=_LANDING,
    )


_CONTROL = [
    _tail_calls("tail_calls_gcc", _gcc("-O2")),
    _tail_calls("tail_calls_clang", _clang("-O2")),
    _signals("signals", _gcc("-O2")),
    _signals("signals_alternate", _gcc("-O2", "-DSIGNALS_ALTERNATE")),
    _signals("signals_static", _gcc("-O2", "-static"), tail=_STATIC),
    _signals("signals_musl", _musl(), tail=_MUSL_SHARED),
    _signals("signals_musl_static", _musl("-static"), tail=_MUSL),
    # Both timers may expire at once: then one handler begins before the other one.
    Target("timers", "timers.c", _gcc("-O2"), functions=19, covers=False, transit=0.15),
    Target("longjmp", "longjmp.c", _gcc("-O2"), leaves=("leap", "moored", "arrived"), functions=9),
    Target(
        "coroutines",
        "coroutines.c",
        _gcc("-O2"),
        roots=("ping", "pong"),
        tail=_GLIBC_CONTEXT,
        functions=18,
    ),
    *(
        Target(
            name,
            "threads.c",
            command,
            roots=("thread_even", "thread_odd"),
            tail=tail,
            functions=18,
        )
        for name, command, tail in (
            ("threads", _gcc("-O2"), _GLIBC_THREAD),
            ("threads_static_pie", _gcc("-O2", "-static-pie"), _STATIC_THREAD),
            ("threads_musl", _musl(), _MUSL_SHARED),
            ("threads_musl_static", _musl("-static"), _MUSL_THREAD),
        )
    ),
    Target(
        "recursion",
        "recursion.c",
        _gcc("-O2"),
        leaves=("leaf",),
        functions=5,
        covers=False,  # what is reported has no root, and so is no whole chain
        transit=0.05,
    ),
    _exceptions("exceptions", "-O2"),
    _exceptions("exceptions_O0", "-O0"),
]


def _strings(name, *flags):
    return Target(
        name,
        "strings.c",
        _gcc("-O2", "-fno-builtin", *flags),
        leaves=("libc.so.6", "compare"),
        functions=18,
    )


_LIBRARIES = [
    _strings("strings"),
    _strings("strings_cf_protection", "-fcf-protection=full"),
    _strings("strings_gold", "-fuse-ld=gold"),
    Target("vdso", "vdso.c", _gcc("-O2"), leaves=("[vdso]",), functions=18),
]

# What cgo and the run-time library put between Go and C, in both directions.
_CGO_GLUE = r"runtime\.|runtime/|_cgo|crosscall|main\._Cfunc_|back$"
_GO_LEAVES = ("main.light", "main.heavy")


def _go(name, *flags, finish=None):
    return Target(
        name,
        "chains.go",
        ("go", "build", *flags),
        roots=("main.main", "main.worker"),
        tail=_GO,
        leaves=_GO_LEAVES,
        functions=17,
        finish=finish,
        elsewhere=_GO_SCHEDULER,
    )


_LANGUAGES = [
    *(
        Target(name, "chains.rs", ("rustc", *flags), roots=("run",), tail=_RUST)
        for name, flags in (("rust_debug", ()), ("rust_release", ("-O",)))
    ),
    *(
        Target(name, "chains.zig", ("zig", *flags), roots=("run",), tail=_ZIG)
        for name, flags in (
            ("zig_debug", ("-ODebug",)),
            ("zig_release", ("-OReleaseFast",)),
        )
    ),
    _go("go"),
    _go("go_stripped", finish=strip),
    _go("go_pie", "-buildmode=pie"),
    *(
        Target(
            name,
            "cgo",
            ("go", "build"),
            roots=("main.main",),
            tail=_GO,
            leaves=("leaf", "main.goLeaf"),
            functions=17,
            finish=finish,
            glue=_CGO_GLUE,
            # The run-time library sees to threads that are in C.
            transit=0.05,
            elsewhere=_GO_SCHEDULER,
        )
        for name, finish in (("cgo", None), ("cgo_stripped", strip))
    ),
]

# What these have, each for itself, one of the others has: the same layout of code and tables by
# another level of optimisation, compiler or way of linking.
_THOROUGH = {
    *("gcc_O1", "gcc_O3", "gcc_Os", "clang_O0", "clang_O1", "clang_O3", "omit_frame_pointer"),
    *("frame_pointer", "separate_code", "static", "static_pie"),
    *("alloca_clang", "realigned_clang", "huge_frames_clang", "huge_frames_probed"),
    *("tail_calls_clang", "signals_static", "signals_musl", "exceptions_O0"),
    *("threads_static_pie", "threads_musl", "strings_gold"),
    *("rust_debug", "zig_debug", "go_stripped", "cgo_stripped"),
}

TARGETS = [
    dataclasses.replace(target, thorough=target.name in _THOROUGH)
    for target in (*_LAYOUTS, *_FRAMES, *_CONTROL, *_LIBRARIES, *_LANGUAGES)
]
assert _THOROUGH <= {target.name for target in TARGETS}
