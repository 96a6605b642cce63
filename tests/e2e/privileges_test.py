# SPDX-License-Identifier: Apache-2.0
"""When the machine does not offer what is needed, the first line says what and how to get it."""
import pytest

from profcol_run import pipeline


def without(*capabilities):
    """A command prefix: root as ever, but for these capabilities."""
    dropped = ",".join(f"-{name}" for name in capabilities)
    return ["setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}"]


def first_error(run):
    """The first line that tells of an error, which must be the one that ends the run."""
    assert run.wait_exit() == 1
    lines = [line for line in run.log.splitlines() if line.startswith("Error: ")]
    assert lines, run.log
    return lines[0]


@pytest.mark.sanitized
@pytest.mark.parametrize("capability", ["bpf", "perfmon"])
def test_a_missing_capability_is_named(start_profcol, tmp_path, capability):
    prefix = without(capability, "sys_admin")
    run = start_profcol(pipeline(tmp_path / "out"), prefix=prefix)
    error = first_error(run)
    assert f"CAP_{capability.upper()}" in error
    assert "run as root or grant it" in error
    assert "profiling" in error, "the component is named"


def test_a_hidden_btf_is_named(start_profcol, tmp_path):
    script = 'mount -t tmpfs none /sys/kernel/btf && exec "$0" "$@"'
    run = start_profcol(
        pipeline(tmp_path / "out"), prefix=["unshare", "--mount", "sh", "-c", script]
    )
    error = first_error(run)
    assert "/sys/kernel/btf/vmlinux" in error
    assert "CONFIG_DEBUG_INFO_BTF" in error


def test_a_capability_that_only_narrows_is_a_warning(start_profcol, burner, tmp_path):
    prefix = without("sys_ptrace")
    run = start_profcol(pipeline(tmp_path / "out"), prefix=prefix).wait_ready()
    burner.wait_burnt(200)
    run.stop()
    effect = "mappings of other users' processes stay unknown"
    (line,) = (line for line in run.log.splitlines() if effect in line)
    assert "\twarn\t" in line and "CAP_SYS_PTRACE" in line


def test_an_output_directory_that_cannot_be_is_named(start_profcol, tmp_path):
    run = start_profcol(pipeline(tmp_path / "no/such/place"))
    error = first_error(run)
    assert str(tmp_path / "no/such/place") in error
    assert "pprof" in error
