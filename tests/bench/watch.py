# SPDX-License-Identifier: Apache-2.0
"""Looking at something again and again while it goes on."""
import threading


class Watch:
    """Calls look() every `step_s` seconds in the time of a `with` statement, by a thread of its
    own.
    """

    def __init__(self, step_s):
        self._step_s = step_s
        self._stop = threading.Event()
        self._failure = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def finish(self):
        """The last look; whatever went wrong in the thread is raised here."""
        self._stop.set()
        self._thread.join()
        if self._failure:
            raise self._failure
        self.look()

    def _run(self):
        try:
            while not self._stop.wait(self._step_s):
                self.look()
        except Exception as failure:  # of the thread that waits for it
            self._failure = failure
