# SPDX-License-Identifier: Apache-2.0
"""Building and configuring plugins."""
import subprocess


def run_quietly(*command, **options):
    """A command that has to succeed, and what it prints."""
    result = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    assert result.returncode == 0, f"{command}:\n{result.stdout}"
    return result.stdout


def with_plugins(configuration, directory):
    configuration["service"]["plugins"] = [str(directory)]
    return configuration
