# SPDX-License-Identifier: Apache-2.0
"""From measurements of gateways to their tables."""
import gateway_figures


def _sent(count, **changes):
    counts = {"profiles": 2, "samples": 10, "observations": count}
    arrived = counts | {"wire_bytes": 5 * count} | changes
    more = {"seconds": 2.0, "requests": 20, "refused": 0, "raw_bytes": 4 << 20}
    return counts | more | {"arrived": arrived}


def _measurement(subject, number, observations, cpu_s=2.0):
    return {
        "case": "a capture, gzip in and out",
        "subject": subject,
        "round": number,
        "sent": _sent(observations),
        "cpu_s": cpu_s,
        "peak_rss_bytes": 32 << 20,
    }


def _result(measurements):
    machine = {
        "cpus": 2,
        "model": "a CPU",
        "memory_mib": 8000,
        "l3_kib": None,
        "kernel": "6.1",
        "versions": {"profcol": "1", "Collector": "2"},
    }
    identity = {"commit": "abc", "seconds": 10, "clients": 8, "window": 64}
    return {
        "machine": machine,
        "identity": identity,
        "finished": "2026-01-01",
        "measurements": measurements,
    }


def _rows(text):
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return {line[0]: line[1:] for line in lines}


def test_a_sample_that_does_not_arrive_is_noticed():
    assert gateway_figures.lost(_sent(1000)) is None
    assert "1000 observations were accepted, 999 arrived" in gateway_figures.lost(
        _sent(1000, observations=999)
    )
    assert "9 arrived" in gateway_figures.lost(_sent(1000, samples=9))


def test_figures_are_medians_over_the_gateways_cpu_time():
    measurements = [
        _measurement("profcol", 1, 4000),
        _measurement("collector", 1, 1000),
        _measurement("profcol", 2, 8000),
        _measurement("collector", 2, 1000),
        _measurement("profcol", 3, 3000),
    ]
    rows = _rows(gateway_figures.tables(_result(measurements)))
    assert rows["samples per CPU second"] == ["2,000 (1,500…4,000)", "500", "4.00"]
    assert rows["MiB per CPU second, uncompressed"] == ["2.00", "2.00", "1.00"]
    assert rows["peak RSS, MiB"] == ["32.0", "32.0", "1.00"]
    assert rows["bytes sent on per sample"] == ["5.00", "5.00", "1.00"]


def test_a_failure_is_named_and_no_figure_comes_from_it():
    failed = {"case": "a capture, gzip in and out", "subject": "profcol", "round": 1}
    failed["failed"] = "the gateway ended with 1; see its log\nmore"
    text = gateway_figures.tables(_result([failed, _measurement("collector", 1, 1000)]))
    assert _rows(text)["samples per CPU second"] == ["–", "500", "–"]
    assert "profcol, round 1: the gateway ended with 1; see its log\n" in text
