# SPDX-License-Identifier: Apache-2.0
"""Python 3.11 that has forged what its interpreter says of itself, and then computes without looking
at it. Argument: in which way.
"""
import ctypes
import hashlib
import sys
import threading

WORD = ctypes.sizeof(ctypes.c_void_p)
# Where in structures what lies (receiver/ebpf/runtimes/cpython/offsets.c).
THREAD_CFRAME, THREAD_NEXT = 56, 8
CFRAME_FRAME, CFRAME_PREVIOUS = 8, 16
FRAME_CODE, FRAME_PREVIOUS, FRAME_ENTRY = 32, 48, 68
CODE_FILENAME, CODE_QUALNAME, CODE_LINES = 112, 128, 136
LENGTH, TEXT_STATE = 16, 32


def read(address):
    return ctypes.c_uint64.from_address(address).value


def write(address, word):
    ctypes.c_uint64.from_address(address).value = word & (2**64 - 1)


def thread_state():
    ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
    return ctypes.pythonapi.PyThreadState_Get()


def newest_frame():
    return read(read(thread_state() + THREAD_CFRAME) + CFRAME_FRAME)


def write_byte(address, byte):
    ctypes.c_uint8.from_address(address).value = byte


def compute(change):
    # That of read() itself, of newest_frame(), of this function, of its caller.
    frame = newest_frame()
    for _ in range(3):
        frame = read(frame + FRAME_PREVIOUS)
    change(frame)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)


def calls(change):
    """`change` is made to this function's frame, to which nobody comes back."""
    compute(change)


def itself(frame):
    write_byte(frame + FRAME_ENTRY, 0)
    write(frame + FRAME_PREVIOUS, frame)


def two(frame):
    previous = read(frame + FRAME_PREVIOUS)
    for one in (frame, previous):
        write_byte(one + FRAME_ENTRY, 0)
    write(previous + FRAME_PREVIOUS, frame)


def wild(word):
    def change(frame):
        write_byte(frame + FRAME_ENTRY, 0)
        write(frame + FRAME_PREVIOUS, word)

    return change


def wild_code(word):
    return lambda frame: write(frame + FRAME_CODE, word)


def code_field(field, word):
    return lambda frame: write(read(frame + FRAME_CODE) + field, word)


def long_text(field, length, state=None):
    def change(frame):
        text = read(read(frame + FRAME_CODE) + field)
        write(text + LENGTH, length)
        if state is not None:
            write(text + TEXT_STATE, state)

    return change


def own_cframe(frame):
    cframe = read(thread_state() + THREAD_CFRAME)
    write(cframe + CFRAME_PREVIOUS, cframe)


def next_thread(frame):
    state = thread_state()
    write(state + THREAD_NEXT, state)


def changing(frame):
    """Another thread writes it again and again."""
    code = read(frame + FRAME_CODE)
    truth = read(frame + FRAME_PREVIOUS), read(code + CODE_QUALNAME), read(code + CODE_LINES)
    name_length = truth[1] + LENGTH
    length = read(name_length)

    def change():
        while True:
            for word in (frame, 2**63, truth[0], 0):
                write(frame + FRAME_PREVIOUS, word)
            for word in (2**63, 2**40, length):
                write(name_length, word)
            for word in (0, frame, truth[2]):
                write(code + CODE_LINES, word)

    threading.Thread(target=change, daemon=True).start()


WAYS = {
    "itself": itself,
    "two": two,
    "null": wild(0),
    "low": wild(8),
    "odd": wild(0x4141414141414141),
    "kernel": wild(0xFFFF888000000000),
    "last": wild(2**64 - 8),
    "code_null": wild_code(0),
    "code_kernel": wild_code(0xFFFF888000000000),
    "code_last": wild_code(2**64 - 16),
    "name_null": code_field(CODE_QUALNAME, 0),
    "name_wild": code_field(CODE_QUALNAME, 2**63),
    "file_wild": code_field(CODE_FILENAME, 2**64 - 1),
    "lines_wild": code_field(CODE_LINES, 2**64 - 8),
    "name_long": long_text(CODE_QUALNAME, 2**63 - 1),
    "name_negative": long_text(CODE_QUALNAME, 2**63),
    "name_state": long_text(CODE_QUALNAME, 2**32, 2**64 - 1),
    "lines_long": long_text(CODE_LINES, 2**63 - 1),
    "cframe_loop": own_cframe,
    "thread_loop": next_thread,
    "changing": changing,
}

if __name__ == "__main__":
    calls(WAYS[sys.argv[1]])
