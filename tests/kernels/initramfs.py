# SPDX-License-Identifier: Apache-2.0
"""Writes the file system that a kernel starts with: a cpio archive, format `newc`
(Documentation/driver-api/early-userspace/buffer-format.rst in Linux). No root needed.
"""
import gzip
import pathlib
import re
import stat
import subprocess

_TRAILER = "TRAILER!!!"


class Initramfs:
    """What has been added, and the directories it lies in; written at once by write()."""

    def __init__(self):
        self._entries = {}  # name to (mode, device, data), directories before what is in them
        self.add_device("dev/console", 5, 1)

    def _add(self, name, mode, data=b"", device=(0, 0)):
        path = pathlib.PurePosixPath(str(name).lstrip("/"))
        for parent in reversed(path.parents[:-1]):
            self._entries.setdefault(str(parent), (stat.S_IFDIR | 0o755, (0, 0), b""))
        self._entries[str(path)] = mode, device, data

    def add_directory(self, name, mode=0o755):
        self._add(name, stat.S_IFDIR | mode)

    def add_text(self, name, text, mode=0o644):
        self._add(name, stat.S_IFREG | mode, text.encode())

    def add_bytes(self, name, content):
        """A file, executable."""
        self._add(name, stat.S_IFREG | 0o755, content)

    def add_file(self, name, path):
        """The file at `path`, executable."""
        self.add_bytes(name, pathlib.Path(path).read_bytes())

    def add_link(self, name, target):
        self._add(name, stat.S_IFLNK | 0o777, target.encode())

    def add_device(self, name, major, minor):
        """A character device."""
        self._add(name, stat.S_IFCHR | 0o600, device=(major, minor))

    def add_libraries(self, path):
        """The shared libraries of the program at `path` and its loader, which lie as they do here;
        a static one has none.
        """
        result = subprocess.run(["ldd", path], capture_output=True, text=True)
        for library in re.findall(r"(/\S+) \(0x", result.stdout):
            self.add_file(library, library)

    def write(self, path):
        out = bytearray()
        for number, (name, entry) in enumerate(self._entries.items(), 1):
            out += _entry(number, name, *entry)
        out += _entry(0, _TRAILER, 0, (0, 0), b"")
        pathlib.Path(path).write_bytes(gzip.compress(bytes(out), compresslevel=1))


def _padded(data):
    return data + bytes(-len(data) % 4)


def _entry(number, name, mode, device, data):
    name = name.encode() + b"\0"
    # ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(head + name) + _padded(data)
