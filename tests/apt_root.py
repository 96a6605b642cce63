# SPDX-License-Identifier: Apache-2.0
"""Debian's packages of any release, as this machine's Debian mirror has them.

Nothing of this machine's own packages is touched: apt works in a directory of its own. No root
needed.
"""
import os
import pathlib
import subprocess
import tempfile

_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# How this machine reaches its mirror (/etc/apt/apt.conf.d) holds, what it takes from there not.
_APT_CONFIGURATION = """\
Dir::State "{root}";
Dir::State::status "{root}/status";
Dir::Cache "{root}";
Dir::Etc::sourcelist "{root}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Sandbox::User "{user}";
Acquire::Languages "none";
"""
# These move on and have no security updates of their own.
_MOVING = ("forky", "sid", "experimental")


class Unavailable(Exception):
    """A package cannot be had; the text names the way out."""


def run(*command, **options):
    """What a command prints; Unavailable, with what it says, if it fails."""
    result = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=900, **options
    )
    if result.returncode:
        raise Unavailable(f"{' '.join(map(str, command))}:\n{result.stderr}")
    return result.stdout


def mirrors():
    """[(address, suite pattern)] of Debian and of its security updates, as this machine's apt is
    told; the pattern has {} for the release.
    """
    fields = "$(ORIGIN)|$(LABEL)|$(REPO_URI)"
    lines = run("apt-get", "indextargets", "Created-By: Packages", "--format", fields)
    addresses = {tuple(line.split("|")[:2]): line.split("|")[2] for line in lines.splitlines()}
    suites = {("Debian", "Debian"): "{}", ("Debian", "Debian-Security"): "{}-security"}
    found = [(addresses[label], suite) for label, suite in suites.items() if label in addresses]
    if not found:
        raise Unavailable("apt knows no Debian mirror; run: apt-get update, or see apt-get(8)")
    return found


class AptRoot:
    """An empty directory at `path` with lists of packages of some releases and of one architecture:
    of `kinds`, `deb` and `deb-src`. download() takes from them, whatever is installed on this machine.
    """

    def __init__(self, path, architecture, releases, kinds=("deb",)):
        self.path = pathlib.Path(path)
        for name in ("lists/partial", "archives/partial"):
            (self.path / name).mkdir(parents=True)
        (self.path / "status").touch()
        configuration = _APT_CONFIGURATION.format(
            root=self.path,
            architecture=architecture,
            user="root" if os.geteuid() == 0 else "_apt",
        )
        (self.path / "apt.conf").write_text(configuration)
        sources = [
            f"{kind} [signed-by={_KEYRING}] {address} {suite.format(release)} main\n"
            for kind in kinds
            for address, suite in mirrors()
            for release in releases
            if suite == "{}" or release not in _MOVING
        ]
        (self.path / "sources.list").write_text("".join(sources))
        self.apt("apt-get", "update")

    def apt(self, *command, **options):
        environment = os.environ | {"APT_CONFIG": str(self.path / "apt.conf"), "LC_ALL": "C"}
        return run(*command, env=environment, **options)

    def download(self, *packages):
        """The paths of the newest .deb files of `packages`."""
        directory = pathlib.Path(tempfile.mkdtemp(prefix="deb-", dir=self.path))
        self.apt("apt-get", "download", *packages, cwd=directory)
        return sorted(directory.glob("*.deb"))

    def download_source(self, package):
        """The paths of the files of a source package: the .dsc and what it names."""
        directory = pathlib.Path(tempfile.mkdtemp(prefix="src-", dir=self.path))
        self.apt("apt-get", "source", "--download-only", package, cwd=directory)
        return sorted(directory.iterdir())

    def download_with_dependencies(self, *packages):
        """The paths of the .deb files of `packages` and of all that they need."""
        options = ("--yes", "--no-install-recommends", "--download-only")
        self.apt("apt-get", "install", *options, *packages)
        return sorted((self.path / "archives").glob("*.deb"))
