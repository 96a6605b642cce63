# SPDX-License-Identifier: Apache-2.0
"""Logs of other programs in which each line is a JSON text."""
import json


def read_json_lines(path):
    """All that has been written; a line that is still being written is left out."""
    with path.open() as file:
        return [json.loads(line) for line in file if line.endswith("\n")]
