# SPDX-License-Identifier: Apache-2.0
"""From raw measurements to figures and tables."""
import pathlib

import comparison
import figures
import perf_record
import pytest
import report
import sink


def _counts(observations, frames=0):
    return {
        "observations": observations,
        "complete": 900,
        "incomplete": 900,
        "settled_complete": 594,
        "settled_incomplete": 6,
        "frames": frames,
        "native_frames": 1000,
        "native_frames_named": 250,
        "nameable_frames": 300,
        "nameable_frames_named": 240,
    }


def _cut(program, through, reason, settled):
    return {
        "program": program,
        "through": through,
        "reason": reason,
        "settled": settled,
        "observations": 10 * settled,
    }


def measurement(profiler="profcol", number=1, observations=1900, **changes):
    """One of 10 s: 2000 samples due, and round figures elsewhere."""
    return {
        "key": f"deep@99 round {number} {profiler}",
        "case": "deep@99",
        "profiler": profiler,
        "round": number,
        "seconds": 10.0,
        "due": {"idle": 500, "kernel": 100, "user": 1890, "other": 10, "names": {"sh": 10}},
        "cpu": {"total_s": 0.2, "user_s": 0.15, "system_s": 0.05},
        "wakeups": {"drain": 100, "processes": 25},
        "threads_cpu_s": {"drain": 0.05, "processes": 0.15},
        "ends": {
            "start": {"rss_bytes": 4 << 20, "descriptors": 30},
            "end": {"rss_bytes": 5 << 20, "descriptors": 31},
        },
        "memory": {
            "peak_rss_bytes": 8 << 20,
            "peak_sum_rss_bytes": 6 << 20,
            "peak_anonymous_bytes": 2 << 20,
        },
        "start": {"sampled_s": 0.5, "seconds": 5.5, "cpu_s": 0.25},
        "load": {"seconds": 10.0, "units": {"deep": 900}, "checksums": {"deep": "f00"}},
        "bpf": {
            "programs": [
                {"type": figures.BPF_PROG_TYPE_PERF_EVENT, "run_time_ns": 10**7, "run_cnt": 2500},
                {"type": 17, "run_time_ns": 2500, "run_cnt": 7},
            ],
            "maps": [{"bytes": 1 << 20}, {"bytes": 1 << 19}],
            "maps_at_start": [{"bytes": 1 << 20}],
        },
        "wire": {"raw_bytes": 200_000, "wire_bytes": 50_000, "observations": 2000},
        "summary": {
            "all": _counts(observations, frames=19_000),
            "programs": {"deep": _counts(observations - 5), "sh": _counts(5)},
            "native_programs": {
                "deep_work": _counts(995) | {"settled_incomplete": 0},
                "sh": _counts(5),
            },
            "through": {
                "native": _counts(1000) | {"settled_incomplete": 0},
                "HotSpot": _counts(900) | {"settled_complete": 100, "settled_incomplete": 100},
            },
            "cuts": [
                _cut("deep", "native", "[a reason]", 6),
                _cut("java", "HotSpot", "jvm f(a|b)", 2),
            ],
        },
    } | changes


BARE = measurement("none", cpu=None) | {
    "load": {"seconds": 10.0, "units": {"deep": 990}, "checksums": {"deep": "f00"}}
}


def _reference(counters, **changes):
    found = measurement("reference")
    types = {"frame_types": {"kernel": {"frames": 1000}, "jvm": {"frames": 9000}}}
    bpf = found["bpf"] | {"counters": {"metrics": counters} if counters else {}}
    return found | {"bpf": bpf, "summary": found["summary"] | types} | changes


def test_what_is_told_apart_in_user_space_was_walked_as_one_frame():
    counters = [10**6] * 100
    for place in figures.WALKED["reference"][1]:
        counters[place] = 0
    counters[6], counters[7], counters[42] = 7000, 1500, 500
    summary = figures.summarize({1: _reference(counters)}, {1: BARE})
    assert summary["bpf_frame"].value == pytest.approx((10**7 + 2500) / 19_000)
    assert summary["bpf_walked"].value == pytest.approx((10**7 + 2500) / 10_000)
    assert figures.summarize({1: _reference([])}, {1: BARE})["bpf_walked"] is None
    failed = {1: _reference(counters, bpf=None)}
    del failed[1]["bpf"]
    assert figures.summarize(failed, {1: BARE})["bpf_walked"] is None


def test_each_figure_of_a_measurement():
    summary = figures.summarize({1: measurement()}, {1: BARE})
    medians = {key: spread.value for key, spread in summary.items() if spread}
    assert medians == pytest.approx(
        {
            "delivered": 0.95,
            "complete": 0.5,
            "settled": 0.99,
            "native": 1,
            "named": 0.25,
            "nameable": 0.8,
            "depth": 10,
            "bpf_interrupt": (10**7 + 2500) / 2500,
            "bpf_frame": (10**7 + 2500) / 19_000,
            "bpf_walked": (10**7 + 2500) / 19_000,
            "user": 0.15 / 1900,
            "system": 0.05 / 1900,
            "agent": 0.02,
            "cost": (0.2 + 0.0100025) / 10,
            "wakeups": 12.5,
            "rss": 8 << 20,
            "sum_rss": 6 << 20,
            "anonymous": 2 << 20,
            "rss_start": 4 << 20,
            "rss_end": 5 << 20,
            "maps_start": 1 << 20,
            "maps": 3 << 19,
            "rss_maps": 13 << 19,
            "files_start": 30,
            "files_end": 31,
            "raw": 100,
            "wire": 25,
            "sampled": 0.5,
            "start": 5.5,
            "start_cpu": 0.25,
            "slowdown": 0.1,
        }
    )


def test_cpu_time_is_told_by_process_where_processes_are_the_work():
    # 900 processes in the 9 s of the load, of which 10 s were looked at, are 1000.
    load = {"seconds": 9.0, "units": {"storm": 900}}
    storm = measurement(case="storm@99", load=load)
    assert figures.cpu_per_process(storm, None) == pytest.approx(0.2 / 1000)
    assert figures.cpu_per_process(measurement(), None) is None
    assert figures.cpu_per_process(measurement(case="storm@99", load=load, cpu=None), None) is None
    idle = {"seconds": 9.0, "units": {"storm": 0}}
    assert figures.cpu_per_process(measurement(case="storm@99", load=idle), None) is None


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


def test_shares_are_of_all_rounds_together():
    assert figures.pooled([(900, 1000), None, (5000, 10_000)]) == figures.Spread(
        5900 / 11_000, 0.5, 0.9, 2, exact=True
    )
    assert not figures.pooled([(5000, 9_999)]).exact
    assert figures.pooled([(99, 99), (0, 0)]) is None


def test_shares_of_few_have_no_decimals_and_are_marked():
    spread = figures.Spread(0.9564, 0.951, 0.96, 3)
    assert report.cell(spread, "%") == "95.6 (95.1…96.0)"
    rough = figures.Spread(0.9564, 0.951, 0.96, 3, exact=False)
    assert report.cell(rough, "%") == "≈ 96 (95…96)"
    assert report.cell(None, "%") == "–"


def _result(*measurements):
    return {
        "identity": {"commit": "abc", "rounds": 2, "seconds": 10},
        "machine": {
            "cpus": 2,
            "model": "a CPU",
            "memory_mib": 2048,
            "l3_kib": 32768,
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
    dues = "Samples due: profcol 4,000 (rounds: 2), reference 2,000 (rounds: 1)."
    assert f"Windows of 10 s. {dues}" in text
    assert "Of other programs: 0.5 % at most." in text and "quiet" not in text
    assert "| samples delivered / due, % | ≈ 92 (90…95) | ≈ 50 | ≈ 1.85 |" in text
    assert "| peak RSS, all at one moment, MiB | 6.00 | 6.00 | 1.00 |" in text
    # Nobody measured the second round without a profiler.
    assert "| slowdown of the load, % | 10.0 | 10.0 | – |" in text
    assert "| `deep` | 3,690 | 995 | ≈ 50 % | ≈ 50 % | ≈ 99 % | ≈ 99 % | ≈ 25 % | ≈ 25 % |" in text
    assert "| `sh`" not in text
    # The busiest first.
    drain = "| profcol | `drain` | 0.50 | 10.0 |"
    assert f"| profcol | `processes` | 1.50 | 2.50 |\n{drain}\n| reference |" in text


def test_stacks_through_runtimes_are_told_apart():
    text = report.tables(_result(measurement(), measurement("reference")))
    native = "| native and Go | 1,000 | 1,000 | ≈ 50 % | ≈ 50 % | 594 | 594 | ≈ 100 % | ≈ 100 % |"
    hotspot = "| through HotSpot | 900 | 900 | ≈ 50 % | ≈ 50 % | 200 | 200 | ≈ 50 % | ≈ 50 % |"
    assert f"{native}\n{hotspot}\n" in text


def test_where_stacks_end_is_told_with_the_settled_ones_first():
    late = measurement(number=2)
    late["summary"] = late["summary"] | {"cuts": [_cut("java", "HotSpot", "jvm f(a|b)", 9)]}
    text = report.tables(_result(measurement(), late))
    hotspot = r"| profcol | `java` | HotSpot | `jvm f(a\|b)` | 11 | 110 |"
    assert f"{hotspot}\n| profcol | `deep` | native | `[a reason]` | 6 | 60 |\n" in text


def test_each_column_has_decimals_by_its_own_count():
    plenty = {"idle": 0, "kernel": 0, "user": 20_000, "other": 0, "names": {}}
    text = report.tables(
        _result(
            measurement(observations=19_980, due=plenty),
            measurement("perf", due=plenty | {"user": 2000}),
        )
    )
    assert "| samples delivered / due, % | 99.9 | ≈ 95 |" in text


def test_a_machine_that_was_not_quiet_is_told():
    due = {"idle": 0, "kernel": 0, "user": 1800, "other": 200, "names": {"cc1": 150, "sh": 50}}
    text = report.tables(_result(measurement(due=due)))
    assert "- deep@99 round 1 profcol: 10.0 % (`cc1` 150, `sh` 50)" in text


def test_programs_that_are_not_installed_are_told():
    load = measurement()["load"] | {"left_out": ["node"]}
    text = report.tables(_result(measurement(load=load)))
    assert "Left out, as it is not installed: node." in text


def test_requests_of_the_window_count_for_the_wire():
    keys = (
        "first_unix_nano", "last_unix_nano", "observations", "events", "raw_bytes", "wire_bytes"
    )  # fmt: skip
    lines = [(1, 9, 5, 5, 50, 20), (9, 12, 5, 5, 60, 30), (19, 22, 2, 7, 70, 40),
             (20, 25, 1, 1, 9, 8), (0, 0, 0, 0, 3, 2)]  # fmt: skip
    requests = [dict(zip(keys, line, strict=True)) for line in lines]
    assert sink.wire(requests, 10, 20) == {
        "requests": 2, "raw_bytes": 130, "wire_bytes": 70, "observations": 12,
    }  # fmt: skip


def test_of_what_is_sent_as_counts_only_the_bytes_are_told():
    counted = {"case": "mixed@99-counted", "counted": True}
    text = report.tables(_result(measurement(**counted), measurement("reference", **counted)))
    assert "### mixed@99-counted" in text
    rows = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| b")]
    assert rows == ["| bytes per sample, raw, B", "| bytes per sample, gzip, B"]
    # Head, line and these two; its observations are none, so there are no programs either.
    assert len([line for line in text.splitlines() if line.startswith("|")]) == 4


def test_two_runs_beside_each_other():
    second = measurement(observations=950)
    second["memory"] = second["memory"] | {"peak_sum_rss_bytes": 9 << 20}
    text = comparison.two_runs(_result(measurement()), _result(second))
    assert "| samples delivered / due, % | ≈ 95 | ≈ 48 | -47.5 points |" in text
    assert "| peak RSS, all at one moment, MiB | 6.00 | 9.00 | +50.0 % |" in text
    other = measurement(case="idle@99")
    with pytest.raises(ValueError, match="no case in common"):
        comparison.two_runs(_result(measurement()), _result(other))


def test_the_reference_beside_what_it_was_earlier():
    now = measurement("reference", case="mixed@99")
    text = comparison.with_earlier(_result(now))
    assert "| mixed@99 | frames per sample | 22.5 | 10.0 | 0.44 |" in text
    assert "mixed@99 | bytes per sample, raw, B | 102 | 100 | 0.98 |" in text
    assert comparison.with_earlier(_result(measurement())) == ""


def test_a_failure_is_in_the_table():
    text = report.tables(_result({"key": "deep@99 round 1 perf", "failed": "no perf\nat all"}))
    assert "- deep@99 round 1 perf: no perf\n" in text
    text = report.tables(_result({"key": "deep@99 round 1 perf", "failed": ""}))
    assert "- deep@99 round 1 perf: ?\n" in text


@pytest.mark.parametrize("section", ["table", "earlier", "runs"])
def test_tables_go_between_the_markers(tmp_path, section):
    page = tmp_path / "page.md"
    begin, end = report.BEGIN.format(section), report.END.format(section)
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    report.write_docs(page, "new", section)
    assert page.read_text() == f"before\n{begin}\n\nnew\n{end}\nafter\n"
    docs = pathlib.Path(__file__).resolve().parents[2] / "docs/performance.md"
    page.write_text(docs.read_text())
    report.write_docs(page, "new", section)
    page.write_text("no markers")
    with pytest.raises(ValueError, match="lacks the lines"):
        report.write_docs(page, "new", section)


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


def test_a_run_without_a_cut_stack():
    without = measurement()
    without["summary"]["cuts"] = None
    assert figures.sum_cuts({1: without}) == {}
