# SPDX-License-Identifier: Apache-2.0
"""grpc_client.py ADDRESS METHOD FILE CALLS none|gzip [CA]: Python's gRPC calls a server with the bytes of
FILE, so often, all calls at once, and prints how often each code was the answer.
"""
import collections
import pathlib
import sys

import grpc


def _channel(address, ca):
    if not ca:
        return grpc.insecure_channel(address)
    trust = pathlib.Path(ca[0]).read_bytes()
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(trust))


def main(address, method, file, calls, compression, *ca):
    request = pathlib.Path(file).read_bytes()
    kind = grpc.Compression.Gzip if compression == "gzip" else grpc.Compression.NoCompression
    codes = collections.Counter()
    with _channel(address, ca) as channel:
        call = channel.unary_unary(method)
        under_way = [call.future(request, compression=kind, timeout=120) for _ in range(int(calls))]
        for answer in under_way:
            codes[answer.code().name] += 1
    print(" ".join(f"{code} {count}" for code, count in sorted(codes.items())))


main(*sys.argv[1:])
