# SPDX-License-Identifier: Apache-2.0
"""Runs a program as a container engine would, without one: in a root of its own that cannot be
written to, in its own namespaces, with the capabilities, the user and the system calls that were
asked for.

    container.py --root TREE --capabilities bpf,perfmon --host-pid -- /profcol components
"""
import argparse
import ctypes
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile

_CLONE_NEWNS, _CLONE_NEWPID, _CLONE_NEWNET = 0x20000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
_PR_CAPBSET_DROP, _PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS, _PR_SET_PDEATHSIG = 24, 8, 38, 1
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 47, 2
_DEVICES = ("null", "zero", "full", "random", "urandom")
# What engines hide, and what they forbid to write to.
_MASKED = ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug")
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys")

# Of OCI's names, those that profiles of ours use; libseccomp's numbers.
_ACTIONS = {
    "SCMP_ACT_ALLOW": 0x7FFF0000,
    "SCMP_ACT_ERRNO": 0x00050000,
    "SCMP_ACT_KILL_PROCESS": 0x80000000,
}
_OPERATORS = {"SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}
_ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}

_libc = ctypes.CDLL(None, use_errno=True)
# Before the root changes.
_libcap = ctypes.CDLL("libcap.so.2", use_errno=True)
_libcap.cap_from_text.restype = ctypes.c_void_p
_libseccomp = ctypes.CDLL("libseccomp.so.2", use_errno=True)
_libseccomp.seccomp_init.restype = ctypes.c_void_p


class _Comparison(ctypes.Structure):
    _fields_ = [
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    ]


def _check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _unshare(flags):
    _check(_libc.unshare(flags), "unshare")


def _mount(source, target, kind=None, flags=0, options=None):
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    data = options and options.encode()
    _check(_libc.mount(*texts, ctypes.c_ulong(flags), data), f"mount {target}")


def _prctl(*arguments):
    _check(_libc.prctl(*(ctypes.c_ulong(argument) for argument in arguments)), f"prctl{arguments}")


def _bind(source, target, read_only=False):
    target = pathlib.Path(target)
    if pathlib.Path(source).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch(exist_ok=True)
    _mount(source, target, flags=_MS_BIND | _MS_REC)
    if read_only:
        _mount(None, target, flags=_MS_BIND | _MS_REMOUNT | _MS_RDONLY)


def _make_root(tree, mounts, read_only):
    """The tree with what engines mount into it, at a place that only this namespace sees."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="container-"))
    _mount("none", "/", flags=_MS_REC | _MS_PRIVATE)
    _mount("tmpfs", root, "tmpfs")
    shutil.copytree(tree, root, symlinks=True, dirs_exist_ok=True)
    for name in ("proc", "sys", "dev"):
        (root / name).mkdir(exist_ok=True)
    _mount("tmpfs", root / "dev", "tmpfs", _MS_NOSUID, "mode=755")
    for name in _DEVICES:
        _bind(f"/dev/{name}", root / "dev" / name)
    (root / "etc/hosts").write_text("127.0.0.1\tlocalhost\n::1\tlocalhost\n")
    _bind("/etc/resolv.conf", root / "etc/resolv.conf", read_only=True)
    for mount in mounts:
        source, target, *options = mount.split(":")
        _bind(source, root / target.lstrip("/"), "ro" in options)
    if read_only:
        _mount(None, root, flags=_MS_BIND | _MS_REMOUNT | _MS_RDONLY)
    return root


def _enter(root):
    """After the change of namespaces: /proc shows the one we are in."""
    _mount("proc", root / "proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _mount("sysfs", root / "sys", "sysfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC | _MS_RDONLY)
    for path in _READ_ONLY:
        _bind(path, root / path.lstrip("/"), read_only=True)
    for path in _MASKED:
        if os.path.exists(path):
            _mount("/dev/null", root / path.lstrip("/"), flags=_MS_BIND)
    os.chroot(root)
    os.chdir("/")


def set_privileges(capabilities, user=0, ambient=False):
    """Only these capabilities, for `user`, until the end."""
    names = [f"cap_{name}" for name in capabilities]
    numbers = []
    for name in names:
        number = ctypes.c_int()
        _check(_libcap.cap_from_name(name.encode(), ctypes.byref(number)), name)
        numbers.append(number.value)
    for number in range(_libcap.cap_max_bits()):
        if number not in numbers:
            _prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    if user:
        _prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    text = f"{','.join(names)}={'eip' if ambient else 'ep'}" if names else "="
    sets = ctypes.c_void_p(_libcap.cap_from_text(text.encode()))
    _check(_libcap.cap_set_proc(sets), f"set capabilities '{text}'")
    if ambient:
        for number in numbers:
            _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, number, 0, 0)


class Filter:
    """A filter of system calls from a profile in OCI's form, with `default` for what it does not
    name if that is given.
    """

    def __init__(self, path, default=None):
        profile = json.loads(pathlib.Path(path).read_text())
        architecture = _ARCHITECTURES[platform.machine()]
        assert architecture in profile["architectures"]
        action = default or profile["defaultAction"]
        self._context = ctypes.c_void_p(
            _libseccomp.seccomp_init(_action(action, profile.get("defaultErrnoRet", 1)))
        )
        for rule in profile["syscalls"]:
            for name in rule["names"]:
                self._add(rule, name)

    def _add(self, rule, name):
        number = _libseccomp.seccomp_syscall_resolve_name(name.encode())
        if number < 0:  # of another architecture
            return
        conditions = [
            _Comparison(
                one["index"], _OPERATORS[one["op"]], one["value"], one.get("valueTwo", 0)
            )
            for one in rule.get("args", [])
        ]
        array = (_Comparison * len(conditions))(*conditions)
        action = _action(rule["action"], rule.get("errnoRet", 1))
        result = _libseccomp.seccomp_rule_add_array(
            self._context, action, number, len(conditions), array
        )
        assert result == 0, f"{name}: {os.strerror(-result)}"

    def load(self):
        result = _libseccomp.seccomp_load(self._context)
        assert result == 0, os.strerror(-result)


def _action(name, errno):
    return _ACTIONS[name] | (errno if name == "SCMP_ACT_ERRNO" else 0)


def _parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", help="the file tree; without, this machine's")
    parser.add_argument("--mount", action="append", default=[], help="SOURCE:TARGET[:ro]")
    parser.add_argument("--writable", action="store_true", help="the root can be written to")
    parser.add_argument("--capabilities", help="the only ones: bpf,perfmon,...")
    parser.add_argument("--ambient", action="store_true", help="pass them on to what is executed")
    parser.add_argument("--user", type=int, default=0)
    parser.add_argument("--new-privileges", action="store_true", help="may be gained by executing")
    parser.add_argument("--seccomp", help="profile of system calls, in OCI's form")
    parser.add_argument("--seccomp-default", choices=_ACTIONS, help="for calls it does not name")
    parser.add_argument("--host-pid", action="store_true", help="no pid namespace of its own")
    parser.add_argument("--host-net", action="store_true", help="no network namespace of its own")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def _be_parent(child):
    """Of a pid namespace's first process: signals go there, its end is ours."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _: os.kill(child, received))
    status = os.waitpid(child, 0)[1]
    sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)


def main():
    arguments = _parse()
    root = None
    calls = arguments.seccomp and Filter(arguments.seccomp, arguments.seccomp_default)
    if arguments.root:
        _unshare(_CLONE_NEWNS)
        if not arguments.host_net:
            _unshare(_CLONE_NEWNET)
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        root = _make_root(arguments.root, arguments.mount, not arguments.writable)
        if not arguments.host_pid:
            _unshare(_CLONE_NEWPID)
            if child := os.fork():
                _be_parent(child)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _enter(root)
    if arguments.capabilities is not None:
        names = [name for name in arguments.capabilities.split(",") if name]
        set_privileges(names, arguments.user, arguments.ambient)
    if not arguments.new_privileges:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if calls:
        calls.load()
    os.execv(arguments.command[0], arguments.command)


if __name__ == "__main__":
    main()
