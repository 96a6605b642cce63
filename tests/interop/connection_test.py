# SPDX-License-Identifier: Apache-2.0
"""Peers that cannot be talked to: each gets ONE line in the log that says why and what to do,
however often it is tried, and nothing of what is lost goes uncounted.
"""
import socket

import pytest

from free_port import free_port
from otlp_exporter import otlp_to
from profcol_run import pipeline, read_profile

_BURN_MS = 1500

# What the line says of each peer, and what its samples are counted under.
LINES = {
    "expired": ("the peer's certificate has expired; renew it there", "shutdown"),
    "wrong_ca": ("not signed by an authority that we trust", "shutdown"),
    "wrong_name": ("the peer's certificate is not for the name 'other.example'", "shutdown"),
    "no_client_certificate": ("the peer demands a client certificate", "shutdown"),
    "plaintext_to_tls": ("the peer uses TLS, but tls.insecure is true", "shutdown"),
    "tls_to_plaintext": ("the peer does not use TLS, but we do", "shutdown"),
    "no_such_name": ("name 'no-such-name.invalid' not found", "shutdown"),
    "nobody_listens": ("connection refused: nobody listens at port", "shutdown"),
    "no_socket": ("there is no socket", "shutdown"),
    "not_grpc": ("the port, 4317 is usual for gRPC", "shutdown"),
    "silent": ("the peer takes the connection, but does not answer", "shutdown"),
    "no_pipeline": ("the peer has no profiles pipeline, or its feature gate", "unimplemented"),
    "refused": ("check 'headers'", "unauthenticated"),
    "other_version": ("another version of OTLP profiles", "invalid_argument"),
}

_VERSION_ERROR = (
    "invalid or unsupported otlp-profiles-development-version: supported version is 2"
)


def _tls_peers(authority, other_authority, start_sink):
    """Exporters to peers with TLS."""
    server = authority.issue("localhost")
    flags = {"cert": server.cert, "key": server.key}
    good = start_sink(**flags)
    expired = authority.issue("expired", days=-1)
    mutual = start_sink(client_ca=authority.path, **flags)
    stale = start_sink(cert=expired.cert, key=expired.key)

    def trusting(sink, authority, **options):
        return otlp_to(sink.grpc, tls={"ca_file": str(authority.path)} | options)

    return {
        "expired": trusting(stale, authority),
        "wrong_ca": trusting(good, other_authority),
        "wrong_name": trusting(good, authority, server_name_override="other.example"),
        "no_client_certificate": trusting(mutual, authority),
        "plaintext_to_tls": otlp_to(good.grpc),
        "tls_to_plaintext": trusting(start_sink(), authority),
    }


def _plain_peers(start_sink, start_gateway, stack, new_directory):
    """Exporters to peers that are not there, or are something else."""
    sink = start_sink()
    silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    versions = start_sink(f"invalid_argument:{_VERSION_ERROR}")
    quick = {"timeout": "500ms"}
    return {
        "no_such_name": otlp_to("no-such-name.invalid:4317"),
        "nobody_listens": otlp_to(f"127.0.0.1:{free_port()}"),
        "no_socket": otlp_to(f"unix://{new_directory()}/gateway.sock"),
        "not_grpc": otlp_to(sink.http),
        "silent": otlp_to("127.0.0.1:%d" % silent.getsockname()[1], **quick),
        "no_pipeline": otlp_to(start_gateway(signal="traces").grpc),
        "refused": otlp_to(start_sink("unauthenticated").grpc),
        "other_version": otlp_to(versions.grpc),
    }


def _without_name_servers(directory):
    """Starts a command that looks names up in /etc/hosts only. The machine's name server may answer
    late, or that it does not know whether there is such a name.
    """
    (directory / "nsswitch.conf").write_text("hosts: files\n")
    script = 'mount --bind "$0" /etc/nsswitch.conf && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, directory / "nsswitch.conf"]


@pytest.fixture(scope="module")
def finished(
    authority,
    other_authority,
    start_sink,
    start_gateway,
    start_profcol,
    burner,
    stack,
    new_directory,
):
    """A run with all of them, and what its pprof exporter wrote."""
    directory = new_directory()
    peers = _tls_peers(authority, other_authority, start_sink)
    peers |= _plain_peers(start_sink, start_gateway, stack, new_directory)
    assert set(peers) == set(LINES)
    exporters = {"pprof": {"directory": str(directory), "interval": "1h"}}
    exporters |= {f"otlp_grpc/{name}": options for name, options in peers.items()}
    run = start_profcol(
        pipeline(receiver={"reporter_interval": "200ms"}, exporters=exporters),
        _without_name_servers(new_directory()),
    )
    burner.wait_burnt(_BURN_MS)
    for name, (text, _) in LINES.items():
        run.wait_logged(text)
    run.stop()
    return run, read_profile(directory)


# A peer has a second to say what it is, in which the machine may stand still: then there is another line
# of what it looked like.
_HURRIED = ("but does not answer", "closes the connection", "was not made in time")


@pytest.mark.sanitized
@pytest.mark.parametrize("name", list(LINES))
def test_one_line_says_what_is_wrong(finished, name):
    run, _ = finished
    lines = [message for _, message in run.records(f"otlp_grpc/{name}")]
    right = [line for line in lines if LINES[name][0] in line]
    others = [line for line in lines if line not in right]
    assert len(right) == 1 and len(others) <= 1, "\n".join(lines)
    assert all(any(text in line for text in _HURRIED) for line in others), others


@pytest.mark.sanitized
@pytest.mark.parametrize("name", list(LINES))
def test_all_of_it_is_counted_as_lost(finished, name):
    run, profile = finished
    balance = run.balances_by_exporter()[f"otlp_grpc/{name}"]
    assert balance.exported == 0
    assert balance.dropped == {LINES[name][1]: profile.count}
