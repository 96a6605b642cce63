# SPDX-License-Identifier: Apache-2.0
"""connections.py PORT...: has as many connections to these ports of this machine as it may, each with
half a request; in the place of one that is closed there comes another.
"""
import resource
import select
import socket
import sys
import time

MOST = 8000
AT_ONCE = 200  # so many are made, then it looks which have been closed
HALF = b"GET /metrics HTTP/1.1\r\nHost: a"


def connect(port):
    connection = socket.socket()
    connection.settimeout(1)
    try:
        connection.connect(("127.0.0.1", port))
        connection.sendall(HALF)
    except OSError:
        connection.close()
        return None
    return connection


def main():
    ports = [int(port) for port in sys.argv[1:]]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    most = min(MOST, hard - 100)
    connections, ended = {}, select.poll()
    while True:
        for number in range(AT_ONCE if len(connections) < most else 0):
            connection = connect(ports[number % len(ports)])
            if connection:
                connections[connection.fileno()] = connection
                ended.register(connection, select.POLLIN | select.POLLRDHUP)
        for descriptor, _ in ended.poll(0):
            ended.unregister(descriptor)
            connections.pop(descriptor).close()
        time.sleep(0.1)


if __name__ == "__main__":
    main()
