# SPDX-License-Identifier: Apache-2.0
"""--watch-config: files that change, as editors and as Kubernetes change them."""
import contextlib
import json
import os
import pathlib
import shutil
import time

from profcol_run import pipeline
from waiting import wait_until

_DONE = "Config reload complete."
_FAILED = "Config reload failed"


class ConfigMap:
    """A volume as the kubelet makes it: `pipeline.yaml` by way of a link that is replaced."""

    def __init__(self, directory):
        self.directory = directory
        self.version = 0
        directory.mkdir()
        (directory / "pipeline.yaml").symlink_to("..data/pipeline.yaml")

    def swap(self, text):
        old = self.directory / f"..version_{self.version}"
        self.version += 1
        new = self.directory / f"..version_{self.version}"
        new.mkdir()
        (new / "pipeline.yaml").write_text(text)
        (self.directory / "..data_tmp").symlink_to(new.name)
        os.replace(self.directory / "..data_tmp", self.directory / "..data")
        shutil.rmtree(old, ignore_errors=True)


def _wait_more(run, text, count):
    def seen():
        assert run.is_running(), run.log
        return run.log.count(text) >= count

    wait_until(seen, f"'{text}' {count} times in:\n{run.log[-2000:]}")


def test_a_configmap_is_swapped_broken_and_mended(start_profcol, burner, tmp_path):
    volume = ConfigMap(tmp_path / "volume")
    volume.swap("exporters: {pprof: {interval: 1h}}")
    run = start_profcol(
        pipeline(tmp_path / "out"),
        arguments=["--config", volume.directory / "pipeline.yaml", "--watch-config"],
    ).wait_ready()

    volume.swap("exporters: {pprof: {interval: 2h}}")
    _wait_more(run, _DONE, 1)
    assert "Stopping 1 components: exporter 'pprof'" in run.log

    volume.swap("exporters: {pprof: {interval: never}}")
    _wait_more(run, _FAILED, 1)
    assert "exporters::pprof::interval" in run.log

    volume.swap("exporters: {pprof: {interval: 3h}}")
    _wait_more(run, _DONE, 2)
    burner.wait_burnt(200)
    run.stop()
    assert run.balance().lost_on_the_way == 0
    assert run.balance().exported > 0


def test_a_touch_reloads_nothing(start_profcol, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out"), arguments=["--watch-config"]).wait_ready()
    os.utime(run.configuration)
    text = run.configuration.read_text()
    run.configuration.write_text(text)
    time.sleep(1.5)  # it looks half a second after the last of them
    assert "A file of the configuration has changed" not in run.log
    # A change that counts shows that somebody looks.
    configuration = json.loads(text)
    configuration["exporters"]["pprof"]["interval"] = "2h"
    run.configuration.write_text(json.dumps(configuration))
    _wait_more(run, _DONE, 1)
    run.stop()
    assert run.log.count(_DONE) == 1
    assert run.log.count("A file of the configuration has changed") == 1


def test_files_named_in_the_configuration_count(start_profcol, tmp_path):
    interval = tmp_path / "interval"
    interval.write_text("1h")
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": f"${{file:{interval}}}"}}
    run = start_profcol(pipeline(exporters=exporters), arguments=["--watch-config"]).wait_ready()
    interval.write_text("2h")
    _wait_more(run, "Stopping 1 components: exporter 'pprof'", 1)
    _wait_more(run, _DONE, 1)
    run.stop()


def test_a_file_that_was_missing_is_awaited(start_profcol, tmp_path):
    interval = tmp_path / "interval"
    run = start_profcol(pipeline(tmp_path / "out"), arguments=["--watch-config"]).wait_ready()
    configuration = json.loads(run.configuration.read_text())
    configuration["exporters"]["pprof"]["interval"] = f"${{file:{interval}}}"
    run.configuration.write_text(json.dumps(configuration))
    _wait_more(run, _FAILED, 1)
    interval.write_text("2h")
    _wait_more(run, _DONE, 1)
    run.stop()


def test_nobody_watches_unless_asked(start_profcol, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    for path in pathlib.Path(f"/proc/{run.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile: nobody watches by it
            assert "inotify" not in os.readlink(path)
    run.stop()
