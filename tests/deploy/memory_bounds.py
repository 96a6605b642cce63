# SPDX-License-Identifier: Apache-2.0
"""The bounds on memory that a container and the configuration in it set."""
import re

_UNITS = {"Mi": 1 << 20, "MiB": 1 << 20, "Gi": 1 << 30, "GiB": 1 << 30}


def _bytes(text):
    number, unit = re.fullmatch(r"(\d+)(\w+)", text).groups()
    return int(number) * _UNITS[unit]


def check_memory_bounds(container, configuration):
    """`overhead` acts before memory_limiter refuses batches, and that before the kernel kills."""
    limiter = configuration["processors"]["memory_limiter"]
    refuses_percent = limiter["limit_percentage"] - limiter["spike_limit_percentage"]
    refuses_bytes = _bytes(container["resources"]["limits"]["memory"]) * refuses_percent / 100
    assert _bytes(configuration["receivers"]["profiling"]["overhead"]["memory"]) < refuses_bytes
    assert limiter["limit_percentage"] < 100
