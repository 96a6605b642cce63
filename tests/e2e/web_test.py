# SPDX-License-Identifier: Apache-2.0
"""Profiles in the browser: the exporter web on a real profile, by HTTP and, where Debian's Chromium
is, as a person uses the page.
"""
import base64
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

import browser as chromium
import pprof_file
from free_port import free_port
from profcol_run import pipeline, with_metrics
from waiting import wait_until

# A name that would be markup, of a file that can have it.
HOSTILE = "<img src=x onerror=document.title='mine'>"
TOKEN = "correct-horse-battery-staple-0123456789"


class Server:
    """The exporter of a run."""

    def __init__(self, run, port):
        self.run = run
        self.port = port

    @property
    def url(self):
        return f"http://localhost:{self.port}"

    def get(self, path, headers=None, host=None):
        """(status, headers, body) of a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.putrequest("GET", path, skip_host=host is not None)
            for name, value in (({"Host": host} if host else {}) | (headers or {})).items():
                connection.putheader(name, value)
            connection.endheaders()
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def json(self, path, **words):
        status, _, body = self.get(f"{path}?{urllib.parse.urlencode(words)}")
        assert status == 200, body
        return json.loads(body)

    def flame(self, **words):
        return Flame(self.json("/api/flame.json", **words))


class Flame:
    """A call tree as docs/web.md describes it."""

    def __init__(self, data):
        self.data = data
        strings, frames, nodes = data["strings"], data["frames"], data["nodes"]
        self.total = data["total"]
        self.names = [strings[frames["name"][frame]] for frame in nodes["frame"]]
        self.self = nodes["self"]
        self.parent = nodes["parent"]
        assert sum(self.self) == self.total

    def of(self, name):
        """What was counted on stacks with the function."""
        inside = [False] * len(self.names)
        counted = 0
        for node, parent in enumerate(self.parent):
            inside[node] = self.names[node] == name or (node > 0 and inside[parent])
            counted += self.self[node] if inside[node] else 0
        return counted

    @property
    def groups(self):
        return {self.names[node] for node, parent in enumerate(self.parent) if node and not parent}


def web(port, **options):
    return {"web": {"endpoint": f"localhost:{port}"} | options}


@pytest.fixture(scope="module")
def served(start_profcol_once, start_target_once, build_target, tmp_path_factory):
    """A Server with profiles of two programs, one of them with a hostile name."""
    port = free_port()
    hostile = tmp_path_factory.mktemp("hostile") / HOSTILE
    shutil.copy(build_target("burn"), hostile)
    # Beside other tests an answer may have to wait for a CPU.
    run = start_profcol_once(pipeline(exporters=web(port, query_timeout="1m"))).wait_ready()
    server = Server(run, port)
    server.targets = [
        start_target_once(build_target("burn")).wait_burnt(1500),
        start_target_once(hostile).wait_burnt(1500),
    ]

    def is_kept():
        groups = server.flame(group="process.executable.name").groups
        return {"burn", HOSTILE} <= groups and server.flame(comm="burn").total > 20

    wait_until(is_kept, "profiles of both programs")
    yield server
    run.stop()


# ---- by HTTP ----


@pytest.mark.sanitized
def test_what_burns_is_seen(served):
    flame = served.flame(pid=served.targets[0].pid)
    assert flame.total > 0
    assert flame.of("burn_leaf") > flame.total / 2
    status = served.json("/api/status.json")
    assert status["samples"]["kept"] > 0
    assert {"type": "samples", "unit": "count"}.items() <= status["kinds"][0].items()
    assert any(row["outcome"] == "taken" for row in status["account"])
    # Since then more may have come.
    slices = served.json("/api/load.json")["slices"]
    assert sum(value for _, _, value in slices) >= status["samples"]["kept"]


@pytest.mark.sanitized
def test_all_forms_of_a_query_say_the_same(served, tmp_path):
    kept = served.json("/api/status.json")
    # What is over, so that nothing more comes to it: slices are five seconds wide.
    wait_until(lambda: served.json("/api/status.json")["to"] >= kept["to"] + 5000, "a later slice")
    words = {"from": kept["from"] - 1000, "to": kept["to"], "pid": served.targets[0].pid}
    flame = served.flame(**words)
    query = urllib.parse.urlencode(words)
    assert flame.total > 0

    top = served.json("/api/top.json", **words)
    assert top["total"] == flame.total
    assert sum(function["self"] for function in top["functions"]) == flame.total
    status, headers, body = served.get(f"/api/profile.pb.gz?{query}")
    assert status == 200 and "profcol.pb.gz" in headers["Content-Disposition"]
    (tmp_path / "a.pb.gz").write_bytes(body)
    assert pprof_file.read(tmp_path / "a.pb.gz").count == flame.total
    _, _, folded = served.get(f"/api/profile.folded?{query}")
    counts = [int(line.rpartition(b" ")[2]) for line in folded.splitlines()]
    assert sum(counts) == flame.total
    assert served.get(f"/debug/pprof/profile?{query}")[0] == 200


def test_a_profile_from_now_on(served, tmp_path):
    pid = served.targets[0].pid

    def take():
        status, _, body = served.get(f"/debug/pprof/profile?seconds=2&pid={pid}")
        assert status == 200, body
        (tmp_path / "now.pb.gz").write_bytes(body)
        profile = pprof_file.read(tmp_path / "now.pb.gz")
        # Beside others it may get no CPU in so short a time.
        return profile if profile.samples else None

    profile = wait_until(take, "a profile of a time in which it ran")
    assert profile.of_pid(pid) == list(profile.samples)
    assert profile.sample_types == (("samples", "count"), ("cpu", "nanoseconds"))


@pytest.mark.thorough
def test_go_tool_pprof_reads_it(served, tmp_path):
    go = shutil.which("go")
    if not go:
        pytest.skip("no go command: apt-get install golang-go")
    url = f"{served.url}/debug/pprof/profile?from=now-1h&comm=burn"
    environment = os.environ | {"PPROF_TMPDIR": str(tmp_path)}
    result = subprocess.run(
        [go, "tool", "pprof", "-top", url], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0, result.stderr
    assert "burn_leaf" in result.stdout


def test_a_difference(served):
    burn, hostile = (f'resource.attributes["process.pid"] == {t.pid}' for t in served.targets)
    flame = served.flame(where=burn, base_where=hostile, group="process.executable.name").data
    assert flame["total"] > 0 and flame["base_total"] > 0
    assert sum(flame["nodes"]["base"]) == flame["base_total"]
    burnt = [name for name in flame["strings"] if name in ("burn", HOSTILE)]
    assert set(burnt) == {"burn", HOSTILE}


def test_names_are_text_in_every_form(served):
    for path in ("flame.json", "top.json", "profile.svg", "status.json"):
        _, headers, body = served.get(f"/api/{path}?group=process.executable.name")
        assert b"<img" not in body, path
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert served.flame(comm=HOSTILE).total > 0
    assert served.flame(comm='" or true or "').total == 0


@pytest.mark.parametrize(
    "query, text",
    [
        ("where=frame.function", b"where: 1:"),
        ("from=yesterday", b"is no time"),
        ("seconds=0", b"seconds: a number"),
        ("where=%", b"'%'"),
    ],
)
def test_a_wrong_query_is_told_why(served, query, text):
    status, _, body = served.get(f"/api/flame.json?{query}")
    assert status == 400 and text in body, body


def test_names_of_others_lead_nowhere(served):
    assert served.get("/", host=f"localhost:{served.port}")[0] == 200
    assert served.get("/", host=f"127.0.0.1:{served.port}")[0] == 200
    status, _, body = served.get("/api/flame.json", host="evil.example")
    assert status == 421 and b"burn" not in body


def test_idle_connections_keep_nobody_out(served):
    idle = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(200)]
    for one in idle:
        one.send(b"GET / HT")
    try:
        assert served.get("/api/status.json")[0] == 200
    finally:
        for one in idle:
            one.close()


@pytest.mark.sanitized
def test_a_token(start_profcol, tmp_path):
    port = free_port()
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    options = {"endpoint": f"0.0.0.0:{port}", "token_file": str(token)}
    run = start_profcol(pipeline(exporters={"web": options})).wait_ready()
    server = Server(run, port)
    basic = base64.b64encode(f"x:{TOKEN}".encode()).decode()
    assert server.get("/")[0] == 401
    assert "Basic" in server.get("/debug/pprof/")[1]["WWW-Authenticate"]
    assert server.get("/", {"Authorization": "Bearer wrong"})[0] == 401
    assert server.get("/", {"Authorization": f"Bearer {TOKEN}"})[0] == 200
    assert server.get("/", {"Authorization": f"Basic {basic}"})[0] == 200
    assert TOKEN not in run.log
    run.stop()


def test_client_certificates_stand_for_a_token(start_profcol, tmp_path):
    for name in ("server", "client"):
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"]
        words += ["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
        words += ["-addext", "subjectAltName=DNS:localhost"]
        words += ["-keyout", f"{name}.key", "-out", f"{name}.pem"]
        subprocess.run(words, check=True, capture_output=True, cwd=tmp_path)
    port = free_port()
    tls = {
        "cert_file": str(tmp_path / "server.pem"),
        "key_file": str(tmp_path / "server.key"),
        "client_ca_file": str(tmp_path / "client.pem"),
    }
    options = {"endpoint": f"0.0.0.0:{port}", "tls": tls}
    run = start_profcol(pipeline(exporters={"web": options})).wait_ready()
    address = f"https://localhost:{port}/api/status.json"
    context = ssl.create_default_context(cafile=tmp_path / "server.pem")
    with pytest.raises((ssl.SSLError, urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(address, context=context, timeout=300).read()
    context.load_cert_chain(tmp_path / "client.pem", tmp_path / "client.key")
    with urllib.request.urlopen(address, context=context, timeout=300) as reply:
        assert json.load(reply)["format"] == 1
    run.stop()


def test_a_reload_keeps_the_page(start_profcol, tmp_path):
    """Another exporter comes; the one that stays, stays with what it has."""
    port = free_port()
    configuration = pipeline(exporters=web(port))
    run = start_profcol(configuration).wait_ready()
    server = Server(run, port)
    wait_until(lambda: server.json("/api/status.json")["samples"]["kept"] > 0, "samples")
    first = server.json("/api/status.json")["from"]
    both = configuration["exporters"] | {"pprof": {"directory": str(tmp_path / "out")}}
    changed = configuration | {"exporters": both}
    changed["service"]["pipelines"]["profiles"]["exporters"] = ["web", "pprof"]
    run.configuration.write_text(json.dumps(with_metrics(changed, run.metrics_port)))
    run.process.send_signal(signal.SIGHUP)
    run.wait_logged("Config reload complete.")
    assert server.json("/api/status.json")["from"] == first
    run.stop()


# ---- as a person uses it ----


@pytest.fixture(scope="module")
def window():
    if not chromium.is_there():
        pytest.skip(chromium.MISSING)
    one = chromium.Browser()
    yield one
    one.close()


@pytest.fixture
def page(window, served):
    """The page, opened by page(query)."""

    def open_page(query="", path="/"):
        window.messages.clear()
        # Others run programs of that name, too.
        query = query.replace("comm=burn", f"pid={served.targets[0].pid}")
        window.open(f"{served.url}{path}{query}")
        window.wait("document.querySelector('footer')?.innerText.includes('samples')")
        return window

    yield open_page
    assert not window.messages  # no script failed, no policy was broken


# Where the frames of a graph stand: asked of the page as a person would, by hovering.
BOX = """(name => {
    const graph = [...document.querySelectorAll('.graph')].pop();
    const box = graph.getBoundingClientRect();
    for (let y = box.bottom - 9; y > box.top; y -= 18)
        for (let x = box.left + 3; x < box.right; x += 12) {
            graph.dispatchEvent(new MouseEvent('mousemove', { clientX: x, clientY: y }));
            if (document.querySelector('.tip strong')?.innerText === name) return [x, y];
        }
    return null;
})(%s)"""


def find_frame(window, name):
    """The place of a frame called `name`."""
    return wait_until(lambda: window.evaluate(BOX % json.dumps(name)), f"a frame {name}")


def query_of(window):
    return urllib.parse.parse_qs(window.evaluate("location.search")[1:])


def test_zoom_breadcrumbs_and_the_back_button(page):
    window = page("?comm=burn&live=0")
    window.click(*find_frame(window, "burn_middle"))
    window.wait("document.querySelector('.crumbs').innerText.includes('burn_middle')")
    assert "burn_middle" in query_of(window)["zoom"][0]
    assert "total" in window.text(".details") and "%" in window.text(".details")
    link = window.evaluate("location.href")
    window.evaluate("history.back()")
    window.wait("document.querySelector('.crumbs').hidden")
    window.open(link)  # as somebody else would
    window.wait("document.querySelector('.crumbs')?.innerText.includes('burn_middle')")
    window.key("Escape")
    window.wait("document.querySelector('.crumbs').hidden")


def test_search_counts_and_walks(page):
    window = page("?comm=burn&live=0")
    window.key("/")
    window.type("burn_(leaf|middle)")
    window.wait("document.querySelector('.result').innerText.includes('%')")
    assert "samples" in window.text(".result")
    window.key("Escape")
    window.evaluate("document.activeElement.blur()")
    window.key("/")
    window.type("burn_leaf")
    window.key("Enter")
    window.wait("document.querySelector('.result').innerText.includes('1 of')")
    assert "%" in window.text(".result")
    window.wait("document.querySelector('.details strong')?.innerText === 'burn_leaf'")
    window.press("›")
    window.wait("/^(2 of|1 of 1 )/.test(document.querySelector('.result').innerText)")
    window.evaluate("document.activeElement.blur()")
    window.key("/")
    window.type("(")
    window.wait("document.querySelector('.search').classList.contains('bad')")


def test_the_table_leads_to_callers(page):
    window = page("?comm=burn&view=top&live=0")
    window.wait("document.querySelector('tbody tr')")
    assert "burn_leaf" in window.text("tbody tr:first-child")
    assert "%" in window.text("tbody tr:first-child")
    window.press("burn_leaf")
    window.wait("document.querySelector('h2')?.innerText.startsWith('callers of burn_leaf: ')")
    assert "samples" in window.text("h2") and "% of all" in window.text("h2")
    assert query_of(window)["view"] == ["callers"]


def test_the_order_of_the_table_is_in_the_address(page):
    window = page("?comm=burn&view=top&live=0")
    for label, order, word in (
        ("total", "descending", "total"),
        ("total", "ascending", "-total"),
        ("function", "ascending", "name"),
    ):
        window.press(label)
        window.wait(f"location.search.includes('sort={word}')")
        assert window.evaluate(f"document.querySelector('[aria-sort={order}]')?.innerText") == label
    window.open(window.evaluate("location.href"))  # as somebody else would
    window.wait("document.querySelector('[aria-sort=ascending]')?.innerText === 'function'")
    names = window.evaluate("[...document.querySelectorAll('tbody .link')].map((b) => b.innerText)")
    named = [name for name in names if not name.startswith("[")]
    assert named == sorted(named)


def test_groups_narrow_down(page):
    window = page("?view=groups&live=0")
    window.wait("document.querySelector('tbody tr')")
    window.press("burn")
    window.wait("location.search.includes('where=')")
    assert 'process.executable.name' in query_of(window)["where"][0]
    window.wait("document.querySelector('.graph')")
    find_frame(window, "burn_leaf")


def test_keys_turn_and_hide(page):
    window = page("?comm=burn&live=0")
    for key, word in (("i", "inverted"), ("k", "kernel"), ("l", "inlined")):
        window.key(key)
        window.wait(f"location.search.includes('{word}=')")
    window.key("3")
    window.wait("document.querySelector('tbody tr')")
    window.key("?")
    window.wait("document.querySelector('dialog').open")
    window.press("close")
    window.wait("!document.querySelector('dialog').open")


def test_a_comparison(page):
    window = page("?comm=burn&live=0")
    window.press("compare")
    window.wait("location.search.includes('base_from=')")
    window.wait("document.querySelector('header').innerText.includes('compared with')")
    window.key("3")
    window.wait("document.querySelector('thead')?.innerText.includes('change')")
    # Both sides with their figures.
    window.wait("/compared with .* samples in/.test(document.querySelector('footer').innerText)")


def asked(window):
    return window.evaluate(
        "performance.getEntriesByType('resource').filter((e) => /flame.json/.test(e.name)).length"
    )


def wait_refreshed(window):
    """Until what is live has come twice: the first one may have been under way."""
    before = asked(window)
    wait_until(lambda: asked(window) >= before + 2, "two more answers")


def test_what_somebody_is_at_stays_when_more_comes(page):
    window = page("?comm=burn")
    window.click(*find_frame(window, "burn_middle"))
    window.wait("document.querySelector('.details strong')?.innerText === 'burn_middle'")
    window.press("what is missing")
    window.evaluate("document.querySelector('.where').focus()")
    window.type("not finished")
    wait_refreshed(window)
    assert window.text(".details strong") == "burn_middle"
    assert window.evaluate("document.querySelector('footer details').open")
    assert window.evaluate("document.querySelector('.where').value") == "not finished"
    assert window.evaluate("document.activeElement.classList.contains('where')")
    window.click(700, 400)
    assert not window.evaluate("document.querySelector('footer details').open")
    # Who leaves the field has finished: it is no condition.
    window.wait("document.querySelector('.failure')")
    window.messages.clear()


def test_a_table_stays_where_it_is_scrolled_to(page):
    window = page("?view=top")
    window.wait("document.querySelectorAll('tbody tr').length > 60")
    window.evaluate("document.querySelector('.table').scrollTop = 200")
    wait_refreshed(window)
    assert window.evaluate("document.querySelector('.table').scrollTop") == 200


def test_a_time_is_chosen_in_the_strip(page):
    window = page("?live=0")
    strip = window.evaluate(
        "JSON.parse(JSON.stringify(document.querySelector('.strip').getBoundingClientRect()))"
    )
    middle = strip["top"] + 20
    window.click(strip["left"] + 100, middle, to=(strip["right"] - 100, middle))
    window.wait("/from=[0-9]+&to=[0-9]+/.test(location.search)")
    window.wait("document.querySelector('footer').innerText.includes('samples in')")


def test_a_condition_that_is_wrong_says_so(page):
    window = page("?live=0")
    window.evaluate(
        "(() => { const i = document.querySelector('.where'); i.value = 'nonsense';"
        " i.dispatchEvent(new Event('change')); })()"
    )
    window.wait("document.querySelector('.failure')?.innerText.includes('where: 1:')")
    # What is still there is not what was asked for.
    assert window.evaluate("Number(getComputedStyle(document.querySelector('main')).opacity) < 1")
    window.messages.clear()  # the browser logs a status of 400


def test_a_hostile_name_is_shown_and_does_nothing(page):
    window = page("?view=groups&live=0")
    window.wait("document.querySelector('tbody tr')")
    assert HOSTILE in window.text("tbody")
    assert window.evaluate("document.querySelectorAll('img').length") == 0
    assert window.evaluate("document.title") == "profcol"


def test_what_is_missing_is_beside_the_figures(page):
    window = page("?live=0")
    window.press("what is missing")
    window.wait("document.querySelector('footer').innerText.includes('Since the start')")


def test_a_saved_page_needs_no_server(window, served, tmp_path):
    status, headers, body = served.get("/api/profile.html?comm=burn")
    assert status == 200 and "attachment" in headers["Content-Disposition"]
    saved = tmp_path / "saved.html"
    saved.write_bytes(body)
    window.messages.clear()
    window.open(f"file://{saved}")
    window.wait("document.querySelector('footer')?.innerText.includes('samples')")
    find_frame(window, "burn_leaf")
    assert not window.messages


# As a file that is dropped: the test has no mouse that carries one.
DROP = """(async () => {
    const data = new DataTransfer();
    for (const path of %s) {
        const reply = await fetch(path);
        data.items.add(new File([await reply.arrayBuffer()], path.replace(/.*\\//, '')));
    }
    document.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true }));
})()"""


@pytest.mark.parametrize("ending", ["pb.gz", "folded", "otlp"])
def test_a_file_is_dropped(page, served, ending):
    window = page("?live=0")
    query = f"comm=burn&from={served.json('/api/status.json')['from']}"
    window.evaluate(DROP % json.dumps([f"/api/profile.{ending}?{query}"]))
    window.wait("document.querySelector('.file')")
    find_frame(window, "burn_leaf")
    if ending == "pb.gz":  # which has two kinds of values
        window.choose("what is counted", "cpu:nanoseconds")
        window.wait("/^[0-9.]+ m?s$/m.test(document.querySelector('footer > span').innerText)")
        find_frame(window, "burn_leaf")
    window.press("back to what is live")
    window.wait("!document.querySelector('.file')")


# One request behind its length, as `record -o x.otlp` writes them.
DROP_RECORD = """(async () => {
    const bytes = await (await fetch(%s)).arrayBuffer();
    const length = new DataView(new ArrayBuffer(4));
    length.setUint32(0, bytes.byteLength);
    const data = new DataTransfer();
    data.items.add(new File([length.buffer, bytes, length.buffer, bytes], 'twice.otlp'));
    document.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true }));
})()"""


def test_requests_behind_their_lengths_are_dropped(page, served):
    window = page("?live=0")
    start = served.json("/api/status.json")["from"]
    query = urllib.parse.urlencode({"comm": "burn", "from": start - 1000, "to": start + 5000})
    window.evaluate(DROP_RECORD % json.dumps(f"/api/profile.otlp?{query}"))
    window.wait("document.querySelector('.file')?.innerText === 'twice.otlp'")
    total = served.json("/api/top.json", comm="burn", **{"from": start - 1000, "to": start + 5000})
    shown = window.text("footer > span").partition(" ")[0].replace(",", "")
    assert int(shown) == 2 * total["total"] > 0


# Keeps what is written onto canvases from now on.
WRITTEN = """(() => {
    const write = CanvasRenderingContext2D.prototype.fillText;
    window.written = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        window.written.push(text);
        write.call(this, text, ...rest);
    };
})()"""


def test_narrow_boxes_show_the_end_of_a_qualified_name(page):
    window = page("?live=0")
    window.evaluate(WRITTEN)
    names = ["shop::cart<a::b>::checkout::total", "cmd/go/internal/run.Run", "spin.isra.0.cold"]
    lines = "".join(f"main;{name} 6\n" for name in names) + "main;rest 82\n"
    data = f"new File([{json.dumps(lines)}], 'names.folded')"
    window.evaluate(
        f"(() => {{ const data = new DataTransfer(); data.items.add({data});"
        " document.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true }));"
        " })()"
    )
    window.wait("document.querySelector('.file')")
    # 6 % of 1400 pixels have room for some eleven letters.
    for text in ("total", "run.Run", "spin.isra"):
        window.wait(f"window.written.some((one) => one.startsWith({json.dumps(text)}))")


def test_two_files_are_compared(page):
    window = page("?live=0")
    files = ["/api/profile.pb.gz?comm=burn", "/api/profile.folded?comm=burn"]
    window.evaluate(DROP % json.dumps(files))
    window.wait("document.querySelector('.file')?.innerText.includes('compared with')")


def test_what_is_no_profile_is_told(page):
    window = page("?live=0")
    window.evaluate(DROP % json.dumps(["/app.css"]))
    window.wait("document.querySelector('.failure')?.innerText.includes('cannot be shown')")


@pytest.mark.parametrize("width, dark", [(390, False), (1400, True)])
def test_small_and_dark(served, width, dark):
    if not chromium.is_there():
        pytest.skip(chromium.MISSING)
    window = chromium.Browser(width=width, height=800, dark=dark)
    try:
        window.open(f"{served.url}/?comm=burn&live=0")
        window.wait("document.querySelector('footer')?.innerText.includes('samples')")
        # Nothing has to be scrolled to the side.
        assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")
        background = window.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") != dark
        find_frame(window, "burn_leaf")
        # The outermost frame can be seen.
        assert window.evaluate(
            "(() => { const g = document.querySelector('.graph');"
            " return g.scrollTop + g.clientHeight > g.scrollHeight - 2; })()"
        )
        # All that can be chosen is within reach.
        files = "document.querySelector('header summary')"
        if not window.evaluate(f"{files}.checkVisibility()"):
            window.press("options")
        window.press("files")
        place = window.evaluate(
            f"JSON.parse(JSON.stringify({files}.parentNode.lastChild.getBoundingClientRect()))"
        )
        assert 0 <= place["left"] and place["right"] <= width
        assert 0 <= place["top"] and place["bottom"] <= 800
        there = f"document.elementFromPoint({place['left'] + 20}, {place['bottom'] - 20})"
        assert window.evaluate(f"{files}.parentNode.contains({there})")
        assert not window.messages
    finally:
        window.close()
