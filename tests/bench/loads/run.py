#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a load: builds its programs, prints `ready` when they run at full speed, and in the end one
line of JSON with the work done. README.md beside this file says what the loads are."""
import argparse
import json
import os
import sys

from cache import BuildError, Cache
from loads import LOADS, PYTHON, Recipe
from processes import Processes
from work import Work, WorkError


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("load", choices=LOADS)
    parser.add_argument("--seconds", type=float, default=10, help="of work after `ready` (10)")
    parser.add_argument("--cache", required=True, help="directory for what is built")
    parser.add_argument("--cpus", type=int, default=os.cpu_count(), help="to keep busy (all)")
    parser.add_argument("--prepare", action="store_true", help="only build")
    return parser.parse_args()


def run(arguments, processes):
    cache = Cache(arguments.cache, processes)
    recipe = Recipe(cache, arguments.cpus)
    recipe.need(PYTHON)
    programs = LOADS[arguments.load](recipe)
    cache.unlock()
    if arguments.prepare:
        return
    work = Work(programs, processes)
    work.wait_ready()
    print("ready", flush=True)
    seconds = work.measure(arguments.seconds)
    result = {"load": arguments.load, "seconds": round(seconds, 3), "cpus": arguments.cpus}
    result |= work.result() | {"left_out": recipe.left_out, "versions": recipe.versions}
    result |= {"sizes": recipe.sizes}
    print(json.dumps(result), flush=True)


# Settings for every program of a runtime. A load works the same whatever its user has set; some
# runtimes also print that they found them.
SETTINGS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "NODE_OPTIONS", "GODEBUG")


def main():
    arguments = parse_arguments()
    for name in SETTINGS:
        os.environ.pop(name, None)
    try:
        with Processes() as processes:
            run(arguments, processes)
    except (BuildError, WorkError, OSError) as error:
        sys.exit(f"loads: {arguments.load}: {error}")


if __name__ == "__main__":
    main()
