# SPDX-License-Identifier: Apache-2.0
"""A run beside another one, and the reference beside its earlier figures. Pure functions."""
import figures
import report

# The reference's v0.0.202633 on two CPUs under Linux 6.18, an exporter to a file, one run each:
# by case and figure, of loads that are the same today. Seconds of CPU are over the samples
# delivered in that run.
EARLIER = {
    "mixed@99": {
        "delivered": 0.974,
        "depth": 22.5,
        "bpf_interrupt": 43_000,
        "user": 0.90 / 11_568,
        "system": 0.78 / 11_568,
        "rss": 102e6,
        "anonymous": 29e6,
        "maps": 52.6e6,
        "raw": 102.5,
        "wire": 36.5,
        "sampled": 2.4,  # that was until its first program was attached
    },
    "storm@99": {
        "bpf_interrupt": 12_000,
        "user": 0.31 / 106,
        "system": 0.58 / 106,
        "rss": 97e6,
        "anonymous": 45e6,
        "maps": 47.5e6,
        "raw": 409,
        "wire": 202,
    },
}


def _summaries(result):
    """{case: {profiler: {figure: Spread or None}}}."""
    found = {}
    for case, profilers_rounds in figures.by_case(result["measurements"]).items():
        bare = profilers_rounds.get("none", {})
        found[case] = {
            name: figures.summarize(profilers_rounds[name], bare)
            for name in report.COLUMNS
            if name in profilers_rounds
        }
    return found


def _difference(figure, one, other):
    """By how much the second differs: in percent of the first, or in percent points."""
    if figure.unit == "%":
        points = 100 * (other.value - one.value)
        return f"{points:+.1f} points"
    return f"{100 * (other.value / one.value - 1):+.1f} %" if one.value else "–"


def _run_cells(figure, one, other):
    if one is None or other is None:
        return None
    texts = [report.scaled(each.value, figure.unit, each.exact) for each in (one, other)]
    return [*texts, _difference(figure, one, other)]


def _case(case, one, other):
    profilers = [name for name in report.COLUMNS if name in one and name in other]
    rows = []
    for figure in figures.FIGURES:
        cells = [_run_cells(figure, one[p][figure.key], other[p][figure.key]) for p in profilers]
        if any(cells):
            rows.append([report.label(figure), *(x for c in cells for x in c or ["–"] * 3)])
    columns = (f"{report.COLUMNS[p]}, {what}" for p in profilers for what in ("1", "2", "2 to 1"))
    return f"### {case}\n\n" + report.table(["", *columns], rows)


def two_runs(first, second):
    """Every figure of both, and the difference, for the cases that both measured; Markdown."""
    one, other = _summaries(first), _summaries(second)
    tables = [_case(case, one[case], other[case]) for case in one if case in other]
    if not tables:
        raise ValueError("the two results have no case in common")
    heads = [
        f"Run {number}: commit {result['identity']['commit']}, {result['finished']}."
        for number, result in enumerate((first, second), 1)
    ]
    return "\n\n".join([" ".join(heads), *tables]) + "\n"


def with_earlier(result):
    """The reference's figures of a run beside the earlier ones; Markdown, "" without any."""
    rows = []
    for case, profilers in _summaries(result).items():
        summary = profilers.get("reference", {})
        for figure in figures.FIGURES:
            earlier, now = EARLIER.get(case, {}).get(figure.key), summary.get(figure.key)
            if earlier is None or now is None:
                continue
            texts = [report.scaled(each, figure.unit) for each in (earlier, now.value)]
            rows.append([case, report.label(figure), *texts, report.number(now.value / earlier)])
    if not rows:
        return ""
    head = ["case", "figure", "earlier", "this run", "this run / earlier"]
    return report.table(head, rows) + "\n"
