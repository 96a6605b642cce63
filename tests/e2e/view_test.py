# SPDX-License-Identifier: Apache-2.0
"""Profiles in words, as pictures and as pages: the end of `record`, and `profcol view`."""
import json
import re
import signal
import subprocess
import urllib.error
import urllib.request
import xml.dom.minidom

import pytest

import browser as chromium
from starting import starter
from waiting import wait_until

_BURN_MS = 1000
# "  55   9.06%   591  97.36%  main (shop)"
_ROW = re.compile(r"^ *(\d+) +([\d.]+)% +(\d+) +([\d.]+)%  (.+)$", re.MULTILINE)
_ADDRESS = re.compile(r"open (http://\S+/) in a browser")


def run(*words):
    words = [str(word) for word in words]
    return subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def recorded(program, build_target, tmp_path_factory):
    """recorded(ending): (path, what record printed) of a recording of `burn`."""
    directory = tmp_path_factory.mktemp("recorded")
    made = {}

    def record(ending):
        if ending not in made:
            path = directory / f"out.{ending}"
            burn = build_target("burn")
            result = run(program, "record", "-o", path, "--", burn, _BURN_MS)
            assert result.returncode == 0, result.stderr
            assert [one.name for one in directory.iterdir() if one.name.startswith(".")] == []
            made[ending] = path, result.stderr
        return made[ending]

    return record


def data_of(path):
    """The JSON that a page has in it."""
    start = '<script type="application/json" id="data">'
    return json.loads(path.read_text().partition(start)[2].partition("</script>")[0])


@pytest.mark.parametrize("ending", ["pb.gz", "folded", "otlp", "html", "svg"])
def test_a_recording_ends_with_its_hottest_functions(recorded, ending):
    path, printed = recorded(ending)
    rows = _ROW.findall(printed)
    assert 1 <= len(rows) <= 10
    assert "burn_leaf" in rows[0][4]
    assert float(rows[0][1]) > 50
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_recorded_picture_is_xml(recorded):
    path, _ = recorded("svg")
    titles = xml.dom.minidom.parse(str(path)).getElementsByTagName("title")
    texts = [title.firstChild.data for title in titles]
    assert any(text.startswith("burn_leaf: ") for text in texts)
    assert texts[0].startswith("all: ") and texts[0].endswith("100.00 %")


def test_a_recorded_page_is_whole(recorded):
    path, printed = recorded("html")
    data = data_of(path)
    assert sum(data["nodes"]["self"]) == data["total"] > 0
    assert f"{data['total']} samples, " in printed
    assert "script-src 'sha256-" in path.read_text()


@pytest.mark.parametrize("ending", ["pb.gz", "folded", "otlp"])
def test_files_become_pages(program, recorded, tmp_path, ending):
    path, _ = recorded(ending)
    result = run(program, "view", path, "-o", tmp_path / "a.html")
    assert result.returncode == 0, result.stderr
    assert "burn_leaf" in _ROW.findall(result.stdout)[0][4]
    assert data_of(tmp_path / "a.html")["total"] > 0


def test_two_files_are_a_difference(program, recorded, tmp_path):
    new, old = recorded("pb.gz")[0], recorded("otlp")[0]
    result = run(program, "view", new, old, "-o", tmp_path / "a.html")
    assert result.returncode == 0, result.stderr
    data = data_of(tmp_path / "a.html")
    assert sum(data["nodes"]["base"]) == data["base_total"] > 0


@pytest.mark.parametrize(
    "content, text",
    [
        (b"", "there are no samples"),
        (b"what is this\n", "line 1 is no folded stack"),
        (b"\x1f\x8b broken", "is no profile that can be read"),
        (b"\x0a\xff\xff\xff\xff\x0f\x00", "is no profile that can be read"),
        (b"\x00\x00\x00\x00", "there are no samples"),
    ],
)
def test_what_is_no_profile_is_told(program, tmp_path, content, text):
    path = tmp_path / "a"
    path.write_bytes(content)
    result = run(program, "view", path, "-o", tmp_path / "a.html")
    assert result.returncode == 1
    assert text in result.stderr and not (tmp_path / "a.html").exists()


def test_a_file_that_is_not_there(program, tmp_path):
    result = run(program, "view", tmp_path / "none")
    assert result.returncode == 1 and "cannot read" in result.stderr


class Viewing:
    """A `view` that serves a page."""

    def __init__(self, *words):
        self.process = subprocess.Popen(
            [str(word) for word in words], stdout=subprocess.PIPE, text=True
        )
        self.address = None
        for line in self.process.stdout:
            if found := _ADDRESS.search(line):
                self.address = found[1]
                break
        assert self.address

    def is_running(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def view(program, recorded):
    with starter(Viewing) as start:
        yield start(program, "view", recorded("pb.gz")[0])


def status_of(address, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code


def test_the_page_is_for_who_has_its_address(view):
    root = "/".join(view.address.split("/")[:3])
    assert status_of(view.address) == 200
    assert status_of(f"{view.address}app.js") == 200
    assert status_of(f"{root}/") == 404
    assert status_of(f"{root}/app.js") == 404
    assert status_of(f"{view.address}../") == 404
    assert status_of(view.address, Host="evil.example") == 421
    view.process.send_signal(signal.SIGINT)
    wait_until(lambda: not view.is_running(), "the end of view")
    assert view.process.returncode == 0


def test_the_page_shows_the_file(view):
    if not chromium.is_there():
        pytest.skip(chromium.MISSING)
    window = chromium.Browser()
    try:
        window.open(view.address)
        window.wait("document.querySelector('footer')?.innerText.includes('samples')")
        window.key("3")
        window.wait("document.querySelector('tbody')?.innerText.includes('burn_leaf')")
        assert not window.messages
    finally:
        window.close()
