# SPDX-License-Identifier: Apache-2.0
"""Where the programs that profcol is tested with lie: scripts/peers.sh builds them."""
import functools
import os
import pathlib
import subprocess

_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/peers.sh"


# The test that runs, as pytest has it; None where what asks is no test.
current_test = None


class NoPeer(Exception):
    """A peer is not there; the text names the way out."""


@functools.cache
def find_peer(name):
    """The path of a peer; the same for the whole life of the process, or NoPeer."""
    result = subprocess.run([_SCRIPT, "--path", name], capture_output=True, text=True)
    if result.returncode:
        raise NoPeer(result.stderr.strip() or f"no peer {name}; run: make peers")
    return pathlib.Path(result.stdout.strip())


def peer_path(name, optional=False):
    """The path of a peer. Without it the test is skipped; under CI=true it fails.

    `optional`: it is skipped there too, for peers that are not built for every run of the tests.
    A test that is not marked `peers` fails: it would be run where no peer is wanted.
    """
    import pytest  # here: what calls find_peer() may be no test

    if current_test and not current_test.get_closest_marker("peers"):
        pytest.fail(
            f"{current_test.nodeid} uses the peer {name} and is not marked so; give it the fixture"
            " `peer`, or pytest.mark.peers",
            pytrace=False,
        )

    try:
        return find_peer(name)
    except NoPeer as missing:
        if os.environ.get("CI") == "true" and not optional:
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))
