# SPDX-License-Identifier: Apache-2.0
"""Python 3.14 or later that has forged what its asyncio says of tasks, and then computes without
coming back. Argument: in which way.
"""
import asyncio
import ctypes
import hashlib
import sys

# Where in structures what lies (receiver/ebpf/runtimes/cpython/task_offsets.c).
AWAITED_BY, MARKS, COROUTINE, NAME = 96, 108, 128, 136
FRAME, STACK = 72, 64
AWAITED = 8 if sys.version_info < (3, 15) else 16
TYPE, LENGTH, TEXT_STATE = 8, 16, 32


def read(address):
    return ctypes.c_uint64.from_address(address).value


def write(address, word):
    ctypes.c_uint64.from_address(address).value = word & (2**64 - 1)


def circle(task, awaiter):
    write(task + AWAITED_BY, task)
    write(awaiter + AWAITED_BY, awaiter)


def two(task, awaiter):
    """The one that waits is waited for by itself; all of its coroutines are there each time."""
    write(awaiter + AWAITED_BY, awaiter)


def futures(task, awaiter):
    """A chain of futures that are no tasks, without an end."""
    future = id(asyncio.get_running_loop().create_future())
    ctypes.pythonapi.Py_IncRef(ctypes.c_void_p(future))
    write(future + AWAITED_BY, future)
    write(task + AWAITED_BY, future)


def coroutine(task, awaiter):
    """It waits for itself."""
    one = read(awaiter + COROUTINE)
    write(read(one + FRAME + STACK) - AWAITED, one)


def wild(field, word, of_awaiter=False):
    return lambda task, awaiter: write((awaiter if of_awaiter else task) + field, word)


def several(task, awaiter):
    ctypes.c_uint8.from_address(task + MARKS + 1).value = 1


def long_name(length, state=None):
    def change(task, awaiter):
        name = read(task + NAME)
        write(name + LENGTH, length)
        if state is not None:
            ctypes.c_uint32.from_address(name + TEXT_STATE).value = state

    return change


ODD = {"null": 0, "low": 8, "odd": 0x4141414141414141, "kernel": 0xFFFF888000000000, "last": 2**64 - 8}

WAYS = {
    "circle": circle,
    "two": two,
    "futures": futures,
    "coroutine": coroutine,
    "several": several,
    "long_name": long_name(2**63),
    "long_wide_name": long_name(2**20, 4 << 2 | 3 << 5),
    **{f"awaiter_{name}": wild(AWAITED_BY, word) for name, word in ODD.items()},
    **{f"coroutine_{name}": wild(COROUTINE, word, True) for name, word in ODD.items()},
    **{f"name_{name}": wild(NAME, word) for name, word in ODD.items()},
}


async def compute(change):
    task = asyncio.current_task()
    (awaiter,) = task._asyncio_awaited_by
    change(id(task), id(awaiter))
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)


async def main(change):
    # A name of its own: one of the program's constants would be forged for all.
    name = "".join(["a name ", "that is ", "made here"])
    await asyncio.create_task(compute(change), name=name)


if __name__ == "__main__":
    asyncio.run(main(WAYS[sys.argv[1]]))
