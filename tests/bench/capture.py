# SPDX-License-Identifier: Apache-2.0
"""Files of OTLP requests to measure with: one that is there, and one that is made on the spot."""
import children
import load_run
import profilers
import sink

OF_REFERENCE = profilers.SOURCE.parent / "shared/data/otlp-1.10-ebpf-profile.bin"

LOAD = "mixed"
RATE = 99
SECONDS = 20


def record(profcol, directory):
    """Profile a load with profcol; the file of requests that it sent."""
    load_run.prepare(LOAD)
    directory.mkdir(parents=True)
    with sink.listening(directory) as target:
        profiler = profilers.OtlpProfiler("profcol", [profcol])
        process = profiler.start(directory, RATE, target.endpoint)
        try:
            children.wait_until(target.first_sample, "the first sample of the capture", 60)
            with load_run.running(LOAD, SECONDS) as load:
                load.finish(SECONDS + 60)
        finally:
            status = children.stop(process)
        if status:
            raise children.ChildFailed(f"profcol ended with {status}; see {directory}")
    return target.stream
