# SPDX-License-Identifier: Apache-2.0
"""forged.py GO_FORGED: executes programs that have forged what their runtime says of itself, one after
the other, in all ways there are, again and again.
"""
import itertools
import pathlib
import subprocess
import sys

TARGETS = pathlib.Path(__file__).resolve().parents[1] / "targets"
sys.path.insert(0, str(TARGETS))

import python_forged  # noqa: E402
import python_forged_tasks  # noqa: E402

SECONDS = 2
PYTHON = "/usr/bin/python3"


def commands(go_forged):
    for program in (python_forged, python_forged_tasks):
        for way in program.WAYS:
            yield [PYTHON, program.__file__, way]
    for way in subprocess.check_output([go_forged], text=True).split():
        yield [go_forged, way]


def main():
    for command in itertools.cycle(list(commands(sys.argv[1]))):
        try:
            subprocess.run(
                command, timeout=SECONDS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            pass


if __name__ == "__main__":
    main()
