# SPDX-License-Identifier: Apache-2.0
"""Debian's kernels, as this machine's Debian mirror has them.

Each is kept in the cache as it was when it was first asked for, in VERSION-ARCHITECTURE/vmlinuz;
a kernel from elsewhere may be put there. Nothing of this machine's own packages is touched: apt
works in a directory of its own. No root needed.
"""
import os
import pathlib
import subprocess
import tempfile

# By version: the release that has it. Cloud kernels are the same source with fewer drivers.
RELEASES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "trixie"}

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


class Unavailable(Exception):
    """A kernel cannot be had; the text names the way out."""


def cache():
    """Where what is downloaded stays."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "profcol/kernels"


def _run(*command, **options):
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
    lines = _run("apt-get", "indextargets", "Created-By: Packages", "--format", fields)
    addresses = {tuple(line.split("|")[:2]): line.split("|")[2] for line in lines.splitlines()}
    suites = {("Debian", "Debian"): "{}", ("Debian", "Debian-Security"): "{}-security"}
    found = [(addresses[label], suite) for label, suite in suites.items() if label in addresses]
    if not found:
        raise Unavailable("apt knows no Debian mirror; run: apt-get update, or see apt-get(8)")
    return found


class AptRoot:
    """An empty directory at `path` with lists of packages of some releases and of one architecture.
    download() takes from them, whatever is installed on this machine.
    """

    def __init__(self, path, architecture, releases):
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
            f"deb [signed-by={_KEYRING}] {address} {suite.format(release)} main\n"
            for address, suite in mirrors()
            for release in releases
        ]
        (self.path / "sources.list").write_text("".join(sources))
        self.apt("apt-get", "update")

    def apt(self, *command, **options):
        environment = os.environ | {"APT_CONFIG": str(self.path / "apt.conf"), "LC_ALL": "C"}
        return _run(*command, env=environment, **options)

    def download(self, *packages):
        """The paths of the newest .deb files of `packages`."""
        directory = pathlib.Path(tempfile.mkdtemp(prefix="deb-", dir=self.path))
        self.apt("apt-get", "download", *packages, cwd=directory)
        return sorted(directory.glob("*.deb"))

    def download_with_dependencies(self, *packages):
        """The paths of the .deb files of `packages` and of all that they need."""
        options = ("--yes", "--no-install-recommends", "--download-only")
        self.apt("apt-get", "install", *options, *packages)
        return sorted((self.path / "archives").glob("*.deb"))

    def kernel_package(self, architecture):
        """The name of the package that has the newest cloud kernel."""
        text = self.apt("apt-cache", "depends", f"linux-image-cloud-{architecture}")
        names = [line.split()[-1] for line in text.splitlines() if "Depends: linux-image" in line]
        if not names:
            raise Unavailable(f"no kernel among what linux-image-cloud-{architecture} needs")
        return names[0]


def _fetch(version, architecture, directory):
    """vmlinuz into `directory`, complete or not there."""
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="apt-", dir=cache()) as path:
        root = AptRoot(path, architecture, [RELEASES[version]])
        (package,) = root.download(root.kernel_package(architecture))
        _run("dpkg-deb", "-x", package, root.path / "unpacked")
        (image,) = (root.path / "unpacked/boot").glob("vmlinuz-*")
        directory.mkdir(exist_ok=True)
        os.rename(image, directory / "vmlinuz")


def kernel(version, architecture="amd64"):
    """The path of the image of Debian's kernel `version`, one of RELEASES."""
    directory = cache() / f"{version}-{architecture}"
    image = directory / "vmlinuz"
    if not image.exists():
        try:
            _fetch(version, architecture, directory)
        except Unavailable as why:
            raise Unavailable(f"no kernel {version}; put one at {image}. {why}") from why
    return image
