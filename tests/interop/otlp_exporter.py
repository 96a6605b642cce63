# SPDX-License-Identifier: Apache-2.0
"""Configurations of the exporter under test, and what its peers and its run say of it."""


def otlp_to(address, **options):
    """An exporter that tries again quickly; `options` are its own and come first."""
    defaults = {
        "endpoint": address,
        "tls": {"insecure": True},
        "retry_on_failure": {"initial_interval": "20ms", "max_interval": "200ms"},
    }
    return defaults | options


def forwarding(address, exporter):
    """A configuration: from a receiver at `address` to a peer."""
    grpc = {"endpoint": address, "max_recv_msg_size_mib": 64}
    return {
        "receivers": {"otlp": {"protocols": {"grpc": grpc}}},
        "exporters": {"otlp_grpc": exporter},
        "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_grpc"]}}},
    }


def received(sink):
    """How many observations it has taken."""
    return sum(
        request["observations"] for request in sink.requests() if request["answer"] == "ok"
    )
