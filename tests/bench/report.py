# SPDX-License-Identifier: Apache-2.0
"""The tables. Pure functions, but for write_docs."""
import figures

BEGIN = "<!-- table: written by `bench.py --write-docs` -->"
END = "<!-- end of table -->"

COLUMNS = {"profcol": "profcol", "reference": "reference", "perf": "`perf record -g`"}
_BOTH = {"profcol", "reference"}
_SCALES = {"%": 100, "us": 1e6, "MiB": 1 / (1 << 20)}
_LABELS = {"us": "µs"}

# Of programs below this share of the samples, and of more programs than these, only the result
# tells.
LEAST_PROGRAM_SHARE = 0.01
MOST_PROGRAMS = 12


def number(value):
    """Three digits that count, and never an exponent."""
    if value == 0:
        return "0"
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 3
    text = f"{value:,.{digits}f}"
    return "0" if float(text.replace(",", "")) == 0 else text


def cell(spread, unit, tenths=True):
    """`median (least…most)`, or a dash; percent of few samples without decimals."""
    if spread is None:
        return "–"
    scale = _SCALES.get(unit, 1)

    def text(value):
        return number(value * scale) if tenths else f"{value * scale:.0f}"

    if spread.count == 1 or spread.least == spread.most:
        return text(spread.median)
    return f"{text(spread.median)} ({text(spread.least)}…{text(spread.most)})"


def _row(figure, summaries, profilers, due):
    tenths = figure.key != "delivered" or due >= figures.DUE_FOR_TENTHS
    label = figure.label
    if figure.unit:
        label += f", {_LABELS.get(figure.unit, figure.unit)}"
    cells = [cell(summaries[name][figure.key], figure.unit, tenths) for name in profilers]
    if all(each == "–" for each in cells):
        return None
    if _BOTH <= set(profilers):
        cells.append(_quotient(figure, summaries))
    return [label, *cells]


def _quotient(figure, summaries):
    # A slowdown is near zero: the quotient of two of them says nothing.
    if figure.key == "slowdown":
        return "–"
    value = figures.ratio(summaries["profcol"][figure.key], summaries["reference"][figure.key])
    return "–" if value is None else number(value)


def _table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def case_table(name, profilers_rounds):
    """The figures of one case."""
    bare = profilers_rounds.get("none", {})
    profilers = [each for each in COLUMNS if each in profilers_rounds]
    summaries = {each: figures.summarize(profilers_rounds[each], bare) for each in profilers}
    counts = {each: sum(map(figures.due, profilers_rounds[each].values())) for each in profilers}
    due = min(counts.values())
    rows = [_row(figure, summaries, profilers, due) for figure in figures.FIGURES]
    head = ["", *(COLUMNS[each] for each in profilers)]
    if _BOTH <= set(profilers):
        head.append("profcol / reference")
    dues = ", ".join(
        f"{each} {counts[each]:,} (rounds: {len(profilers_rounds[each])})" for each in profilers
    )
    return f"### {name}\n\nSamples due: {dues}.\n\n" + _table(head, [row for row in rows if row])


def _percent(counts, part, *whole):
    total = sum(counts.get(key, 0) for key in whole)
    return f"{100 * counts.get(part, 0) / total:.0f} %" if total else "–"


def program_table(profilers_rounds):
    """Samples, complete stacks and named frames by program, over all rounds; "" without any."""
    profilers = [each for each in ("profcol", "reference") if each in profilers_rounds]
    sums = {each: figures.sum_programs(profilers_rounds[each]) for each in profilers}
    totals = {
        each: sum(counts.get("observations", 0) for counts in sums[each].values())
        for each in profilers
    }
    shares = {}
    for each in profilers:
        for name, counts in sums[each].items():
            share = counts.get("observations", 0) / max(totals[each], 1)
            shares[name] = max(share, shares.get(name, 0))
    names = [name for name, share in shares.items() if share >= LEAST_PROGRAM_SHARE]
    rows = []
    for name in sorted(names, key=lambda name: -shares[name])[:MOST_PROGRAMS]:
        row = [name if name == figures.KERNEL_THREADS else f"`{name}`"]
        counts = [sums[each].get(name, {}) for each in profilers]
        row += [f"{each.get('observations', 0):,}" for each in counts]
        row += [_percent(each, "complete", "complete", "incomplete") for each in counts]
        row += [_percent(each, "native_frames_named", "native_frames") for each in counts]
        rows.append(row)
    if not rows:
        return ""
    head = [""] + [
        f"{label}, {each}" for label in ("samples", "complete", "named") for each in profilers
    ]
    return _table(head, rows)


def tables(result):
    """All tables of a result, as Markdown."""
    parts = [_provenance(result)]
    for name, profilers_rounds in figures.by_case(result["measurements"]).items():
        if not set(COLUMNS) & set(profilers_rounds):
            continue
        parts.append(case_table(name, profilers_rounds))
        if programs := program_table(profilers_rounds):
            parts.append(programs)
    failed = [each for each in result["measurements"] if "failed" in each]
    if failed:
        lines = [f"- {each['key']}: {each['failed'].splitlines()[0]}" for each in failed]
        parts.append("Measurements that failed:\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _provenance(result):
    identity, machine = result["identity"], result["machine"]
    versions = "; ".join(f"{name}: {text}" for name, text in machine["versions"].items())
    return (
        f"Commit {identity['commit']}, {result['finished']}; {machine['cpus']} CPUs"
        f" ({machine['model']}), {machine['memory_mib']:,} MiB, Linux {machine['kernel']}."
        f" Windows of {identity['seconds']} s. {versions}.\n\n"
        "Each cell is the median of the rounds, with the least and the most of them."
    )


def write_docs(path, text):
    """Put the tables between the markers of a page."""
    page = path.read_text()
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} lacks the lines {BEGIN!r} and {END!r}")
    path.write_text(f"{head}{BEGIN}\n\n{text}\n{END}{tail}")
