# SPDX-License-Identifier: Apache-2.0
"""From raw measurements to figures and tables."""
import pathlib

import figures
import perf_record
import pytest
import report


def _counts(observations, frames=0):
    return {
        "observations": observations,
        "complete": 900,
        "incomplete": 900,
        "frames": frames,
        "native_frames": 1000,
        "native_frames_named": 250,
    }


def measurement(profiler="profcol", number=1, observations=1900, **changes):
    """One of 10 s: 2000 samples due, and round figures elsewhere."""
    return {
        "key": f"deep@99 round {number} {profiler}",
        "case": "deep@99",
        "profiler": profiler,
        "round": number,
        "seconds": 10.0,
        "due": {"idle": 500, "kernel": 100, "user": 1900, "names": {}},
        "cpu": {"total_s": 0.2, "user_s": 0.15, "system_s": 0.05},
        "memory": {"peak_rss_bytes": 8 << 20, "peak_anonymous_bytes": 2 << 20},
        "start": {"seconds": 5.5, "cpu_s": 0.25},
        "load": {"seconds": 10.0, "units": {"deep": 900}, "checksums": {"deep": "f00"}},
        "bpf": {
            "programs": [
                {"type": figures.BPF_PROG_TYPE_PERF_EVENT, "run_time_ns": 10**7, "run_cnt": 2500},
                {"type": 17, "run_time_ns": 2500, "run_cnt": 7},
            ],
            "maps": [{"bytes": 1 << 20}, {"bytes": 1 << 19}],
        },
        "wire": {"raw_bytes": 200_000, "wire_bytes": 50_000, "observations": 2000},
        "summary": {
            "all": _counts(observations, frames=19_000),
            "programs": {"deep": _counts(observations - 5), "sh": _counts(5)},
        },
    } | changes


BARE = measurement("none", cpu=None) | {
    "load": {"seconds": 10.0, "units": {"deep": 990}, "checksums": {"deep": "f00"}}
}


def test_each_figure_of_a_measurement():
    summary = figures.summarize({1: measurement()}, {1: BARE})
    medians = {key: spread.median for key, spread in summary.items()}
    assert medians == pytest.approx(
        {
            "delivered": 0.95,
            "complete": 0.5,
            "named": 0.25,
            "depth": 10,
            "bpf_interrupt": (10**7 + 2500) / 2500,
            "bpf_frame": (10**7 + 2500) / 19_000,
            "user": 0.15 / 1900,
            "system": 0.05 / 1900,
            "agent": 0.02,
            "cost": (0.2 + 0.0100025) / 10,
            "rss": 8 << 20,
            "anonymous": 2 << 20,
            "maps": 3 << 19,
            "raw": 100,
            "wire": 25,
            "start": 5.5,
            "start_cpu": 0.25,
            "slowdown": 0.1,
        }
    )


def test_what_was_not_measured_is_no_figure():
    bare = figures.summarize({1: BARE | {"summary": {}, "bpf": {"programs": [], "maps": []}}}, {})
    assert bare["delivered"] is None and bare["slowdown"] is None and bare["user"] is None


def test_a_spread_is_of_the_known_values():
    assert figures.spread([3, None, 1, 2]) == figures.Spread(2, 1, 3, 3)
    assert figures.spread([None]) is None


def test_slowdown_weighs_programs_alike():
    fast = {"seconds": 1, "units": {"a": 1000, "b": 10, "gone": 5}}
    slow = {"seconds": 2, "units": {"a": 1000, "b": 20, "gone": 0}}
    value = figures.slowdown({"load": slow}, {"load": fast})
    assert value == pytest.approx(2**0.5 - 1)


def test_loads_that_did_other_work_are_told():
    other = measurement(number=2)
    other["load"] = other["load"] | {"checksums": {"deep": "bad"}}
    assert figures.unequal_work([BARE, measurement()]) == []
    assert figures.unequal_work([BARE, other]) == [
        "deep came to bad in deep@99 round 2 profcol, to f00 in deep@99 round 1 none"
    ]


@pytest.mark.parametrize(
    "value, text",
    [(0, "0"), (0.00001, "0"), (0.0123, "0.012"), (0.5, "0.50"), (12.34, "12.3"),
     (1234.5, "1,234"), (-3.21, "-3.21")],
)  # fmt: skip
def test_numbers_have_three_digits(value, text):
    assert report.number(value) == text


def test_percent_of_few_samples_have_no_decimals():
    spread = figures.Spread(0.9564, 0.951, 0.96, 3)
    assert report.cell(spread, "%") == "95.6 (95.1…96.0)"
    assert report.cell(spread, "%", tenths=False) == "96 (95…96)"
    assert report.cell(None, "%") == "–"


def _result(*measurements):
    return {
        "identity": {"commit": "abc", "rounds": 2, "seconds": 10},
        "machine": {
            "cpus": 2,
            "model": "a CPU",
            "memory_mib": 2048,
            "kernel": "6.18",
            "versions": {"profcol": "profcol version 1"},
        },
        "finished": "2026-11-21",
        "measurements": list(measurements),
    }


def test_the_table_has_medians_spread_and_ratio():
    text = report.tables(
        _result(
            BARE,
            measurement(observations=1900),
            measurement(number=2, observations=1800),
            measurement("reference", observations=1000),
        )
    )
    assert "### deep@99" in text
    assert "Samples due: profcol 4,000 (rounds: 2), reference 2,000 (rounds: 1)." in text
    assert "| samples delivered / due, % | 92 (90…95) | 50 | 1.85 |" in text
    assert "| peak RSS, MiB | 8.00 | 8.00 | 1.00 |" in text
    # Nobody measured the second round without a profiler.
    assert "| slowdown of the load, % | 10.0 | 10.0 | – |" in text
    assert "| `deep` | 3,690 | 995 | 50 % | 50 % | 25 % | 25 % |" in text
    assert "`sh`" not in text


def test_a_failure_is_in_the_table():
    text = report.tables(_result({"key": "deep@99 round 1 perf", "failed": "no perf\nat all"}))
    assert "- deep@99 round 1 perf: no perf\n" in text


def test_the_table_goes_between_the_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.write_docs(page, "new")
    assert page.read_text() == f"before\n{report.BEGIN}\n\nnew\n{report.END}\nafter\n"
    docs = pathlib.Path(__file__).resolve().parents[2] / "docs/performance.md"
    page.write_text(docs.read_text())
    report.write_docs(page, "new")
    page.write_text("no markers")
    with pytest.raises(ValueError, match="lacks the lines"):
        report.write_docs(page, "new")


def test_perf_samples_of_busy_cpus_within_the_window_count():
    text = """
      0 10.000000000:
	ffffffff81000000 pv_native_safe_halt ([kernel.kallsyms])

   7828 10.500000000:
	ffffffff81000000 do_syscall_64 ([kernel.kallsyms])
	    7f5f91ba04ad operator()(int) (/usr/lib/libc.so.6)
	           5c6e0 [unknown] (/tmp/a file (deleted))
	636e65646e657065 [unknown] ([unknown])
	    7f5f91ba04ae [unknown] (//anon)

     -1 10.600000000:
	ffffffff81000000 ret_from_fork ([kernel.kallsyms])

   7828 12.000000000:
	           5c6e0 main (/usr/bin/true)
"""
    assert perf_record.parse_script(text, 10 * 10**9, 11 * 10**9) == {
        "recorded": 4,
        "observations": 2,
        "frames": 6,
        "native_frames": 2,
        "native_frames_named": 1,
    }
