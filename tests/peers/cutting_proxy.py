# SPDX-License-Identifier: Apache-2.0
"""A network between two programs that can be counted, cut and mended."""
import contextlib
import socket
import threading


class CuttingProxy:
    """Passes TCP connections to `address` on to HOST:PORT `target`, until it is told otherwise.

    `received` counts the bytes that came back from the target, `connections` those that were
    passed on.
    """

    def __init__(self, target):
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._lock = threading.Lock()
        self._open = []  # pairs of sockets
        self._is_cut = self._is_silent = False
        self.received = self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                self._connect(client)

    def _connect(self, client):
        try:
            if self._is_cut:
                raise ConnectionRefusedError
            server = socket.create_connection(self._target, timeout=10)
            server.settimeout(None)
        except OSError:
            client.close()
            return
        with self._lock:
            self._open.append((client, server))
            self.connections += 1
        for ends in ((client, server, False), (server, client, True)):
            threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source, target, is_answer):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                with self._lock:
                    self.received += len(data) if is_answer else 0
                    silent = self._is_silent
                if not silent:
                    target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        """End every connection, in the midst of whatever it carries, and take no new one."""
        self._is_cut = True
        self.reset()

    def reset(self):
        """End every connection; new ones are fine."""
        with self._lock:
            ending, self._open = self._open, []
        for pair in ending:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def silence(self):
        """Swallow what is sent from now on over any connection, as a lost network does."""
        self._is_silent = True

    def mend(self):
        """As in the beginning. What was swallowed is lost: connections of before are ended."""
        self._is_cut = self._is_silent = False
        self.reset()

    def close(self):
        # Closing alone does not wake the thread that accepts.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.reset()
