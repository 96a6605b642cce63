# SPDX-License-Identifier: Apache-2.0
"""The receiver that both profilers send to (the peer sink), and what it noted."""
import contextlib
import re
import subprocess

import children
import profilers
from json_lines import read_json_lines

_READY = re.compile(r"\bgrpc=(\S+)")


class Sink:
    """A running sink; `endpoint` is where it listens."""

    def __init__(self, endpoint, stream, log):
        self.endpoint = endpoint
        self.stream = stream  # all requests, as the inspector reads them, unless none are kept
        self.log = log

    def requests(self):
        """What arrived so far, oldest first."""
        return read_json_lines(self.log) if self.log.exists() else []

    def first_sample(self):
        """The first request that brought a sample, or None."""
        return next((each for each in self.requests() if each["observations"]), None)


@contextlib.contextmanager
def listening(directory, keep=True):
    """A sink for the time of a `with` statement; `keep` says whether it stores the requests."""
    stream, log = directory / "requests.bin", directory / "requests.jsonl"
    command = [profilers.peer("sink"), "--grpc", "127.0.0.1:0", "--log", log]
    if keep:
        command += ["--out", stream]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
    with children.running(command, **pipes) as process:
        line = children.read_line(process, "address")
        match = _READY.search(line)
        if not match:
            raise children.ChildFailed(f"the sink said {line!r} instead of its address")
        yield Sink(match[1], stream, log)


def wire(requests, from_unix_ns, to_unix_ns):
    """Sums over the requests whose samples reach into this time.

    Not over all that arrived: what a profiler sends when it ends, the other may not send.
    """
    counted = [
        each
        for each in requests
        if each["observations"]
        and each["first_unix_nano"] < to_unix_ns
        and each["last_unix_nano"] >= from_unix_ns
    ]
    sums = {key: sum(each[key] for each in counted) for key in ("raw_bytes", "wire_bytes")}
    # One value may stand for many observations.
    return {"requests": len(counted), "observations": sum(each["events"] for each in counted)} | sums
