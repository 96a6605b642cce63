# SPDX-License-Identifier: Apache-2.0
"""Where the programs that profcol is tested with lie: scripts/peers.sh builds them."""
import os
import pathlib
import subprocess

import pytest

_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/peers.sh"


def peer_path(name, optional=False):
    """The path of a peer. Without it the test is skipped; under CI=true it fails.

    `optional`: it is skipped there too, for peers that are not built for every run of the tests.
    """
    result = subprocess.run([_SCRIPT, "--path", name], capture_output=True, text=True)
    if result.returncode == 0:
        return pathlib.Path(result.stdout.strip())
    if os.environ.get("CI") == "true" and not optional:
        pytest.fail(result.stderr.strip(), pytrace=False)
    pytest.skip(result.stderr.strip())
