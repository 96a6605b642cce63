# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium without a screen, driven by its DevTools protocol: pages are opened,
keys typed, expressions evaluated. What the page logs as an error, and what its policy refuses, is
kept.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.request

from waiting import wait_until

MISSING = "no browser: apt-get install chromium python3-websocket"
_LISTENING = re.compile(r"DevTools listening on ws://([^/]+)/")


def is_there():
    try:
        import websocket  # noqa: F401
    except ImportError:
        return False
    return shutil.which("chromium") is not None


class Browser:
    """One window. close() ends the browser whatever state it is in."""

    def __init__(self, width=1400, height=800, dark=False):
        import websocket

        self.directory = tempfile.mkdtemp(prefix="browser-")
        self.log = pathlib.Path(self.directory, "log")
        self.messages = []  # of the page: errors of scripts, refusals of its policy
        self.number = 0
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    "chromium",
                    "--headless=new",
                    "--no-sandbox",  # tests run as root
                    "--disable-gpu",
                    "--disable-dev-shm-usage",
                    "--no-first-run",
                    "--disable-background-networking",
                    "--remote-debugging-port=0",
                    "--remote-allow-origins=*",
                    f"--user-data-dir={self.directory}/profile",
                    f"--window-size={width},{height}",
                    "about:blank",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"HOME": self.directory},
            )
        wait_until(lambda: self._address() or self._ended(), "the browser's address")
        with urllib.request.urlopen(f"http://{self._address()}/json/list", timeout=300) as reply:
            targets = json.load(reply)
        (target,) = (one for one in targets if one["type"] == "page")
        self.socket = websocket.create_connection(target["webSocketDebuggerUrl"], timeout=120)
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def _address(self):
        found = _LISTENING.search(self.log.read_text(errors="replace"))
        return found and found[1]

    def _ended(self):
        assert self.process.poll() is None, self.log.read_text(errors="replace")

    def call(self, method, **parameters):
        """The result of one command; events that come meanwhile are looked through."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self._note(answer)

    def _note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(parameters["exceptionDetails"]))
        if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.messages.append(parameters["entry"]["text"])

    def open(self, url):
        self.call("Page.navigate", url=str(url))
        self.wait("document.readyState === 'complete'")

    def evaluate(self, expression):
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, (expression, result)
        return result["result"].get("value")

    def wait(self, expression):
        """Until `expression` is true in the page."""
        # An element, by value, would be an empty object.
        wait_until(lambda: self.evaluate(f"Boolean({expression})"), f"in the page: {expression}")

    def text(self, selector="body"):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def key(self, key):
        """Press one key where the focus is."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def click(self, x, y, shift=False, to=None):
        """Press at a place of the window, and let go there or at the place `to`."""
        common = {"button": "left", "clickCount": 1, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **common)
        if to:
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=to[0], y=to[1], **common)
            x, y = to
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **common)

    def hover(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, label):
        """Click the button that reads `label`."""
        wanted = json.dumps(label)
        found = self.evaluate(
            "(() => { const one = [...document.querySelectorAll('button, summary')]"
            f".find((b) => b.innerText.trim() === {wanted});"
            " one?.click(); return Boolean(one); })()"
        )
        assert found, f"no button '{label}' in: {self.text()}"

    def choose(self, label, value):
        """Choose `value` in the list called `label`."""
        selector = f"select[aria-label={json.dumps(label)}]"
        self.evaluate(
            f"(() => {{ const one = document.querySelector('{selector}');"
            f" one.value = {json.dumps(value)}; one.dispatchEvent(new Event('change')); }})()"
        )

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
