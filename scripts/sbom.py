#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a program is made of, as SPDX 2.3 in JSON: sbom.py PROGRAM MAP VERSION [FILE...]

MAP is what the linker has written with -Map: which archives are in the program. FILE: what lies
beside it in an image, each as SYSTEM_PATH. Packages and versions are those that dpkg has, so that
scanners that know Debian know them.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# What the build takes out of an archive to change it (cmake/cxa_demangle.cmake).
_TAKEN_OUT = {"cxa_demangle.cpp.o": "/usr/lib/llvm-19/lib/libc++abi.a"}
_MEMBER = re.compile(r"^(/\S+\.a)\(", re.MULTILINE)
_NEEDED = re.compile(r"\(NEEDED\).*\[(.+)\]")
_UNFIT = re.compile(r"[^A-Za-z0-9.-]")


def archives(link_map):
    """Paths of the archives that have given something to the program, of those of the system."""
    text = pathlib.Path(link_map).read_text(errors="replace")
    included = text.partition("\nDiscarded input sections")[0]
    found = {os.path.realpath(path) for path in _MEMBER.findall(included)}
    return sorted(found | {path for name, path in _TAKEN_OUT.items() if f"({name})" in included})


def libraries(program):
    """Paths of the shared libraries that the loader is asked for."""
    dynamic = subprocess.run(
        ["readelf", "--dynamic", "--wide", program], capture_output=True, text=True, check=True
    ).stdout
    folders = [*pathlib.Path("/usr/lib").glob("*-linux-gnu"), pathlib.Path("/usr/lib")]
    found = []
    for name in _NEEDED.findall(dynamic):
        found += [str(f / name) for f in folders if (f / name).exists()][:1]
    return found


def names_of(path):
    """All that a package may call it by: /lib is a link to /usr/lib."""
    plain = path.removeprefix("/usr")
    return dict.fromkeys((path, os.path.realpath(path), plain, "/usr" + plain))


def packages_of(paths):
    """{path: (name, version, architecture, source)} of the packages of files, for those that have
    one. dpkg reads all of its lists for each question, so there is one.
    """
    candidates = [name for path in paths for name in names_of(path)]
    search = ["dpkg-query", "--search", *dict.fromkeys(candidates)]
    # It fails when one of them is in no package, and says the others all the same.
    found = subprocess.run(search, capture_output=True, text=True, check=False).stdout
    owners = {}
    for line in found.splitlines():
        owner, _, name = line.partition(": ")
        owners.setdefault(name, owner.split(",")[0])
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\n"
    show = ["dpkg-query", "--show", f"--showformat={form}", *dict.fromkeys(owners.values())]
    shown = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    known = {line.split("\t")[0]: tuple(line.split("\t")) for line in shown.splitlines()}
    result = {}
    for path in paths:
        for name in names_of(path):
            if name in owners:
                result.setdefault(path, known[owners[name].partition(":")[0]])
    return result


def identity(*parts):
    return "SPDXRef-" + _UNFIT.sub("-", "-".join(parts))


def describe(package):
    name, version, architecture, source = package
    return {
        "SPDXID": identity("Package", name),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "sourceInfo": f"built from the source package {source}",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch={architecture}"
                "&distro=debian-12",
            }
        ],
    }


def created():
    """When the source was made, where that is said, so that two builds give one text."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if not seconds:
        root = pathlib.Path(__file__).parent
        command = ["git", "-C", root, "log", "-1", "--format=%ct"]
        shown = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = shown.stdout.strip() or "0"
    when = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def own(program, version):
    digest = hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()
    return digest, {
        "SPDXID": "SPDXRef-profcol",
        "name": "profcol",
        "versionInfo": version,
        "supplier": "Organization: The profcol authors",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0 AND GPL-2.0-only",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
    }


def document(program, link_map, version, files):
    digest, profcol = own(program, version)
    packages = {profcol["SPDXID"]: profcol}
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-profcol")]
    kinds = [
        ("STATIC_LINK", archives(link_map)),
        ("DYNAMIC_LINK", libraries(program)),
        ("OTHER", files),
    ]
    owners = packages_of([path for _, paths in kinds for path in paths])
    for kind, paths in kinds:
        for path in paths:
            package = owners.get(path)
            if not package:
                sys.exit(f"sbom.py: no package has '{path}'; build it on Debian, of Debian's alone")
            part = describe(package)
            packages[part["SPDXID"]] = part
            relation = ("SPDXRef-profcol", kind, part["SPDXID"])
            if relation not in relations:
                relations.append(relation)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"profcol-{version}",
        "documentNamespace": f"https://profcol.invalid/spdx/{version}/{digest}",
        "creationInfo": {"created": created(), "creators": ["Tool: profcol-scripts/sbom.py"]},
        "packages": list(packages.values()),
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
            for a, kind, b in relations
        ],
    }


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, link_map, version, *files = sys.argv[1:]
    json.dump(document(program, link_map, version, files), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
