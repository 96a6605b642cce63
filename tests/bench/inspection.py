# SPDX-License-Identifier: Apache-2.0
"""What is in the profiles that arrived (the peer inspect)."""
import json

import children
import profilers


def summary(stream, from_unix_ns, to_unix_ns):
    """The inspector's summary of the observations within this time."""
    window = ["--from", from_unix_ns, "--to", to_unix_ns]
    return json.loads(
        children.output([profilers.peer("inspect"), "--summary", *window, stream])
    )
