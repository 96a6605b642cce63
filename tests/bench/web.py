#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What profiles in the browser cost: a day of a load pushed through the store of the exporter `web`,
and the page with a call tree of 100,000 frames in Debian's Chromium. Prints JSON. `make bench-web` builds
what it needs and calls it; docs/performance.md has figures."""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import capture

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / part) for part in ("tests", "tests/e2e")]

import browser as chromium

PROFCOL = SOURCE / "build/release/profcol"
WEB_DAY = SOURCE / "build/release/tests/bench/web/web_day"
FRAMES = 100_000
DEPTH = 40

# How long each event took until the page was painted, as the browser measures it, in steps of 8 ms.
_OBSERVE = """
window.benchEvents = [];
new PerformanceObserver((list) => window.benchEvents.push(...list.getEntries().map(
  (entry) => ({ name: entry.name, ms: entry.duration }))))
  .observe({ type: "event", durationThreshold: 16 });
"""

# From the last byte of the document to the first picture with something in it.
_FIRST_PAINT = """
(() => { const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const [document] = performance.getEntriesByType("navigation");
  return paint && paint.startTime - document.responseEnd; })()
"""


def day(path, hours, memory):
    """Figures of the store, of requests in the file at `path`."""
    command = [WEB_DAY, "--hours", str(hours), "--memory", str(memory), path]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def write_stacks(path, frames, seed=1):
    """Folded stacks whose call tree has so many frames: a tree that branches by chance."""
    chance = random.Random(seed)
    stack, made = ["root"], 1
    with path.open("w") as file:
        while made < frames:
            del stack[chance.randint(1, len(stack)) :]
            for _ in range(min(chance.randint(1, DEPTH), frames - made)):
                stack.append(f"module{chance.randrange(50)}::function{made}")
                made += 1
            print(";".join(stack), chance.randint(1, 1000), file=file)


def _event_ms(page, name, act):
    """What the event `name` took that act() brings; 16 where the browser does not tell: less."""
    page.evaluate("window.benchEvents = []")
    act()
    # The observer is told after the picture is painted.
    page.evaluate("new Promise((done) => setTimeout(done, 1000))")
    found = [one["ms"] for one in page.evaluate("window.benchEvents") if one["name"] == name]
    return max(found, default=16)


def page_figures(directory):
    """How long the page takes for what a user waits for, in milliseconds."""
    stacks, html = directory / "large.folded", directory / "large.html"
    write_stacks(stacks, FRAMES)
    command = [PROFCOL, "view", stacks, "-o", html]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    page = chromium.Browser()
    try:
        page.open(html.as_uri())
        page.wait("performance.getEntriesByName('first-contentful-paint').length")
        first = page.evaluate(_FIRST_PAINT)
        page.evaluate(_OBSERVE)
        left, bottom = page.evaluate(
            "(() => { const box = document.querySelector('.graph')"
            ".getBoundingClientRect(); return [box.left, box.bottom]; })()"
        )
        figures = {"frames": FRAMES, "bytes": html.stat().st_size, "first_paint_ms": first}
        # The third row from the root, which is at the bottom: most of the tree.
        figures["zoom_ms"] = _event_ms(page, "click", lambda: page.click(left + 100, bottom - 45))
        assert page.evaluate("!document.querySelector('.crumbs').hidden"), "nothing was zoomed into"
        figures["zoom_out_ms"] = _event_ms(page, "keydown", lambda: page.key("Escape"))
        page.evaluate("document.querySelector('input[type=search]').focus()")
        figures["search_ms"] = _event_ms(page, "keydown", lambda: page.key("7"))
        assert "frames" in page.text(".result"), "nothing was found"
        assert not page.messages, page.messages
        return figures
    finally:
        page.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--memory", type=int, default=32, help="MiB, as the exporter's default")
    parser.add_argument("file", nargs="?", help="requests behind their lengths; else `mixed` is run")
    arguments = parser.parse_args()
    if os.geteuid() and not arguments.file:
        parser.error("profiling needs root, or a FILE")
    with tempfile.TemporaryDirectory(prefix="profcol-bench-web-") as made:
        directory = pathlib.Path(made)
        requests = arguments.file or capture.record(PROFCOL, directory / "capture")
        result = {"day": day(requests, arguments.hours, arguments.memory)}
        if chromium.is_there():
            result["page"] = page_figures(directory)
        else:
            print(chromium.MISSING, file=sys.stderr)
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
