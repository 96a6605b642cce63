# SPDX-License-Identifier: Apache-2.0
"""Where profcol writes: nobody can have it write what he could not, nor have a hand in what it
writes for itself.
"""
import contextlib
import fcntl
import os
import pwd
import stat
import subprocess

import pytest

from profcol_run import pipeline
from waiting import wait_until

NOBODY = pwd.getpwnam("nobody")
SUDO = {"SUDO_UID": str(NOBODY.pw_uid), "SUDO_GID": str(NOBODY.pw_gid)}
DOAS = {"DOAS_USER": "nobody"}
PKEXEC = {"PKEXEC_UID": str(NOBODY.pw_uid)}
BUSY = ["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]
SECRET = "of root alone\n"


@pytest.fixture
def places(open_path):
    """(directory of root, with the file `secret` in it; directory of the caller)"""
    roots, callers = open_path / "roots", open_path / "callers"
    roots.mkdir(mode=0o755)
    (roots / "secret.folded").write_text(SECRET)
    (roots / "secret.folded").chmod(0o600)
    callers.mkdir()
    os.chown(callers, NOBODY.pw_uid, NOBODY.pw_gid)
    return roots, callers


@pytest.fixture
def profile(open_path):
    path = open_path / "profile.folded"
    path.write_text("main;work 5\n")
    return path


def run_for(program, caller, *arguments):
    """A command of profcol's, as sudo starts it for an ordinary user."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SUDO_")} | caller
    return subprocess.run(
        [str(program), *map(str, arguments)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def record_for(program, caller, output):
    return run_for(program, caller, "record", "-o", output, "--", *BUSY)


def link_away(places, way, name):
    """The path of file `name` in the caller's directory, where a link leads into root's: in the
    place of the file, or of a directory on the way.
    """
    roots, callers = places
    if way == "file":
        (callers / name).symlink_to(roots / "secret.folded")
        return callers / name
    (callers / "way").symlink_to(roots)
    return callers / "way" / name


def assert_untouched(roots):
    secret = roots / "secret.folded"
    assert [path.name for path in roots.iterdir()] == ["secret.folded"]
    assert secret.read_text() == SECRET
    assert (secret.stat().st_uid, stat.S_IMODE(secret.stat().st_mode)) == (0, 0o600)


@pytest.mark.parametrize("caller", [SUDO, DOAS, PKEXEC], ids=["sudo", "doas", "pkexec"])
def test_a_recording_for_somebody_is_written_as_he_could(program, places, caller):
    roots, callers = places
    result = record_for(program, caller, callers / "out.folded")
    assert result.returncode == 0, result.stderr
    status = (callers / "out.folded").stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (NOBODY.pw_uid, 0o600)
    assert [path.name for path in callers.iterdir()] == ["out.folded"]

    result = record_for(program, caller, roots / "secret.folded")
    assert result.returncode == 1
    assert "Permission denied" in result.stderr
    assert_untouched(roots)


@pytest.mark.parametrize("way", ["file", "directory", "old"])
def test_a_recording_goes_through_no_link_of_the_callers(program, places, way):
    roots, callers = places
    if way == "old":  # a second name of the file, which the recording takes away, unwritten
        output = callers / "out.folded"
        os.link(roots / "secret.folded", output)
    else:
        output = link_away(places, way, "new.folded")
    result = record_for(program, SUDO, output)
    assert (result.returncode == 0) == (way == "old"), result.stderr
    assert_untouched(roots)


def test_a_recording_is_not_led_astray_while_it_lasts(program, places):
    """The directory becomes a link to another one meanwhile."""
    roots, callers = places
    (callers / "here").mkdir()
    os.chown(callers / "here", NOBODY.pw_uid, NOBODY.pw_gid)
    swap = f"mv {callers}/here {callers}/there; ln -s {roots} {callers}/here"
    command = ["sh", "-c", f"{swap}; {BUSY[2]}"]
    output = callers / "here/secret.folded"
    result = run_for(program, SUDO, "record", "-o", output, "--", *command)
    assert os.path.islink(callers / "here"), result.stderr
    assert result.returncode == 1, result.stderr
    assert_untouched(roots)


@pytest.mark.parametrize("way", ["file", "directory", "pipe"])
def test_a_picture_goes_through_no_link_of_the_callers(program, places, profile, way):
    roots, callers = places
    if way == "pipe":
        output = callers / "out.svg"
        os.mkfifo(output)
    else:
        output = link_away(places, way, "new.svg")
    result = run_for(program, SUDO, "view", profile, "-o", output)
    assert result.returncode == 1
    assert "cannot write to" in result.stderr
    assert_untouched(roots)


def test_a_picture_for_somebody_is_his(program, places, profile):
    _, callers = places
    result = run_for(program, SUDO, "view", profile, "-o", callers / "out.svg")
    assert result.returncode == 0, result.stderr
    assert (callers / "out.svg").stat().st_uid == NOBODY.pw_uid


def full_pipe():
    """(end to read, end to write) of a pipe in which there is no room."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writer, b"." * 4096)
    os.set_blocking(writer, True)
    return reader, writer


def test_a_recording_is_not_read_again_once_it_is_the_callers(program, places):
    """The caller holds up the message about a recording, and puts a link in the recording's place."""
    roots, callers = places
    (roots / "secret.folded").write_text("of;root;alone 5\n")
    output = callers / "out.folded"
    reader, writer = full_pipe()
    with subprocess.Popen(
        [str(program), "record", "-o", str(output), "--", *BUSY],
        env=os.environ | SUDO,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=writer,
    ) as process:
        os.close(writer)
        said = bytearray()
        os.set_blocking(reader, False)
        refill = os.open(f"/proc/self/fd/{reader}", os.O_WRONLY | os.O_NONBLOCK)

        def is_published():
            # What it says until then gets through, and there is no room again: at once by the
            # largest write there is room for, since it may be published meanwhile.
            with contextlib.suppress(BlockingIOError):
                said.extend(os.read(reader, 65536))
            for size in (4096, 1):
                with contextlib.suppress(BlockingIOError):
                    while True:
                        os.write(refill, b"." * size)
            return output.exists()

        wait_until(is_published, "the recording")
        output.unlink()
        output.symlink_to(roots / "secret.folded")
        os.close(refill)
        os.set_blocking(reader, True)
        while part := os.read(reader, 65536):
            said.extend(part)
        assert process.wait() == 0, said
    os.close(reader)
    assert b" samples" in said, said
    assert b"alone" not in said, said


# ---- components ----


def refuses(start_profcol, exporters, *texts):
    run = start_profcol(pipeline(exporters=exporters))
    assert run.wait_exit() in (1, 78)
    for text in texts:
        assert text in run.log, run.log


def test_a_directory_of_somebody_else_is_refused(start_profcol, places):
    _, callers = places
    for exporters in (
        {"pprof": {"directory": str(callers)}},
        {"pprof": {"directory": str(callers / "below")}},
        {"file": {"path": str(callers / "profiles.json")}},
        {"debug": {"output_paths": [str(callers / "log")], "use_internal_logger": False}},
    ):
        refuses(start_profcol, exporters, f"belongs to user {NOBODY.pw_uid}", "chown root")
    assert not list(callers.iterdir())


def test_a_directory_that_others_may_write_to_is_refused(start_profcol, tmp_path):
    open_to_all, sticky = tmp_path / "open", tmp_path / "sticky"
    for directory, mode in ((open_to_all, 0o777), (sticky, 0o1777)):
        directory.mkdir()
        directory.chmod(mode)
        for exporters in (
            {"pprof": {"directory": str(directory)}},
            {"file": {"path": str(directory / "profiles.json")}},
        ):
            refuses(start_profcol, exporters, "is writable by others", "private_subdirectory")
        assert not list(directory.iterdir())
    # In one that is sticky nobody can take away what is ours.
    run = start_profcol(pipeline(sticky / "profiles")).wait_ready()
    run.stop()


@pytest.mark.parametrize(
    "options",
    [
        {"create_directory": True},
        {"rotation": {"max_megabytes": 1}},
        {"create_directory": True, "private_subdirectory": True},
    ],
)
def test_no_directory_is_made_through_a_link_of_somebody_else(start_profcol, places, options):
    roots, callers = places
    (callers / "way").symlink_to(roots)
    exporter = {"file": {"path": str(callers / "way/new/deep/profiles.json")} | options}
    refuses(start_profcol, exporter, f"belongs to user {NOBODY.pw_uid}")
    assert_untouched(roots)


def test_directories_of_ours_are_made(start_profcol, tmp_path):
    path = tmp_path / "new/deep/profiles.json"
    run = start_profcol(pipeline(exporters={"file": {"path": str(path), "create_directory": True}}))
    run.wait_ready().stop()
    assert path.exists()


def test_a_pipe_that_nobody_reads_does_not_hold_up_the_start(start_profcol, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    exporter = {"output_paths": [str(tmp_path / "pipe")], "use_internal_logger": False}
    refuses(start_profcol, {"debug": exporter}, "cannot open")


def test_a_limit_of_the_size_of_files_ends_an_output_not_the_program(
    start_profcol, burner, tmp_path
):
    exporters = {"file": {"path": str(tmp_path / "profiles.json")}}
    configuration = pipeline(exporters=exporters)
    run = start_profcol(configuration, prefix=["prlimit", "--fsize=32768", "--"]).wait_ready()
    run.wait_logged("File too large")
    burner.wait_burnt(100)
    run.stop()


@pytest.mark.parametrize("which", ["link", "log"])
def test_no_link_is_followed(start_profcol, places, which):
    """In a directory of ours, which somebody has left it in: an old version, or a mistake."""
    roots, _ = places
    link = roots.parent / "out.json"
    link.symlink_to(roots / "secret.folded")
    exporter = {"file": {"path": str(link)}} if which == "link" else {
        "debug": {"output_paths": [str(link)], "use_internal_logger": False}
    }
    refuses(start_profcol, exporter, "is a symbolic link")
    assert_untouched(roots)


def test_a_volume_that_all_may_write_to(start_profcol, burner, tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir()
    volume.chmod(0o777)
    exporters = {
        "pprof": {"directory": str(volume), "interval": "500ms", "private_subdirectory": True},
        "file": {"path": str(volume / "profiles.json"), "private_subdirectory": True},
    }
    run = start_profcol(pipeline(exporters=exporters)).wait_ready()
    burner.wait_burnt(200)
    own = volume / "profcol"
    wait_until(lambda: list(own.glob("profcol-*.pb.gz")), "a file")
    run.stop()
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    for path in own.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert [path.name for path in volume.iterdir()] == ["profcol"]

    # Somebody else was there first.
    os.chown(own, NOBODY.pw_uid, NOBODY.pw_gid)
    del exporters["file"]
    refuses(start_profcol, exporters, f"belongs to user {NOBODY.pw_uid}")
