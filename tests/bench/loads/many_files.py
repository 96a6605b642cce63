# SPDX-License-Identifier: Apache-2.0
"""Copies a program, each with a build id of its own: `many_files.py PROGRAM DIRECTORY COUNT`.

PROGRAM has the build id BUILD_ID.
"""
import pathlib
import shutil
import sys

BUILD_ID = "5a" * 20


def main():
    program, directory = map(pathlib.Path, sys.argv[1:3])
    content, build_id = program.read_bytes(), bytes.fromhex(BUILD_ID)
    if content.count(build_id) != 1:
        sys.exit(f"many_files.py: '{program}' does not have the build id {BUILD_ID} once")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for number in range(int(sys.argv[3])):
        path = directory / f"file-{number:05}"
        path.write_bytes(content.replace(build_id, number.to_bytes(len(build_id), "big")))
        path.chmod(0o755)


if __name__ == "__main__":
    main()
