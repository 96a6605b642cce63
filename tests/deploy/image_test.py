# SPDX-License-Identifier: Apache-2.0
"""The container image, made without an engine: what is in it, what is missing from it, and what it
does in namespaces of its own.
"""
import gzip
import io
import json
import pathlib
import re
import subprocess
import tarfile

import pytest

from dry_run import pod_of, read_objects
from free_port import free_port
from profcol_run import pipeline, read_profile

UNPACKED_BYTES = 25e6
COMPRESSED_BYTES = 10e6
# Asked for by libraries, and not missed: what is there without them is what is wanted.
OPTIONAL = {
    "/etc/ld.so.preload": "what to load besides",
    "/etc/ld.so.cache": "where libraries lie, when it is not where the loader looks first",
    "/etc/host.conf": "how names are looked up; its defaults hold",
    "/etc/resolv.conf": "mounted by the engine",
    "/etc/hosts": "mounted by the engine",
    "/etc/gai.conf": "order of addresses; its defaults hold",
    "/etc/localtime": "log lines are in UTC",
    "/usr/lib/ssl/openssl.cnf": "options of TLS; its defaults hold",
    "/usr/lib/ssl/cert.pem": "another place for what is in /etc/ssl/certs",
}
# Of the machine, not of the image.
KERNELS = ("/proc/", "/sys/", "/dev/")
MISSED = re.compile(r'(?:open|openat|access|stat|newfstatat)\((?:AT_FDCWD, )?"(/[^"]*)".*ENOENT')


def container(root, *options, capabilities=""):
    """A command prefix: run what follows in the image."""
    script = pathlib.Path(__file__).with_name("container.py")
    rights = ["--capabilities", capabilities]
    return ["/usr/bin/python3", script, "--root", root, *rights, *options, "--"]


def engine_options(source):
    """What container.py takes, of the DaemonSet's container."""
    pod = pod_of(read_objects((source / "deploy/kubernetes/daemonset.yaml").read_text()))
    (only,) = pod["containers"]
    security = only["securityContext"]
    assert security["capabilities"]["drop"] == ["ALL"] and not security["privileged"]
    options = ["--user", str(security["runAsUser"])]
    options += ["--host-pid"] if pod.get("hostPID") else []
    options += ["--host-net"] if pod.get("hostNetwork") else []
    options += [] if security.get("readOnlyRootFilesystem") else ["--writable"]
    options += ["--new-privileges"] if security.get("allowPrivilegeEscalation", True) else []
    return options, ",".join(security["capabilities"]["add"]).lower()


def run_in(root, *command, options=()):
    command = [*map(str, container(root, *options)), *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_it_says_what_it_is_made_of(image):
    """SPDX: each package as dpkg knows it, and none of the program's libraries is missing."""
    sbom = json.loads((image / "usr/share/doc/profcol/profcol.spdx.json").read_text())
    assert sbom["spdxVersion"] == "SPDX-2.3" and sbom["SPDXID"] == "SPDXRef-DOCUMENT"
    versions = {part["name"]: part["versionInfo"] for part in sbom["packages"]}
    identities = {part["SPDXID"] for part in sbom["packages"]} | {"SPDXRef-DOCUMENT"}
    assert len(identities) == len(versions) + 1
    for relation in sbom["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= identities
    assert {"profcol", "libbpf-dev", "libgrpc-dev", "libc6", "ca-certificates"} <= versions.keys()
    for name in versions.keys() - {"profcol"}:
        command = ["dpkg-query", "--show", "--showformat=${Version}", name]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert versions[name] == shown, name


def elf_files(root):
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
            yield path


def needed_by(path):
    command = ["readelf", "--dynamic", "--wide", path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", text)


def test_what_it_is_linked_with_is_there_and_no_more(image):
    files = list(elf_files(image))
    needed = {library for path in files for library in needed_by(path)}
    assert {path.name for path in files} == needed | {"profcol"}


def test_nothing_else_can_be_run_and_nobody_else_may_write(image):
    assert not [path for path in image.rglob("*") if path.name in {"sh", "bash", "busybox"}]
    modes = {path: path.lstat().st_mode for path in image.rglob("*") if not path.is_symlink()}
    assert not [path for path, mode in modes.items() if mode & 0o6022]


def test_the_other_profilers_command_is_there(image):
    result = run_in(image, "/otelcol-ebpf-profiler", "--version")
    assert result.stdout.startswith("profcol version"), result.stderr


def test_sizes(image, capsys):
    unpacked = sum(path.stat().st_size for path in image.rglob("*") if not path.is_symlink())
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(image, arcname="/")
    compressed = len(gzip.compress(archive.getvalue(), 9))
    with capsys.disabled():
        print(f"\nimage: {unpacked / 1e6:.1f} MB unpacked, {compressed / 1e6:.1f} MB compressed")
    assert unpacked <= UNPACKED_BYTES
    assert compressed <= COMPRESSED_BYTES


def stages(dockerfile):
    """The lines of each stage, by instruction; those before the first are for its FROM alone."""
    text = re.sub(r"\\\n", " ", dockerfile.read_text())
    lines = [line.split(None, 1) for line in text.splitlines() if line and line[0] != "#"]
    result = []
    for instruction, rest in lines:
        if instruction == "FROM":
            result.append([])
        if result:
            result[-1].append((instruction, rest))
    return result


def test_the_dockerfile_adds_nothing_to_the_tree(source):
    build, final = stages(source / "deploy/Dockerfile")
    (command,) = (rest for instruction, rest in build if instruction == "RUN" and "kind" in rest)
    makefile = (source / "Makefile").read_text()
    for target in ("image", "image-arm64"):
        rules = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
        assert re.search(rf"scripts/image\.sh \S+ build/{target}\b", rules)
    assert "/image" in command.split()[-1]
    assert final[0] == ("FROM", "scratch")
    assert [rest for instruction, rest in final if instruction in ("COPY", "ADD")] == [
        "--from=build /image/ /"
    ]
    assert not [rest for instruction, rest in final if instruction in ("RUN", "CMD")]
    assert ("ENTRYPOINT", '["/profcol"]') in final


@pytest.mark.parametrize("command", [["components"], ["schema"], ["featuregate"], ["--help"]])
def test_commands_in_its_own_namespaces(image, command):
    result = run_in(image, "/profcol", *command)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout


def gateway(port, health):
    """A pipeline that needs nothing of the machine: between network and network."""
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"localhost:{port}"}}}},
        "exporters": {
            "debug": {},
            "otlp_grpc": {"endpoint": "gateway.invalid:4317", "timeout": "1s"},
        },
        "extensions": {"health_check": {"endpoint": f"localhost:{health}"}},
        "service": {
            "extensions": ["health_check"],
            "pipelines": {
                "profiles": {"receivers": ["otlp"], "exporters": ["debug", "otlp_grpc"]}
            },
        },
    }


def test_nothing_is_missing_from_it(image, start_profcol, tmp_path):
    """With TLS, names to be looked up and a directory to write to: every file that is asked for is
    in the image, or known to be of no use.
    """
    (tmp_path / "run").mkdir()
    # strace is outside of the image, so it has to be the one that enters.
    recorder = ["strace", "-D", "-f", "-qq", "-e", "trace=file", "-o", tmp_path / "calls"]
    mount = f"{tmp_path}/run:{tmp_path}/run:ro"
    prefix = [*recorder, *container(image, "--mount", mount, "--host-pid", "--host-net")]
    ports = free_port(), free_port()
    run = start_profcol(gateway(*ports), tmp_path / "run", prefix, program="/profcol")
    run.wait_ready().stop()
    calls = (tmp_path / "calls").read_text()
    inside = calls[calls.index('execve("/profcol"') :]
    missed = set(MISSED.findall(inside))
    missing = {
        path
        for path in missed
        if not path.startswith((*KERNELS, str(tmp_path), "/lib", "/usr/lib/x86_64-linux-gnu"))
        and path not in OPTIONAL
    }
    assert not missing
    assert (image / "etc/ssl/certs/ca-certificates.crt").stat().st_size > 100_000


def test_a_pipeline_in_its_own_namespaces(image, start_profcol, tmp_path):
    (tmp_path / "run").mkdir()
    prefix = container(image, "--mount", f"{tmp_path}/run:{tmp_path}/run:ro")
    run = start_profcol(gateway(4317, 13133), tmp_path / "run", prefix, program="/profcol")
    run.wait_ready()
    # It was started as the first process of its namespace, by one that stays outside.
    (child,) = run.children()
    probe = "import urllib.request as u; print(u.urlopen('http://localhost:13133/').read())"
    command = ["nsenter", "--net", "--target", str(child), "/usr/bin/python3", "-c", probe]
    reply = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "Server available" in reply.stdout, reply.stderr
    run.stop()


def test_it_profiles_the_machine(image, source, burn, start_profcol, start_target, tmp_path):
    """With what the DaemonSet asks for, and under the narrower of its profiles of system calls."""
    for name in ("run", "out"):
        (tmp_path / name).mkdir()
    rights, capabilities = engine_options(source)
    options = [
        *rights,
        "--seccomp",
        source / "deploy/seccomp/profcol.json",
        "--mount",
        f"{tmp_path}/run:{tmp_path}/run:ro",
        "--mount",
        f"{tmp_path}/out:/out",
    ]
    prefix = container(image, *options, capabilities=capabilities)
    target = start_target(burn)
    run = start_profcol(pipeline("/out"), tmp_path / "run", prefix, program="/profcol")
    run.wait_ready()
    target.wait_burnt(500)
    run.stop()
    samples = read_profile(tmp_path / "out").of_pid(target.pid)
    assert any("burn_leaf" in sample.names for sample in samples)
