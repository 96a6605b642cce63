# SPDX-License-Identifier: Apache-2.0
"""crafted.py holes|aliases|frames DIRECTORY PROGRAM: executes PROGRAM, which computes until it is
killed, again and again with sections that cost their reader much (tests/crafted_elf.py), each time
as a file that nobody has seen before.
"""
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import crafted_elf  # noqa: E402

HOLE_BYTES = 256 << 20
NAMES = 1000000
FRAMES = 200000
SECONDS = 2


def make_hole(program):
    """In memory, whose pages belong to who touches them first; a descriptor for reading."""
    data, at, rest = crafted_elf.with_hole(program, HOLE_BYTES)
    file = os.memfd_create("hole", 0)
    os.write(file, data)
    os.pwrite(file, rest, at)
    os.fchmod(file, 0o755)
    reading = os.open(f"/proc/self/fd/{file}", os.O_RDONLY)
    os.close(file)  # what is open for writing is not executed
    return reading


def run(path, **options):
    process = subprocess.Popen([path], stdout=subprocess.DEVNULL, **options)
    time.sleep(SECONDS)
    process.kill()
    process.wait()


def run_holes(program):
    while True:
        reading = make_hole(program)
        run(f"/proc/self/fd/{reading}", pass_fds=[reading])
        os.close(reading)


def run_files(data, path):
    while True:
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        path.chmod(0o755)
        run(path)


def main():
    how, directory, program = sys.argv[1:]
    path = pathlib.Path(directory) / f"crafted-{how}"
    data = pathlib.Path(program).read_bytes()
    if how == "holes":
        run_holes(data)
    elif how == "aliases":
        run_files(crafted_elf.with_aliases(data, NAMES), path)
    else:
        run_files(crafted_elf.with_frames(data, FRAMES), path)


if __name__ == "__main__":
    main()
