# SPDX-License-Identifier: Apache-2.0
"""From the measurements of gateways to their tables. Pure functions."""
import figures
import report

COLUMNS = {"profcol": "profcol", "collector": "Collector"}


def per_cpu_second(key):
    """Of what the sender counted, by the CPU time of the gateway."""
    return lambda measurement: measurement["sent"][key] / measurement["cpu_s"]


# Label, unit of the report, value of a measurement. `sent` has all that was accepted; it has
# arrived, else there is no measurement.
FIGURES = (
    ("samples per CPU second", "", per_cpu_second("observations")),
    ("MiB per CPU second, uncompressed", "MiB", per_cpu_second("raw_bytes")),
    ("requests per CPU second", "", per_cpu_second("requests")),
    ("peak RSS, MiB", "MiB", lambda measurement: measurement["peak_rss_bytes"]),
    ("samples per second", "", lambda each: each["sent"]["observations"] / each["sent"]["seconds"]),
    (
        "bytes sent on per sample",
        "",
        lambda each: each["sent"]["arrived"]["wire_bytes"] / each["sent"]["observations"],
    ),
    ("requests refused, to be tried again", "", lambda measurement: measurement["sent"]["refused"]),
)


def lost(sent):
    """What says that not exactly the samples sent have arrived; None when they have."""
    for key in ("samples", "observations"):
        if sent[key] != sent["arrived"][key]:
            return f"{sent[key]} {key} were accepted, {sent['arrived'][key]} arrived"
    return None


def _by_case(measurements):
    """{case: {subject: [measurement]}}, of those that succeeded."""
    found = {}
    for each in measurements:
        if "failed" not in each:
            subjects = found.setdefault(each["case"], {})
            subjects.setdefault(each["subject"], []).append(each)
    return found


def _row(label, unit, value, subjects):
    spreads = {
        name: figures.spread([value(each) for each in subjects.get(name, [])]) for name in COLUMNS
    }
    quotient = figures.ratio(spreads["profcol"], spreads["collector"])
    cells = [report.cell(spreads[name], unit) for name in COLUMNS]
    return [label, *cells, "–" if quotient is None else report.number(quotient)]


def case_table(name, subjects):
    """The figures of one case."""
    head = ["", *COLUMNS.values(), "profcol / Collector"]
    rounds = ", ".join(f"{COLUMNS[key]} {len(subjects.get(key, []))}" for key in COLUMNS)
    table = report.table(head, [_row(*figure, subjects) for figure in FIGURES])
    return f"### {name}\n\nRounds: {rounds}.\n\n{table}"


def tables(result):
    """All tables of a result, as Markdown."""
    identity = result["identity"]
    parts = [
        f"{report.provenance(result)}"
        f" {identity['clients']} clients sent for {identity['seconds']} s, no more than"
        f" {identity['window']} requests on their way.",
        "Each cell is the median of the rounds, with the least and the most of them.",
    ]
    parts += [
        case_table(name, subjects) for name, subjects in _by_case(result["measurements"]).items()
    ]
    parts += report.failures(
        result["measurements"],
        lambda each: f"{each['case']}, {each['subject']}, round {each['round']}",
    )
    return "\n\n".join(parts) + "\n"
