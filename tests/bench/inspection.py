# SPDX-License-Identifier: Apache-2.0
"""What is in the profiles that arrived (the peer inspect)."""
import json

import children
import profilers


def _inspect(mode, stream, from_unix_ns, to_unix_ns):
    window = ["--from", from_unix_ns, "--to", to_unix_ns]
    return json.loads(children.output([profilers.peer("inspect"), mode, *window, stream]))


def summary(stream, from_unix_ns, to_unix_ns):
    """The inspector's summary of the observations within this time."""
    return _inspect("--summary", stream, from_unix_ns, to_unix_ns)


def processes(stream, from_unix_ns, to_unix_ns):
    """Its list of the processes that were observed within this time, and when first."""
    return _inspect("--processes", stream, from_unix_ns, to_unix_ns)
