# SPDX-License-Identifier: Apache-2.0
"""An upgrade of a package looks at the configuration as the service will see it: with the variables and
options of profcol.conf, read as systemd reads that file. The scripts of the .deb and of the .rpm run in a
mount namespace of their own, with stubs for what would change the machine.
"""
import os
import subprocess

import pytest

RECEIVER = 'receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:4317"}}}}\n'
PIPELINE = "service: {pipelines: {profiles: {receivers: [otlp], exporters: [otlp_grpc]}}}\n"
WITH_VARIABLE = RECEIVER + 'exporters: {otlp_grpc: {endpoint: "${env:GATEWAY}"}}\n' + PIPELINE
WITHOUT_ENDPOINT = RECEIVER + "exporters: {otlp_grpc: }\n" + PIPELINE

SCRIPT = """
set -e
mount --make-rprivate /
made=
for directory in /etc/profcol /usr/libexec/profcol; do
	[ -d $directory ] || { mkdir $directory; made="$made $directory"; }
	mount -t tmpfs none $directory
done
trap 'umount /etc/profcol /usr/libexec/profcol; [ -z "$made" ] || rmdir $made' EXIT
mount -t tmpfs none /run
mount -t tmpfs none /var/lib
mkdir -p /run/systemd/system
cp "$1/profcol.conf" "$1/pipeline.yaml" /etc/profcol
cp "$2/validate-service" /usr/libexec/profcol
shift 2
PATH=$STUBS:$PATH sh "$@"
"""


# By package: its script and that script's arguments, and the stub that restarts the service.
SCRIPTS = {
    "deb": (["deb/postinst", "configure", "0.0.1"], "deb-systemd-invoke", "restart profcol.service"),
    "rpm": (["rpm/postun", "1"], "systemctl", "try-restart profcol.service"),
}


@pytest.fixture(params=SCRIPTS)
def upgrade(request, program, source, tmp_path):
    """upgrade(settings, configuration): what the script says, and whether the service restarts."""
    arguments, restarter, restart = SCRIPTS[request.param]
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    for name in ("deb-systemd-helper", "systemctl", "useradd", "chown", "getent"):
        (stubs / name).write_text("#!/bin/sh\nexit 0\n")
    (stubs / restarter).write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/invoked\n')
    for stub in stubs.iterdir():
        stub.chmod(0o755)
    (stubs / "profcol").symlink_to(program)

    def run(settings, configuration):
        (tmp_path / "profcol.conf").write_text(settings)
        (tmp_path / "pipeline.yaml").write_text(configuration)
        packages = source / "deploy/packages"
        script = [packages / arguments[0], *arguments[1:]]
        command = ["unshare", "-m", "sh", "-c", SCRIPT, "sh", tmp_path, packages, *script]
        environment = {**os.environ, "STUBS": str(stubs)}
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert result.returncode == 0, result.stderr
        invoked = tmp_path / "invoked"
        return result.stderr, invoked.exists() and restart in invoked.read_text()

    return run


@pytest.mark.parametrize(
    "settings, configuration",
    [
        ("GATEWAY=gw.example:4317\n", WITH_VARIABLE),
        ("# a comment\n\nGATEWAY = no assignment\nGATEWAY='gw.example:4317'", WITH_VARIABLE),
        (
            'PROFCOL_CONFIG="/etc/profcol/pipeline.yaml"\nGATEWAY="gw.example:4317"\n',
            WITH_VARIABLE,
        ),
        (
            'PROFCOL_OPTIONS="--set exporters.otlp_grpc.endpoint=gw.example:4317"\n',
            WITHOUT_ENDPOINT,
        ),
        (
            """; one\nPROFCOL_OPTIONS = '--set "exporters.otlp_grpc={endpoint: gw:4317}"' \n""",
            WITHOUT_ENDPOINT,
        ),
    ],
)
def test_a_configuration_that_the_service_takes_is_started(upgrade, settings, configuration):
    said, restarts = upgrade(settings, configuration)
    assert restarts and "not valid" not in said, said


def test_one_that_it_does_not_take_is_not_started(upgrade):
    said, restarts = upgrade("PROFCOL_OPTIONS=\n", WITHOUT_ENDPOINT)
    assert not restarts
    assert 'requires a non-empty "endpoint"' in said and "not valid" in said
