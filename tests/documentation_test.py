# SPDX-License-Identifier: Apache-2.0
"""What the documentation says can be done: links lead somewhere, configurations are valid, the
component of docs/write-a-component.md compiles with its test.
"""
import pathlib
import re
import subprocess

import pytest
import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def documents():
    command = ["git", "-C", SOURCE, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True)
    if listed.returncode:  # an export of the sources
        return sorted(SOURCE.glob("*.md")) + sorted(SOURCE.glob("[!b]*/**/*.md"))
    return [path for name in listed.stdout.split() if (path := SOURCE / name).exists()]


def anchors(path):
    """As GitHub makes them of headings."""
    text = FENCE.sub("", path.read_text())
    kept = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text)]
    return {heading.replace(" ", "-") for heading in kept}


def test_links_lead_somewhere():
    broken = []
    for document in documents():
        for link in LINK.findall(FENCE.sub("", document.read_text())):
            if re.match(r"\w+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (document.parent / name).resolve() if name else document
            if not target.exists() or anchor and anchor not in anchors(target):
                broken.append(f"{document.relative_to(SOURCE)}: {link}")
    assert not broken


def configurations():
    """The whole ones: those with a `service` that has pipelines."""
    for document in documents():
        for number, (language, text) in enumerate(FENCE.findall(document.read_text())):
            if language == "yaml" and re.search(r"^\s+pipelines:", text, re.MULTILINE):
                if "receivers" in (yaml.safe_load(text) or {}):
                    yield pytest.param(text, id=f"{document.relative_to(SOURCE)}-{number}")


@pytest.mark.parametrize("text", configurations())
def test_configurations_are_valid(program, tmp_path, text):
    # Files that they name are the reader's to have.
    path = tmp_path / "pipeline.yaml"
    path.write_text(text)
    command = [program, "validate", "--config", path]
    result = subprocess.run(command, capture_output=True, text=True)
    said = [line for line in result.stderr.splitlines() if "' cannot be " not in line]
    assert (result.returncode, said) == (0, [])


def test_the_component_of_the_guide_compiles(tmp_path):
    guide = (SOURCE / "docs/write-a-component.md").read_text()
    sources = [text for language, text in FENCE.findall(guide) if language == "c"]
    assert len(sources) == 2
    folders = ["include", "lib", "tests/unit/exporters"]
    options = [f"-I{SOURCE / folder}" for folder in folders] + ["-std=gnu17", "-D_GNU_SOURCE"]
    for text in sources:
        path = tmp_path / "source.c"
        path.write_text(text)
        command = ["gcc", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *options, path]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
