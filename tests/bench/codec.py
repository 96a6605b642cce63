#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Decoding and encoding OTLP profiles: profcol beside the Collector's pdata, on the same files of
requests (raw, or each behind its length in 4 bytes). Prints a JSON list with a row for each file;
`bytes_per_sample` and the times are of a sample, an observation being one of its timestamps."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import capture
import go_program

SOURCE = pathlib.Path(__file__).resolve().parents[2]
OTLP_CODEC = SOURCE / "build/release/tests/bench/codec/otlp_codec"


def _figures(program, option, seconds, files):
    result = subprocess.run(
        [program, option, str(seconds), *files], check=True, stdout=subprocess.PIPE
    )
    return json.loads(result.stdout)


def _per_sample(figures):
    samples = max(1, figures["samples"])
    row = {
        "decode_ns_per_sample": figures["decode_ns"] / samples,
        "encode_ns_per_sample": figures["encode_ns"] / samples,
        "bytes_per_sample": figures["bytes_written"] / samples,
    }
    if "encode_references_ns" in figures:
        row["encode_references_ns_per_sample"] = figures["encode_references_ns"] / samples
        row["bytes_per_sample_references"] = figures["bytes_written_references"] / samples
    return row


def rows(files, seconds=2, otlp_codec=OTLP_CODEC):
    """A row for each file."""
    ours = _figures(otlp_codec, "--seconds", seconds, files)
    theirs = _figures(go_program.build("codec_go", "otlp_codec_go"), "-seconds", seconds, files)
    result = []
    for profcol, pdata in zip(ours, theirs, strict=True):
        if profcol["samples"] != pdata["samples"]:
            raise ValueError(f"{profcol['file']}: the two do not count the same samples")
        result.append(
            {
                "file": "/".join(pathlib.Path(profcol["file"]).parts[-2:]),
                "requests": profcol["requests"],
                "samples": profcol["samples"],
                "observations": profcol["observations"],
                "bytes_per_sample_read": profcol["bytes_read"] / max(1, profcol["samples"]),
                "profcol": _per_sample(profcol),
                "pdata": _per_sample(pdata),
            }
        )
    return result


def usual_files(profcol, directory):
    """What is measured when nothing is named; captures are made in the directory."""
    found = [capture.OF_REFERENCE] if capture.OF_REFERENCE.exists() else []
    if os.geteuid() == 0:
        print(f"recording a capture: {capture.LOAD}, {capture.SECONDS} s", file=sys.stderr)
        found.append(capture.record(profcol, directory / f"profcol-{capture.LOAD}"))
    if not found:
        sys.exit("codec.py: no captures: give files, or run it as root, which makes one")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.replace("\n", " "))
    parser.add_argument("--seconds", type=float, default=2, help="for each file and codec (2)")
    parser.add_argument("--otlp-codec", type=pathlib.Path, default=OTLP_CODEC)
    parser.add_argument(
        "--profcol",
        type=pathlib.Path,
        default=SOURCE / "build/release/profcol",
        help="the program that makes a capture (build/release/profcol)",
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="(a capture of the eBPF profiler if it is there, and as root one that is made here)",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="profcol-codec-") as directory:
        files = arguments.files or usual_files(arguments.profcol, pathlib.Path(directory))
        print(json.dumps(rows(files, arguments.seconds, arguments.otlp_codec), indent=1))


if __name__ == "__main__":
    main()
