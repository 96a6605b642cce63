# SPDX-License-Identifier: Apache-2.0
"""Configurations of the exporter under test, and what its peers and its run say of it."""
import dataclasses

from waiting import wait_until


def otlp_to(address, **options):
    """An exporter that tries again quickly, and waits for an answer as long as a busy machine takes;
    `options` are its own and come first.
    """
    defaults = {
        "endpoint": address,
        "timeout": "30s",
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


@dataclasses.dataclass(frozen=True)
class Books:
    """Samples that one exporter was given, and where its metrics say they are."""

    accepted: int
    sent: int
    dropped: dict  # by cause
    queued: int

    def are_balanced(self):
        return self.accepted == self.sent + sum(self.dropped.values()) + self.queued


def _read_books(run):
    metrics = run.metrics()

    def books(exporter):
        dropped = metrics.of("profcol_exporter_dropped_profile_samples")
        return Books(
            accepted=metrics.value("profcol_exporter_accepted_profile_samples", exporter=exporter),
            sent=metrics.value("otelcol_exporter_sent_profile_samples", exporter=exporter),
            dropped={row["cause"]: n for row, n in dropped if row["exporter"] == exporter},
            queued=metrics.value("profcol_exporter_queue_profile_samples", exporter=exporter),
        )

    accepted = metrics.of("profcol_exporter_accepted_profile_samples")
    return {labels["exporter"]: books(labels["exporter"]) for labels, _ in accepted}


def balanced_books(run):
    """Books by exporter of a run that goes on: accepted = sent + dropped + queued of each.

    A scrape reads one figure after another while samples move on; wrong books stay wrong in all.
    """
    balanced, last = {}, {}

    def all_are():
        last.update(_read_books(run))
        balanced.update({name: books for name, books in last.items() if books.are_balanced()})
        return bool(last) and balanced.keys() == last.keys()

    try:
        wait_until(all_are, "books that are balanced")
    except TimeoutError as error:
        wrong = {name: books for name, books in last.items() if name not in balanced}
        raise AssertionError(f"{error}: {wrong}") from None
    return balanced
