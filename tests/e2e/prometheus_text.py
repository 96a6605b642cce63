# SPDX-License-Identifier: Apache-2.0
"""Metrics as Prometheus' own parser reads them, and the rules that its linter has."""
import re
import urllib.request

from prometheus_client import parser

from waiting import BOUND_S

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_SAMPLE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*(\{[^\n]*\})? \S+")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="(?:[^"\\]|\\.)*"[,}]')
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def reader(port, **options):
    """A Prometheus reader of service.telemetry.metrics, with names as by default."""
    prometheus = {
        "host": "127.0.0.1",
        "port": port,
        "without_type_suffix": True,
        "without_units": True,
        "without_scope_info": True,
    }
    return {"pull": {"exporter": {"prometheus": prometheus | options}}}


def scrape(port, path="/metrics"):
    """The text at 127.0.0.1:`port`."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=BOUND_S) as reply:
        assert reply.headers["Content-Type"] == CONTENT_TYPE
        return reply.read().decode()


class Metrics:
    """One scrape, parsed and checked."""

    def __init__(self, text):
        self.text = text
        self.families = {family.name: family for family in _families(text)}
        self.series = {}
        for family in self.families.values():
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                assert key not in self.series, f"twice: {sample}"
                self.series[key] = sample.value
        _check_form(text)

    def of(self, name):
        """[(labels, value)] of all series called `name`. The parser calls counters NAME_total."""
        names = (name, f"{name}_total")
        series = self.series.items()
        return [(dict(labels), value) for (own, labels), value in series if own in names]

    def value(self, name, **labels):
        """The sum of the series called `name` that have these labels; None if there is none."""
        values = [value for have, value in self.of(name) if labels.items() <= have.items()]
        return sum(values) if values else None

    def types(self):
        """Type by name as it is in the text."""
        return dict(re.findall(r"^# TYPE (\S+) (\S+)$", self.text, re.MULTILINE))


def _families(text):
    families = list(parser.text_string_to_metric_families(text))
    names = [family.name for family in families]
    assert len(names) == len(set(names)), "a family comes twice"
    return families


def _check_form(text):
    """What the format asks for and the parser lets pass: one HELP and one TYPE for each family,
    before its samples, and families and series in order."""
    assert text.endswith("\n")
    helps = re.findall(r"^# HELP (\S+) (.+)$", text, re.MULTILINE)
    types = re.findall(r"^# TYPE (\S+) (counter|gauge|histogram)$", text, re.MULTILINE)
    names = [name for name, _ in helps]
    assert names == [name for name, _ in types] == sorted(set(names))
    current = None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split()[2]
        elif not line.startswith("# TYPE "):
            assert _SAMPLE.fullmatch(line), line
            keys = _LABEL.findall(line)
            assert len(keys) == len(set(keys)), f"a label is there twice: {line}"
            name = _NAME.match(line)[0]
            assert re.fullmatch(rf"{current}(_bucket|_sum|_count)?", name), line


def lint(text):
    """Complaints as those of `promtool check metrics`; names are to have their suffixes."""
    complaints = []
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
        if kind == "counter" and not name.endswith("_total"):
            complaints.append(f"{name}: counter metrics should have '_total' suffix")
        if kind != "counter" and name.endswith("_total"):
            complaints.append(f"{name}: non-counter metrics should not have '_total' suffix")
        if kind != "histogram" and re.search(r"_(bucket|count|sum)$", name):
            complaints.append(f"{name}: should not have a histogram's suffix")
        if re.search(r"_(counter|gauge|histogram)(_|$)", name):
            complaints.append(f"{name}: metric name should not include its type")
        if re.search(r"(milli|micro|nano)seconds|kilobytes|megabytes|_(ms|ns|us)(_|$)", name):
            complaints.append(f"{name}: use base units")
        if re.search(r"[a-z][A-Z]", name) or ":" in name:
            complaints.append(f"{name}: metric names should be snake_case, without ':'")
    return complaints
