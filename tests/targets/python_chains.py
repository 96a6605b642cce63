# SPDX-License-Identifier: Apache-2.0
"""Calls functions in many ways, and tells which chains of calls it had, by its interpreter's own
account. Runs on Python 3.6 and later.

    python_chains.py FOLDER WAYS [MILLISECONDS]

Each chain ends in leaf(), which computes in one line for so long (10 ms), under a name of its thread
by which the chain is found: `in_` and its number, once the program was told to go, and `un_` before.
FOLDER/chains has a JSON object a line: a chain, a way that failed or cannot be gone here, `ready`
after the first round, or `ended`. Of a chain: number, pid, way, and [name, file, line, first line] of
each frame, leaf first. Names tell what is between a frame and its callee: of functions that begin with
`c_`, native frames; with `d_`, none (from 3.12 on, where such calls are not native ones).
"""
import asyncio
import contextlib
import functools
import gc
import itertools
import json
import operator
import os
import signal
import sys
import threading
import time
import types
import zipfile

FOLDER, WAYS = sys.argv[1], sys.argv[2].split(",")
SLICE_S = float(sys.argv[3] if len(sys.argv) > 3 else 10) / 1000
MINOR = sys.version_info[1]
# As many as the profiler follows (bpf/runtimes/cpython.h).
MOST_TASKS = MOST_COROUTINES = 16

# The CPU's, not the wall's: what stands between two slices costs the same on a machine that is busy.
clock = getattr(time, "thread_time", None) or functools.partial(
    time.clock_gettime, time.CLOCK_THREAD_CPUTIME_ID
)
running_loop = asyncio.get_running_loop if MINOR >= 7 else asyncio.get_event_loop
run_to_end = asyncio.run if MINOR >= 7 else asyncio.get_event_loop().run_until_complete
lock = threading.Lock()
told = open(os.path.join(FOLDER, "chains"), "a")
numbers = {}  # chain to number
numbers_from = 1
below = []  # what another interpreter runs below this one
way_now = ""
goes = False


def tell(**what):
    told.write(json.dumps(what) + "\n")
    told.flush()


def set_thread_name(name):
    with open("/proc/thread-self/comm", "w") as comm:
        comm.write(name)


def of_frame(frame):
    code = frame.f_code
    name = code.co_qualname if MINOR >= 11 else code.co_name
    return name, code.co_filename, frame.f_lineno or 0, code.co_firstlineno


def task_now():
    try:
        return asyncio.current_task() if MINOR >= 14 else None
    except RuntimeError:
        return None  # no loop runs


def coroutines_of(task):
    """Those of a task that waits, the innermost first; not more than MOST_COROUTINES of the outer ones."""
    one, chain = task.get_coro(), []
    while hasattr(one, "cr_frame") or hasattr(one, "gi_frame"):
        if len(chain) == MOST_COROUTINES:
            chain.append(("<more coroutines>", "", 0, 0))
            break
        is_generator = hasattr(one, "gi_frame")
        chain.append(of_frame(one.gi_frame if is_generator else one.cr_frame))
        one = one.gi_yieldfrom if is_generator else one.cr_await
    return chain[::-1]


def waiting_for(task):
    """The name of a task, the coroutines of the one that waits for it, its name, and so on."""
    chain, left = [], MOST_TASKS
    while True:
        name = task.get_name()
        is_given = not name.startswith("Task-")
        chain.append(("<task %s>" % name if is_given else "<task>", "", 0, 0))
        while True:
            awaiters = list(task._asyncio_awaited_by or ())
            if not awaiters:
                return chain
            if len(awaiters) > 1:
                return chain + [("<awaited by several tasks>", "", 0, 0)]
            task = awaiters[0]
            if isinstance(task, asyncio.Task):
                break
        if not left:
            return chain + [("<awaited by more tasks>", "", 0, 0)]
        left -= 1
        chain += coroutines_of(task)


def chain_of(frame):
    chain, task = [], task_now()
    while frame:
        chain.append(of_frame(frame))
        if task and task.get_coro() and frame is getattr(task.get_coro(), "cr_frame", None):
            chain += waiting_for(task)
            task = None
        frame = frame.f_back
    return chain + below


def begin(line_in_leaf):
    """Tells the chain of the caller, which is about to compute, if it is new."""
    chain = chain_of(sys._getframe(1))
    name, file, _, first = chain[0]
    chain[0] = name, file, first + line_in_leaf, first
    key = os.getpid(), tuple(chain)
    with lock:
        number = numbers.get(key)
        if number is None:
            # The chains of a child have other numbers than its parent's.
            number = numbers[key] = len(numbers) + numbers_from
            tell(number=number, pid=os.getpid(), way=way_now, chain=chain)
    set_thread_name(("in_%d" if goes else "un_%d") % number)


def leaf(*_):
    begin(3)
    end = clock() + SLICE_S
    while clock() < end: pass
    set_thread_name("between")
    return 1


def leaf_in_c(*_):
    begin(3)
    numbers, end = tuple(range(3000)), clock() + SLICE_S
    while clock() < end: sum(numbers)
    set_thread_name("between")
    return 1


def leaf_of_many_lines(*_):
    begin(
        6,
    )
    end = clock() + SLICE_S
    try:
        while clock(
        ) < end: pass
    finally:
        set_thread_name("between")
    return 1


# ---- the ways ----


def d_inner():
    return leaf()


def d_outer(first, second=2, *more, key=None, **others):
    value = 1; value += d_inner(); return value


def plain():
    d_outer(1, 2, 3, 4, key=5, other=6)
    leaf_in_c()
    leaf_of_many_lines()


def c_sort():
    return sorted([3], key=leaf) + sorted(
        [1],
        key=lambda number: d_outer(number),
    )


def sort():
    c_sort()


def in_library():
    def c_map():
        return list(map(leaf, [1]))

    def c_reduce():
        return functools.reduce(lambda first, second: leaf(), [1, 2])

    def c_partial():
        return functools.partial(d_outer, 1)()

    @functools.lru_cache(None)
    def cached(turn):
        return leaf()

    def c_cache():
        cached(0)
        cached.cache_clear()

    def c_filter():
        return len(list(filter(leaf, [1]))) + max([1], key=leaf)

    def c_groups():
        return next(itertools.groupby([1], leaf))

    def c_operator():
        return operator.methodcaller("method")(Methods())

    for function in (c_map, c_reduce, c_partial, c_cache, c_filter, c_groups, c_operator):
        function()


def ctypes():
    import ctypes

    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def compare(first, second):
        return leaf() - 1

    def c_ctypes():
        array = (ctypes.c_int * 2)(2, 1)
        ctypes.CDLL(None).qsort(array, 2, ctypes.sizeof(ctypes.c_int), kind(compare))

    c_ctypes()


def sqlite():
    import sqlite3

    def c_sqlite():
        with contextlib.closing(sqlite3.connect(":memory:")) as base:
            base.create_function("leaf", 0, leaf)
            base.execute("select leaf()").fetchall()

    c_sqlite()


class Meta(type):
    def __call__(cls, *arguments):
        return super().__call__(*arguments)


class Methods(metaclass=Meta):
    def __init__(self):
        self.number = 1

    def method(self):
        return leaf()

    @property
    def property(self):
        return leaf()

    @classmethod
    def of_class(cls):
        return leaf()

    @staticmethod
    def static():
        return leaf()

    def __getattr__(self, name):
        return leaf()

    def __add__(self, other):
        return leaf()

    def __eq__(self, other):
        return leaf()

    def __hash__(self):
        return leaf()

    def __len__(self):
        return leaf()

    def __contains__(self, item):
        return leaf()

    def __iter__(self):
        yield leaf()

    def __getitem__(self, item):
        return leaf()

    def __call__(self):
        return leaf()

    def __enter__(self):
        leaf()
        return self

    def __exit__(self, kind, value, trace):
        leaf()
        return True

    def __str__(self):
        leaf()
        return ""


class Begun:
    def __init__(self):
        leaf()


class Ended:
    def __del__(self):
        leaf()


def methods():
    one = Methods()
    one.method(), one.property, one.of_class(), one.static(), one.missing
    one + 1, one == 1, {one}, len(one), 1 in one, [*one], one[1], one(), str(one), f"{one}"
    with one:
        raise ValueError
    Begun()
    ended = Ended()
    del ended
    Methods.__dict__["method"].__get__(one)()


def generators():
    def counted():
        for number in range(2):
            yield leaf() + number

    def outer():
        yield from counted()
        received = yield leaf()
        return received

    def closed():
        try:
            yield 1
        finally:
            leaf()

    list(outer())
    for _ in outer():
        leaf()
    sum(leaf() for _ in range(2))
    gone = outer()
    next(gone), next(gone), next(gone)
    with contextlib.suppress(StopIteration):
        gone.send(1)
    one = closed()
    next(one)
    one.close()
    a, *b = counted()


class Awaited:
    def __await__(self):
        leaf()
        yield
        return leaf()


def coroutines():
    async def inner():
        await Awaited()
        return leaf()

    async def outer():
        return await inner()

    one = outer()
    with contextlib.suppress(StopIteration):
        while True:
            one.send(None)


def asynchronous():
    class Items:
        def __init__(self):
            self.left = 2

        def __aiter__(self):
            return self

        async def __anext__(self):
            leaf()
            await asyncio.sleep(0)
            self.left -= 1
            if not self.left:
                raise StopAsyncIteration
            return leaf()

        async def __aenter__(self):
            return leaf()

        async def __aexit__(self, *what):
            return leaf()

    async def made():
        yield leaf()
        await asyncio.sleep(0)
        yield leaf()

    async def deepest(number):
        leaf()
        await asyncio.sleep(0)
        return leaf()

    async def middle(number):
        return await deepest(number)

    async def main():
        running_loop().call_soon(leaf)
        await asyncio.gather(*(middle(number) for number in range(2)))
        async with Items():
            leaf()
        async for _ in Items():
            leaf()
        [item async for item in made()]
        await running_loop().run_in_executor(None, leaf)

    run_to_end(main())


@types.coroutine
def by_generator(task):
    result = yield from task.__await__()
    return result


# Names that end with their task may be gone before they are read.
LINKS = ["link %d" % number for number in range(100)]


def tasks():
    create = asyncio.ensure_future if MINOR < 8 else asyncio.create_task

    def named(coroutine, name):
        return create(coroutine, name=name) if MINOR >= 8 else create(coroutine)

    async def work(turns=1):
        await asyncio.sleep(0)
        for _ in range(turns):
            leaf()
        return 1

    async def deep(depth):
        return await (deep(depth - 1) if depth else named(work(), "below deep coroutines"))

    async def chained(depth):
        return await (named(chained(depth - 1), LINKS[depth]) if depth else work())

    async def waiting(task):
        return await task

    class Waits:
        def __init__(self, task):
            self.task = task

        def __await__(self):
            return (yield from self.task)

    async def made(task):
        yield await task

    async def main():
        await named(work(), "plain")
        await named(named_with_number(), "handler 17")
        await asyncio.gather(work(), named(work(), "gathered"), waiting(named(work(), "größe имя 𠀀")))
        await asyncio.wait_for(named(work(), "waited for"), 100)
        await asyncio.shield(named(work(), "shielded"))
        await asyncio.wait([named(work(), "one of a set")])
        await named(deep(5), "deep")
        await named(deep(MOST_COROUTINES + 3), "deeper")
        await named(chained(3), "chained")
        await named(chained(MOST_TASKS + 3), "chained further")
        shared = named(work(), "shared")
        await asyncio.gather(waiting(shared), waiting(shared))
        await by_generator(named(work(), "below a generator"))
        await Waits(named(work(), "below __await__"))
        [item async for item in made(named(work(), "below an asynchronous generator"))]
        await named(alone(), "nobody waits, and this name is a good deal longer than others")
        if MINOR >= 11:
            async with asyncio.TaskGroup() as group:
                group.create_task(work(), name="of a group")
                group.create_task(waiting(group.create_task(work())))
        if MINOR >= 12:
            running_loop().set_task_factory(asyncio.eager_task_factory)
            await named(eager(), "eager")
            running_loop().set_task_factory(None)

    async def named_with_number():
        return await create(work())

    async def alone():
        task = named(work(), "left alone")
        while not task.done():
            await asyncio.sleep(0)

    async def eager():
        leaf()
        await asyncio.sleep(0)
        return leaf()

    run_to_end(main())


def d_down(depth):
    if depth:
        return d_down(depth - 1)
    return leaf()


def recursion():
    sys.setrecursionlimit(5000)
    d_down(20)
    is_flat = MINOR >= 11 and not (MINOR >= 12 and sys.is_stack_trampoline_active())
    d_down(950 if is_flat else 150)


def c_deep(depth):
    return sorted([depth - 1], key=c_deep if depth > 1 else leaf)


def through_c():
    c_deep(50)


def threads():
    def work():
        leaf()
        d_outer(1)

    class Worker(threading.Thread):
        def run(self):
            work()

    all_of_them = [threading.Thread(target=work), Worker(), threading.Timer(0, work)]
    for thread in all_of_them:
        thread.start()
    for thread in all_of_them:
        thread.join()


TEXT = "def made():\n\n  return leaf()\nmade()\nf = lambda: (\n leaf())\nf()\n"
MADE = compile(TEXT, "/made/up.py", "exec")
# A line far from the one before, and from the beginning.
FAR = compile("\n" * 70000 + "leaf()\n" + "\n" * 300 + "leaf()", "<far>", "exec")
EVALUATED = compile("leaf()", "<evaluated>", "eval")


def executed():
    exec(MADE, {"leaf": leaf})
    exec(FAR, globals())
    eval(EVALUATED)


def executed_once():
    exec(TEXT, {"leaf": leaf})
    eval("leaf()")


def comprehensions():
    [leaf() for _ in range(1)]
    {leaf() for _ in range(1)}
    {leaf(): leaf() for _ in range(1)}
    [[leaf() for _ in range(1)] for _ in range(1)]
    [one for one in range(2) if leaf()]


OTHER_LETTERS = (
    "def größe():\n return leaf()\n"  # of one byte each
    "def имя():\n return größe()\n"  # of two
    "def 𠀀𠀁(ω):\n return имя()\n"  # of four
    "class Ä:\n def ß(self): return 𠀀𠀁(1)\n"
    "Ä().ß()\n"
)
IN_OTHER_LETTERS = (
    compile(OTHER_LETTERS, "/größe/имя/𠀀.py", "exec"),
    compile("leaf()", "/ÿ.py", "exec"),
    compile("leaf()", "/я.py", "exec"),
)


def in_other_letters():
    for code in IN_OTHER_LETTERS:
        exec(code, {"leaf": leaf})


def twice(function):
    @functools.wraps(function)
    def wrapper(*arguments, **others):
        return function(*arguments, **others) + function(*arguments, **others)

    return wrapper


@twice
@twice
def decorated():
    return leaf()


def decorators():
    decorated()

    @contextlib.contextmanager
    def managed():
        leaf()
        yield
        leaf()

    with managed():
        leaf()


def zipped():
    path = os.path.join(FOLDER, "zipped.zip")
    if not os.path.exists(path):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("in_zip/__init__.py", "")
            archive.writestr("in_zip/work.py", "\n\n\ndef work(leaf):\n    leaf()\n    return 1\n")
    if path not in sys.path:
        sys.path.insert(0, path)
    from in_zip import work

    work.work(leaf)


def imported():
    path = os.path.join(FOLDER, "imports.py")
    with open(path, "w") as file:
        file.write("import __main__\n\n__main__.leaf()\n\nclass Body:\n    __main__.leaf()\n")
    if FOLDER not in sys.path:
        sys.path.insert(0, FOLDER)
    sys.modules.pop("imports", None)
    import imports

    del sys.modules["imports"]


def exceptions():
    def fails(depth):
        try:
            if depth:
                fails(depth - 1)
            raise KeyError(depth)
        except KeyError:
            leaf()
            raise
        finally:
            leaf()

    with contextlib.suppress(KeyError):
        fails(2)
    try:
        1 / 0
    except ZeroDivisionError as error:
        leaf()


def signals():
    def handler(number, frame):
        leaf()

    def interrupted():
        global flag
        flag = 0
        os.kill(os.getpid(), signal.SIGUSR2)
        flag = 1

    before = signal.signal(signal.SIGUSR2, handler)
    interrupted()
    signal.signal(signal.SIGUSR2, before)


def collected():
    class Cycle:
        def __del__(self):
            leaf()

    def c_collect():
        gc.collect()

    def called(phase, facts):
        if phase == "start":
            leaf()

    one = Cycle()
    one.self = one
    del one
    gc.callbacks.append(called)
    c_collect()
    gc.callbacks.remove(called)


def traced():
    def tracer(frame, event, argument):
        if event in ("call", "return") and frame.f_code.co_name == "looked_at":
            leaf()
        return tracer

    def looked_at():
        return 1

    sys.setprofile(tracer)
    try:
        looked_at()
    finally:
        sys.setprofile(None)
    sys.settrace(tracer)
    try:
        looked_at()
    finally:
        sys.settrace(None)


def in_subinterpreter():
    if MINOR >= 13:
        import _interpreters as interpreters
    else:
        import _xxsubinterpreters as interpreters

    def text_below(frame):
        """A program that has `frame` and its callers below."""
        numbers_from = 100000 + 1000 * len(numbers)
        return (
            "import sys\n"
            f"sys.argv = {[sys.argv[0], FOLDER, '-', *sys.argv[3:]]!r}\n"
            f"sys.path.insert(0, {os.path.dirname(os.path.abspath(sys.argv[0]))!r})\n"
            "import python_chains as chains\n"
            f"chains.goes, chains.way_now = {goes}, 'in_subinterpreter'\n"
            f"chains.below, chains.numbers_from = {chain_of(frame)!r}, {numbers_from}\n"
            "chains.d_outer(1)\n"
        )

    made = interpreters.create()
    interpreters.run_string(made, text_below(sys._getframe()))
    interpreters.destroy(made)


def forked():
    child = os.fork()
    if not child:
        d_outer(1)
        os._exit(0)
    os.waitpid(child, 0)


def worked(number):
    d_outer(number)
    return number


def processes():
    import multiprocessing

    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        pool.map(worked, range(4))


def greenlets():
    import greenlet

    def work():
        leaf()
        greenlet.getcurrent().parent.switch()
        d_outer(1)

    one = greenlet.greenlet(work)
    one.switch()
    leaf()
    one.switch()


def gevents():
    import gevent

    def work():
        leaf()
        gevent.sleep(0)
        d_outer(1)

    gevent.joinall([gevent.spawn(work), gevent.spawn(work)])


ALL = (
    plain, sort, in_library, ctypes, sqlite, methods, generators, coroutines, asynchronous,
    tasks, recursion, through_c, threads, executed, executed_once, comprehensions, in_other_letters, decorators, zipped,
    imported, exceptions, signals, collected, traced, in_subinterpreter, forked, processes,
    greenlets, gevents,
)


def wait_told_to_go():
    global goes
    os.read(0, 1)  # without a lock that a child would have for ever
    goes = True


def go_round(chosen, failed):
    global way_now
    for way in chosen:
        if way in failed:
            continue
        way_now = way.__name__
        try:
            way()
        except ImportError as error:
            failed.add(way)
            tell(missing=way_now, why=str(error))
        except Exception as error:
            failed.add(way)
            tell(failed=way_now, why=repr(error))


def main():
    chosen = [way for way in ALL if WAYS == ["all"] or way.__name__ in WAYS]
    failed, is_first = set(), True
    while True:
        go_round(chosen, failed)
        if is_first:
            tell(ready=True)
            threading.Thread(target=wait_told_to_go, daemon=True).start()
        is_first = False


if __name__ == "__main__":
    main()
