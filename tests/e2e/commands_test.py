# SPDX-License-Identifier: Apache-2.0
"""The commands beside the run itself, as a user or a script meets them."""
import copy
import json
import os
import re
import subprocess

import pytest
import yaml

from profcol_run import pipeline
from waiting import BOUND_S

pytestmark = pytest.mark.sanitized

EX_CONFIG = 78
EX_USAGE = 2
SECRET = "hunter2-7f3a"


@pytest.fixture
def profcol(program):
    """profcol(*arguments): a finished run."""

    def run(*arguments, environment=None):
        return subprocess.run(
            [program, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            env=os.environ | (environment or {}),
        )

    return run


@pytest.fixture
def write(tmp_path):
    """write(configuration, name="pipeline.yaml"): the path of a file with it."""

    def write_one(configuration, name="pipeline.yaml"):
        path = tmp_path / name
        if not isinstance(configuration, str):
            configuration = json.dumps(configuration)
        path.write_text(configuration)
        return path

    return write_one


def sending(**more):
    """A configuration with a secret in it."""
    return pipeline(
        exporters={
            "otlp_grpc": {
                "endpoint": "localhost:4317",
                "tls": {"insecure": True},
                "headers": {"authorization": SECRET},
            }
            | more
        }
    )


# ---- usage ----


def test_without_a_configuration_a_minimal_one_is_shown_and_works(profcol, write):
    result = profcol()
    assert result.returncode == EX_USAGE
    assert result.stdout == ""
    first, _, minimal = result.stderr.partition("\n\n")
    assert "at least one config flag must be provided" in first
    assert profcol("validate", "--config", write(minimal)).returncode == 0


def test_version_and_help(profcol):
    version = profcol("--version")
    assert re.fullmatch(r"profcol version \d+\.\d+\.\d+\n", version.stdout)
    assert profcol("-v").stdout == version.stdout
    help_text = profcol("--help")
    assert (help_text.returncode, help_text.stderr) == (0, "")
    for word in ("validate", "doctor", "--watch-config", "--set"):
        assert word in help_text.stdout


def test_help_takes_the_command_that_it_is_about(profcol):
    asked = profcol("help", "validate")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout == profcol("--help").stdout


@pytest.mark.parametrize("command", ["components", "schema"])
@pytest.mark.parametrize("with_file", [False, True])
def test_wrong_flags_are_told_where_no_configuration_is_needed(
    profcol, write, tmp_path, command, with_file
):
    arguments = [command]
    if with_file:
        arguments += ["--config", write(pipeline(tmp_path))]
    assert profcol(*arguments, "--set", "a.b=c").returncode == 0
    gate = profcol(*arguments, "--feature-gates=bogus")
    assert (gate.returncode, gate.stdout) == (EX_CONFIG, "")
    assert 'no such feature gate "bogus"' in gate.stderr
    wrong = profcol(*arguments, "--set", "nonsense")
    assert (wrong.returncode, wrong.stdout) == (EX_CONFIG, "")
    assert "missing equal sign" in wrong.stderr


def test_output_that_cannot_be_written_is_an_error(program):
    with open("/dev/full", "w") as full:
        result = subprocess.run([program, "components"], stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 1
    assert b"cannot write" in result.stderr


# ---- validate ----


def test_validate_is_silent_and_starts_nothing(profcol, write, tmp_path):
    result = profcol("validate", "--config", write(pipeline(tmp_path / "out")))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert not (tmp_path / "out").exists()


def test_validate_takes_a_file_without_a_flag(profcol, write, tmp_path):
    path = write(pipeline(tmp_path / "out"))
    result = profcol("validate", path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    missing = profcol("validate", tmp_path / "missing.yaml")
    assert missing.returncode == EX_CONFIG
    assert "missing.yaml" in missing.stderr
    assert "give one command only" in profcol("validate", "components").stderr


def test_validate_takes_several_sources_and_sets(profcol, write, tmp_path):
    first = write(pipeline(tmp_path / "out"), "first.yaml")
    second = write("receivers: {profiling: {samples_per_second: 50}}", "second.yaml")
    arguments = ["validate", "-config", first, "--config=file:" + str(second)]
    assert profcol(*arguments).returncode == 0
    refused = profcol(*arguments, "--set", "receivers.profiling.samples_per_second=0")
    assert refused.returncode == EX_CONFIG
    assert "samples_per_second" in refused.stderr
    from_environment = profcol(
        "validate", "--config", "env:PIPELINE", environment={"PIPELINE": first.read_text()}
    )
    assert from_environment.returncode == 0, from_environment.stderr


UNHAPPY = """
receivers: {profiling: {}}
exporters:
  otlp_grpc:
    endpoint: gateway:4317
    headers: {authorization: "Bearer ${env:PROFCOL_TEST_TOKEN}"}
    tls: {ca_file: %(folder)s/ca.pem, cert_file: %(folder)s/there.pem, key_file: %(folder)s/there.pem}
  pprof: {directory: %(folder)s/not/there}
service: {pipelines: {profiles: {receivers: [profiling], exporters: [otlp_grpc, pprof]}}}
"""


def test_validate_warns_of_what_will_hurt_at_run_time(profcol, write, tmp_path):
    (tmp_path / "there.pem").touch()
    path = write(UNHAPPY % {"folder": tmp_path})
    result = profcol("validate", path)
    assert (result.returncode, result.stdout) == (0, "")
    variable, authority, directory = result.stderr.splitlines()
    assert variable.startswith(f"warning: {path}:6:30: ") and "PROFCOL_TEST_TOKEN" in variable
    assert authority.startswith(f"warning: {path}:7:20: ") and "ca.pem' cannot be read" in authority
    assert directory.startswith(f"warning: {path}:8:22: ") and "cannot be written" in directory


def test_a_misspelled_key_does_not_hide_other_mistakes(profcol, write):
    configuration = """
receivers:
  otlp:
    protocols: {grpc: {endpoint: "127.0.0.1:4317", read_buffer: 1}}
exporters:
  pprof: {directory: /tmp, file_prefix: a/b, formt: pprof}
service: {pipelines: {profiles: {receivers: [otlp], exporters: [pprof]}}}
"""
    result = profcol("validate", write(configuration))
    assert result.returncode == EX_CONFIG
    for mistake in ("read_buffer", "formt", "a/b"):
        assert mistake in result.stderr, result.stderr


# ---- print-config ----


def effective(profcol, *arguments):
    result = profcol("print-config", *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_print_config_shows_the_defaults_and_hides_secrets(profcol, write):
    path = write(sending())
    text = effective(profcol, "--config", path)
    assert SECRET not in text
    assert "[REDACTED]" in text
    printed = yaml.safe_load(text)
    assert printed["receivers"]["profiling"]["samples_per_second"] == 99
    assert printed["exporters"]["otlp_grpc"]["sending_queue"]["num_consumers"] == 10
    assert printed["service"]["pipelines"]["profiles"]["exporters"] == ["otlp_grpc"]


@pytest.mark.parametrize(
    "change, said",
    [
        ({"exporters": {"otlp_grpc": {"endpoint": "${env:HIDDEN}"}}}, "invalid port"),
        ({"exporters": {"otlp_grpc": {"endpoint": "http://x:${env:HIDDEN}"}}}, "endpoint"),
        ({"exporters": {"pprof": {"directory": "/x", "file_prefix": "${env:HIDDEN}"}}}, "cannot begin"),
        ({"exporters": {"pprof": {"directory": "/x", "interval": "${env:HIDDEN}"}}}, "duration"),
        (
            {"service": {"telemetry": {"metrics": {"readers": [
                {"pull": {"exporter": {"prometheus": {"host": "${env:HIDDEN}", "port": 1}}}}
            ]}}}},
            "readers",
        ),
    ],
)
def test_what_a_variable_holds_is_in_no_message(profcol, write, change, said):
    configuration = sending()
    for section, parts in change.items():
        configuration[section] = configuration.get(section, {}) | parts
    if "pprof" in change.get("exporters", {}):
        configuration["service"]["pipelines"]["profiles"]["exporters"].append("pprof")
    hidden = {"HIDDEN": "user:hunter2horse@host/x y"}
    result = profcol("validate", "--config", write(configuration), environment=hidden)
    assert result.returncode != 0
    assert said in result.stderr
    for piece in ("hunter2", "horse", "user:", "@host"):
        assert piece not in result.stdout + result.stderr


def test_print_config_hides_what_the_user_calls_things(profcol, write):
    service = {"telemetry": {
        "resource": {"token": "hunter2", "empty": ""}, "logs": {"initial_fields": {"key": "hunter3"}}
    }}
    configuration = sending()
    configuration["service"] |= service
    text = effective(profcol, "--config", write(configuration))
    assert "hunter" not in text
    printed = yaml.safe_load(text)["service"]["telemetry"]
    assert printed["resource"] == {"token": "[REDACTED]", "empty": ""}
    assert printed["logs"]["initial_fields"] == {"key": "[REDACTED]"}


def test_print_config_as_json_says_the_same(profcol, write):
    path = write(sending())
    as_json = json.loads(effective(profcol, "--config", path, "--format", "json"))
    assert as_json == yaml.safe_load(effective(profcol, "--config", path))


def test_what_print_config_prints_is_a_configuration(profcol, write):
    path = write(sending())
    text = effective(profcol, "--config", path, "--mode", "unredacted")
    assert SECRET in text
    again = write(text, "again.yaml")
    assert effective(profcol, "--config", again, "--mode", "unredacted") == text
    assert profcol("validate", "--config", again).returncode == 0


def test_print_config_tells_the_empty_word_from_the_default(profcol, write):
    configuration = sending()
    configuration["exporters"]["otlp_grpc"]["compression"] = ""
    text = effective(profcol, "--config", write(configuration))
    assert yaml.safe_load(text)["exporters"]["otlp_grpc"]["compression"] == ""


def test_set_goes_last(profcol, write, tmp_path):
    path = write(pipeline(tmp_path))
    text = effective(
        profcol, "--set", "receivers.profiling.samples_per_second=7", "--config", path
    )
    assert yaml.safe_load(text)["receivers"]["profiling"]["samples_per_second"] == 7


def test_log_level_is_a_set(profcol, write, tmp_path):
    path = write(pipeline(tmp_path))
    text = effective(profcol, "--config", path, "--log-level", "debug")
    assert yaml.safe_load(text)["service"]["telemetry"]["logs"]["level"] == "debug"
    for word in ("DEBUG", "warning"):  # as the key
        assert profcol("validate", "--config", path, "--log-level", word).returncode == 0
    refused = profcol("validate", "--config", path, "--log-level", "inf")
    assert refused.returncode == EX_CONFIG
    assert "did you mean 'info'?" in refused.stderr


# ---- components ----


def flatten(options, prefix=""):
    """(dotted key, option) of every option, nested ones too."""
    for option in options:
        yield prefix + option["key"], option
        yield from flatten(option.get("options", []), f"{prefix}{option['key']}.")


def test_components_is_yaml_with_every_option(profcol):
    listed = yaml.safe_load(profcol("components").stdout)
    assert list(listed) == [
        "buildinfo", "receivers", "processors", "exporters", "connectors", "extensions",
        "providers", "converters",
    ]  # fmt: skip
    assert listed["connectors"] == []
    (profiling,) = (c for c in listed["receivers"] if c["name"] == "profiling")
    options = dict(flatten(profiling["options"]))
    rate = options["samples_per_second"]
    assert (rate["type"], rate["default"], rate["minimum"]) == ("int", 20, 1)
    assert options["interpreters.python.disabled"]["default"] is False
    (otlp,) = (c for c in listed["exporters"] if c["name"] == "otlp_grpc")
    assert otlp["aliases"] == ["otlp"]
    keys = dict(flatten(otlp["options"]))
    assert keys["endpoint"]["required"] is True
    assert keys["sending_queue.num_consumers"]["default"] == 10  # the host's part
    for kind in ("receivers", "processors", "exporters", "extensions"):
        for component in listed[kind]:
            for key, option in flatten(component["options"]):
                assert option["type"] and option["doc"], f"{component['name']}: {key}"


def test_components_lists_what_the_readmes_list(profcol, source):
    """The tables of the READMEs and the list come from the same place."""
    listed = yaml.safe_load(profcol("components").stdout)
    folders = {"profiling": "receiver/ebpf"}
    for kind in ("receivers", "processors", "exporters", "extensions"):
        for component in listed[kind]:
            name = component["name"]
            folder = f"receiver/{name}" if kind == "receivers" else f"{kind}/{name}"
            folder = folders.get(name, folder)
            readme = (source / folder / "README.md").read_text()
            for key, _ in flatten(component["options"]):
                last = key.split(".")[-1]
                assert re.search(rf"^\| `(\S+\.)?{last}` \|", readme, re.MULTILINE), (name, key)


# ---- featuregate ----


def test_featuregate(profcol):
    table = profcol("featuregate")
    assert table.returncode == 0
    header, *rows = table.stdout.splitlines()
    assert header.split() == ["ID", "Enabled", "Stage", "Description"]
    assert any(row.split()[:2] == ["service.profilesSupport", "true"] for row in rows)
    one = profcol("featuregate", "service.profilesSupport")
    assert "Enabled: true" in one.stdout
    unknown = profcol("featuregate", "service.profileSupport")
    assert unknown.returncode == 1
    assert "did you mean 'service.profilesSupport'" in unknown.stderr


# ---- schema ----


@pytest.fixture(scope="module")
def validator(program):
    jsonschema = pytest.importorskip("jsonschema")
    text = subprocess.run([program, "schema"], capture_output=True, text=True, check=True).stdout
    schema = json.loads(text)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def mistakes(validator, configuration):
    return [
        "/".join(map(str, error.absolute_path)) for error in validator.iter_errors(configuration)
    ]


def base():
    return pipeline("/tmp/out")


def test_the_schema_accepts_the_example(validator, source):
    example = yaml.safe_load((source / "pipeline.yaml.example").read_text())
    assert mistakes(validator, example) == []


ACCEPTED = {
    "defaults": lambda c: c["receivers"].update(profiling=None),
    "a name": lambda c: c["receivers"].update({"profiling/other": {}}),
    "an alias": lambda c: c["exporters"].update(
        {"otlp/node": {"endpoint": "a:1", "sending_queue": {"batch": {}}}}
    ),
    "a variable for a number": lambda c: c["receivers"]["profiling"].update(
        samples_per_second="${env:RATE}"
    ),
    "a variable for a section": lambda c: c["exporters"].update(pprof="${file:/etc/pprof.yaml}"),
    "a duration": lambda c: c["receivers"]["profiling"].update(reporter_interval="1m0.5s"),
    "zero for a duration": lambda c: c["exporters"]["pprof"].update(retention={"max_age": 0}),
    "a size": lambda c: c["exporters"]["pprof"].update(max_pending_bytes="1.5GiB"),
    "a size as number": lambda c: c["exporters"]["pprof"].update(max_pending_bytes=1 << 20),
    "words in any case": lambda c: c["exporters"].update(debug={"verbosity": "Detailed"}),
    "the empty word": lambda c: c["exporters"].update(
        otlp={"endpoint": "a:1", "compression": ""}
    ),
    "a list as text": lambda c: c["receivers"]["profiling"].update(include_env_vars="A, B"),
    "pairs for a map": lambda c: c["exporters"].update(
        otlp={"endpoint": "a:1", "headers": [{"name": "a", "value": "b"}]}
    ),
    "no processors": lambda c: c.update(processors=None, connectors=None),
    "a size as digits in text": lambda c: c["exporters"]["pprof"].update(
        max_pending_bytes="1048576"
    ),
    "no time at all, with a sign": lambda c: c["service"].update(shutdown_timeout="-0s"),
    "a key in parts": lambda c: c.update({"exporters::debug::verbosity": "detailed"}),
    "a section in parts": lambda c: c.update({"exporters::pprof": c.pop("exporters")["pprof"]}),
    "a variable for all of a kind": lambda c: c.update(
        receivers="${file:/etc/receivers.yaml}", connectors="${env:NONE}"
    ),
    "a variable for a switch": lambda c: c["exporters"].update(
        otlp={"endpoint": "a:1", "keepalive": {"enabled": "${env:KEEP}"}}
    ),
    "telemetry": lambda c: c["service"].update(
        telemetry={"logs": {"level": "DEBUG"}, "metrics": {"level": "none"}},
        shutdown_timeout="10s",
    ),
}  # fmt: skip

REFUSED = {
    "unknown section": (lambda c: c.update(receiver={}), ""),
    "unknown component": (lambda c: c["exporters"].update(pproof={}), "exporters"),
    "unknown key": (lambda c: c["receivers"]["profiling"].update(rate=1), "receivers/profiling"),
    "text for a number": (
        lambda c: c["receivers"]["profiling"].update(samples_per_second="often"),
        "receivers/profiling/samples_per_second",
    ),
    "out of bounds": (
        lambda c: c["receivers"]["profiling"].update(samples_per_second=0),
        "receivers/profiling/samples_per_second",
    ),
    "no unit": (
        lambda c: c["receivers"]["profiling"].update(reporter_interval=5),
        "receivers/profiling/reporter_interval",
    ),
    "unknown unit": (
        lambda c: c["receivers"]["profiling"].update(reporter_interval="5d"),
        "receivers/profiling/reporter_interval",
    ),
    "no such word": (
        lambda c: c["exporters"].update(debug={"verbosity": "loud"}),
        "exporters/debug/verbosity",
    ),
    "a required key is missing": (
        lambda c: c["exporters"].update(pprof={}), "exporters/pprof",
    ),
    "a required key in a null body": (
        lambda c: c["exporters"].update(pprof=None), "exporters/pprof",
    ),
    "another signal": (
        lambda c: c["service"]["pipelines"].update(traces={"receivers": [], "exporters": []}),
        "service/pipelines",
    ),
    "no exporters": (
        lambda c: c["service"]["pipelines"]["profiles"].update(exporters=[]),
        "service/pipelines/profiles/exporters",
    ),
    "a text for references": (
        lambda c: c["service"]["pipelines"]["profiles"].update(receivers="profiling"),
        "service/pipelines/profiles/receivers",
    ),
    "a negative duration": (
        lambda c: c["receivers"]["profiling"].update(reporter_interval="-5s"),
        "receivers/profiling/reporter_interval",
    ),
    "no service": (lambda c: c.pop("service"), ""),
    "an unknown key of telemetry": (
        lambda c: c["service"].update(telemetry={"logs": {"levels": "info"}}),
        "service/telemetry/logs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ACCEPTED)
def test_the_schema_accepts_what_profcol_accepts(validator, profcol, write, case):
    configuration = base()
    ACCEPTED[case](configuration)
    assert mistakes(validator, configuration) == []
    if "${" in json.dumps(configuration):
        return  # the schema sees the text, profcol what it stands for
    result = profcol("validate", "--config", write(configuration))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("case", REFUSED)
def test_the_schema_refuses_what_profcol_refuses(validator, profcol, write, case):
    change, place = REFUSED[case]
    configuration = copy.deepcopy(base())
    change(configuration)
    found = mistakes(validator, configuration)
    assert place in found
    assert profcol("validate", "--config", write(configuration)).returncode == EX_CONFIG


def test_the_schema_accepts_what_print_config_prints(validator, profcol, write):
    text = effective(profcol, "--config", write(sending()), "--mode", "unredacted")
    assert mistakes(validator, yaml.safe_load(text)) == []
