# SPDX-License-Identifier: Apache-2.0
"""The tables. Pure functions, but for write_docs."""
import figures

BEGIN = "<!-- {}: written by `bench.py --write-docs` -->"
END = "<!-- end of {} -->"

COLUMNS = {"profcol": "profcol", "reference": "reference", "perf": "`perf record -g`"}
_BOTH = {"profcol", "reference"}
_SCALES = {"%": 100, "us": 1e6, "MiB": 1 / (1 << 20)}
_LABELS = {"us": "µs"}

# Of programs below this share of the samples, and of more programs than these, only the result
# tells.
LEAST_PROGRAM_SHARE = 0.01
MOST_PROGRAMS = 12
MOST_OTHERS = 3
MOST_CUTS = 8  # of each profiler
MOST_THREADS = 12  # the same


def number(value):
    """Three digits that count, and never an exponent."""
    if value == 0:
        return "0"
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 3
    text = f"{value:,.{digits}f}"
    return "0" if float(text.replace(",", "")) == 0 else text


def scaled(value, unit, exact=True):
    """As text, in the unit's scale; `≈` and no decimals where it is not exact."""
    value *= _SCALES.get(unit, 1)
    return number(value) if exact else f"≈ {value:.0f}"


def cell(spread, unit):
    """`value (least…most)`, or a dash."""
    if spread is None:
        return "–"
    text = scaled(spread.value, unit, spread.exact)
    if spread.count == 1 or spread.least == spread.most:
        return text
    ends = (scaled(each, unit, spread.exact) for each in (spread.least, spread.most))
    return f"{text} ({'…'.join(end.removeprefix('≈ ') for end in ends)})"


def label(figure):
    """What it is, with its unit."""
    unit = _LABELS.get(figure.unit, figure.unit)
    return f"{figure.label}, {unit}" if unit else figure.label


def _row(figure, summaries, profilers):
    cells = [cell(summaries[name][figure.key], figure.unit) for name in profilers]
    if all(each == "–" for each in cells):
        return None
    if _BOTH <= set(profilers):
        cells.append(_quotient(figure, summaries))
    return [label(figure), *cells]


def _quotient(figure, summaries):
    # A slowdown is near zero: the quotient of two of them says nothing.
    if figure.key == "slowdown":
        return "–"
    ours, theirs = (summaries[name][figure.key] for name in ("profcol", "reference"))
    value = figures.ratio(ours, theirs)
    if value is None:
        return "–"
    return number(value) if ours.exact and theirs.exact else f"≈ {number(value)}"


def table(head, rows, texts=1):
    """Its first columns are texts, the others numbers."""
    lines = [head, ["---"] * texts + ["---:"] * (len(head) - texts), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def case_table(name, profilers_rounds):
    """The figures of one case."""
    bare = profilers_rounds.get("none", {})
    profilers = [each for each in COLUMNS if each in profilers_rounds]
    summaries = {each: figures.summarize(profilers_rounds[each], bare) for each in profilers}
    rows = [_row(figure, summaries, profilers) for figure in figures.FIGURES]
    head = ["", *(COLUMNS[each] for each in profilers)]
    if _BOTH <= set(profilers):
        head.append("profcol / reference")
    parts = [f"### {name}", *_remarks(profilers_rounds)]
    return "\n\n".join([*parts, table(head, [row for row in rows if row])])


def _remarks(profilers_rounds):
    """What the figures of a case rest on: paragraphs."""
    dues = ", ".join(
        f"{each} {sum(map(figures.due, rounds.values())):,} (rounds: {len(rounds)})"
        for each, rounds in profilers_rounds.items()
        if each in COLUMNS
    )
    all_ = [each for rounds in profilers_rounds.values() for each in rounds.values()]
    shares = [share for each in all_ if (share := figures.others_share(each)) is not None]
    others = f" Of other programs: {100 * max(shares):.1f} % at most." if shares else ""
    seconds = max(each["seconds"] for each in all_)
    yield f"Windows of {seconds:.0f} s. Samples due: {dues}.{others}"
    left_out = sorted({name for each in all_ for name in each["load"].get("left_out", ())})
    if left_out:
        yield f"Left out, as it is not installed: {', '.join(left_out)}."
    marked = [f"- {each['key']}: {_others(each)}" for each in all_ if _is_disturbed(each)]
    if marked:
        yield "**Not a quiet machine.** Of the samples due were of other programs:"
        yield "\n".join(marked)


def _is_disturbed(measurement):
    return (figures.others_share(measurement) or 0) > figures.OTHERS_MOST


def _others(measurement):
    names = sorted(measurement["due"]["names"].items(), key=lambda item: -item[1])
    most = ", ".join(f"`{name}` {count}" for name, count in names[:MOST_OTHERS])
    return f"{100 * figures.others_share(measurement):.1f} % ({most})"


def _percent(part_whole):
    spread = figures.pooled([part_whole])
    return "–" if spread is None else cell(spread, "%") + " %"


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
        row += [_percent(figures.complete_share(each)) for each in counts]
        row += [_percent(figures.settled_share(each)) for each in counts]
        row += [_percent(figures.named_share(each)) for each in counts]
        rows.append(row)
    if not rows:
        return ""
    labels = ("samples", "complete", "settled, complete", "named")
    return table([""] + [f"{label}, {each}" for label in labels for each in profilers], rows)


def through_table(profilers_rounds):
    """Complete stacks by the language runtime that they lead through; "" where none is."""
    profilers = [each for each in ("profcol", "reference") if each in profilers_rounds]
    sums = {each: figures.sum_through(profilers_rounds[each]) for each in profilers}
    names = {name for counts in sums.values() for name in counts}
    if not names - {figures.NATIVE}:
        return ""
    rows = []
    for name in sorted(names, key=lambda name: (name != figures.NATIVE, name)):
        counts = [sums[each].get(name, {}) for each in profilers]
        row = [f"through {name}" if name != figures.NATIVE else "native and Go"]
        row += [f"{each.get('observations', 0):,}" for each in counts]
        row += [_percent(figures.complete_share(each)) for each in counts]
        row += [f"{figures.settled_share(each)[1]:,}" for each in counts]
        row += [_percent(figures.settled_share(each)) for each in counts]
        rows.append(row)
    labels = ("samples", "complete", "settled", "settled, complete")
    return table([""] + [f"{label}, {each}" for label in labels for each in profilers], rows)


def cut_table(profilers_rounds):
    """How incomplete stacks end, those that had no excuse first; "" when there is none."""
    rows = []
    for profiler in ("profcol", "reference"):
        cuts = figures.sum_cuts(profilers_rounds.get(profiler, {}))
        for (program, through, reason), counts in list(cuts.items())[:MOST_CUTS]:
            where = [f"`{program}`" if program else figures.KERNEL_THREADS, through, f"`{reason}`"]
            numbers = [f"{counts[key]:,}" for key in ("settled", "observations")]
            rows.append([profiler, *where, *numbers])
    if not rows:
        return ""
    # Of symbols and templates.
    rows = [[text.replace("|", "\\|") for text in row] for row in rows]
    return table(["cut by", "program", "through", "last frame", "settled", "all"], rows, texts=4)


def thread_table(profilers_rounds):
    """Where the agents' CPU time goes; "" when that is not known."""
    rows = [
        [profiler, f"`{name}`", scaled(cpu, "%"), number(woken)]
        for profiler in ("profcol", "reference")
        for name, (cpu, woken) in list(
            figures.threads(profilers_rounds.get(profiler, {})).items()
        )[:MOST_THREADS]
    ]
    if not rows:
        return ""
    return table(["agent", "thread", "CPU time / one CPU, %", "wake-ups a second"], rows, texts=2)


def tables(result):
    """All tables of a result, as Markdown."""
    parts = [_introduction(result)]
    for name, profilers_rounds in figures.by_case(result["measurements"]).items():
        if not set(COLUMNS) & set(profilers_rounds):
            continue
        parts.append(case_table(name, profilers_rounds))
        for each in (program_table, through_table, cut_table, thread_table):
            if text := each(profilers_rounds):
                parts.append(text)
    parts += failures(result["measurements"], lambda each: each["key"])
    return "\n\n".join(parts) + "\n"


def failures(measurements, name):
    """The paragraph, if there has to be one, about those that failed; name(measurement) is what
    it is called.
    """
    lines = [
        f"- {name(each)}: {(each['failed'].splitlines() or ['?'])[0]}"
        for each in measurements
        if "failed" in each
    ]
    return ["Measurements that failed:\n\n" + "\n".join(lines)] if lines else []


def provenance(result):
    """What was measured, when, and on what; more may follow on the same line."""
    machine = result["machine"]
    versions = "; ".join(f"{name}: {text}" for name, text in machine["versions"].items())
    return (
        f"Commit {result['identity']['commit']}, {result['finished']}; {machine['cpus']} CPUs"
        f" ({machine['model']}, {_l3(machine)}), {machine['memory_mib']:,} MiB, Linux"
        f" {machine['kernel']}. {versions}."
    )


def _introduction(result):
    return (
        f"{provenance(result)}\n\n"
        "Each cell is the median of the rounds, with the least and the most of them; shares in"
        " percent are over all rounds taken together. ≈ marks a share of fewer than"
        f" {figures.WHOLE_FOR_EXACT:,}, a dash one of fewer than {figures.WHOLE_FOR_ANY}."
        " A sample is settled when its process and all mappings and pages of 64 KiB of code that"
        " its stack shows were first seen, in any sample, at least 2 s before. The programs"
        " are all that ran on the machine, but where it says that they are the load's."
        " A stack leads"
        " through a language runtime when code that this interprets or compiles is in it."
    )


def _l3(machine):
    kib = machine["l3_kib"]
    return f"{kib >> 10} MiB of L3" if kib else "L3 unknown"


def write_docs(path, text, section="table"):
    """Put the tables between the markers of a section of a page."""
    page = path.read_text()
    first, last = BEGIN.format(section), END.format(section)
    head, begin, rest = page.partition(first)
    _, end, tail = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{path} lacks the lines {first!r} and {last!r}")
    path.write_text(f"{head}{begin}\n\n{text}\n{end}{tail}")
