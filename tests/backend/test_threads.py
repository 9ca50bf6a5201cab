"""Work shared out between threads, and one BLAS thread meanwhile."""

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import deepnlp
from deepnlp import backend, kernels
from deepnlp.backend import asarray, products, threads
from deepnlp.backend.threads import in_parallel, in_parallel_later, later, one_blas_thread
from deepnlp.kernels import fast
from deepnlp.layers import TimeAffine, TimeGRU, TimeLSTM
from deepnlp.models import GPT, RNNLM, RegularisedRNNLM, SimpleRNNLM
from tests.backend.test_strict_models import OPTIMIZERS, training_step


@pytest.fixture(autouse=True)
def number_afterwards():
    before = threads.number()
    yield
    threads.use(before)


class Meeting:
    """Work in which all threads wait for each other at their first piece: each has a share."""

    def __init__(self, number):
        self.barrier = threading.Barrier(number)
        self.begun = Counter()

    def __call__(self, piece):
        thread = threading.get_ident()
        self.begun[thread] += 1
        if self.begun[thread] == 1:
            self.barrier.wait(timeout=20)


def in_helper():
    return threading.current_thread().name.startswith("deepnlp")


# --- Pieces ----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3, 5])
def test_every_piece_is_done_once(number):
    threads.use(number)
    for count in (0, 1, 2, 3, 7, 100):
        for pieces in (range(count), list(range(count)), tuple(range(count))):
            done = []
            in_parallel(done.append, pieces)
            assert sorted(done) == list(pieces)


def test_all_threads_have_a_share():
    for number in (2, 3):
        threads.use(number)
        meeting = Meeting(number)
        in_parallel(meeting, range(number))
        assert len(meeting.begun) == number
        assert threading.get_ident() in meeting.begun


def test_one_piece_or_one_thread_needs_no_helper():
    for number, count in ((1, 5), (3, 1)):
        threads.use(number)
        found = []
        in_parallel(lambda _, found=found: found.append(in_helper()), range(count))
        assert found == [False] * count


@pytest.mark.parametrize("where", ["caller", "helper", "both"])
def test_errors_come_back_and_the_pool_works_afterwards(where):
    threads.use(2)
    for _ in range(3):
        meeting = Meeting(2)

        def fail(piece, meeting=meeting):
            meeting(piece)
            if where == "both" or in_helper() == (where == "helper"):
                raise ValueError(f"in the {'helper' if in_helper() else 'caller'}")

        with pytest.raises(
            ValueError, match="in the (helper|caller)" if where == "both" else where
        ):
            in_parallel(fail, range(2))
        meeting = Meeting(2)
        in_parallel(meeting, range(10))
        assert meeting.begun.total() == 10
        assert len(meeting.begun) == 2


def test_no_piece_is_begun_after_an_error_has_come_back():
    threads.use(2)
    threads._pool._helpers(1)
    threads._pool._jobs.put(partial(time.sleep, 0.1))  # the helper comes when all is over
    done = []

    def fail(piece):
        done.append(piece)
        raise KeyError(piece)

    with pytest.raises(KeyError):
        in_parallel(fail, range(5))
    time.sleep(0.2)
    assert done == [0]
    in_parallel(done.append, range(5))
    assert sorted(done[1:]) == list(range(5))


def test_a_helper_that_comes_late_is_not_waited_for():
    threads.use(2)
    threads._pool._helpers(1)
    threads._pool._jobs.put(partial(time.sleep, 1.0))
    done, start = [], time.perf_counter()
    in_parallel(done.append, range(50))
    assert time.perf_counter() - start < 0.8
    assert sorted(done) == list(range(50))
    in_parallel(done.append, range(50))  # it may still be on its way
    assert sorted(done) == sorted([*range(50), *range(50)])


def test_an_interrupt_at_any_line_leaves_the_next_results_right():
    """Ctrl-C in the calling thread, at each line of the module in turn."""
    threads.use(2)
    in_parallel(Meeting(2), range(2))
    file = threads.__file__
    line = 0

    def interrupting(at):
        seen = itertools.count()

        def look(frame, event, _):
            if frame.f_code.co_filename != file:
                return None
            if event == "line" and next(seen) == at:
                raise KeyboardInterrupt
            return look

        return look

    interrupted = True
    while interrupted:
        interrupted = False
        slow = np.zeros(6)
        sys.settrace(interrupting(line))
        try:
            in_parallel(lambda k, slow=slow: slow.__setitem__(k, slow[k] + 1), range(6))
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(None)
        assert (slow <= 1).all()
        for _ in range(3):
            done = np.zeros(7)
            in_parallel(lambda k, done=done: done.__setitem__(k, done[k] + 1), range(7))
            assert (done == 1).all()
        line += 1
    assert line > 20
    time.sleep(0.1)  # a helper may still be on its way to a round that is over
    meeting = Meeting(2)
    in_parallel(meeting, range(8))
    assert len(meeting.begun) == 2
    threads.use(3)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_interrupts_at_random_change_no_later_result(monkeypatch):
    """Ctrl-C at 500 moments of a training loop by hand: the next gradients have the same bits."""
    monkeypatch.setattr(products, "SMALLEST_SHARED", 1 << 10)
    monkeypatch.setattr(products, "ALIGNED", 8)
    monkeypatch.setattr(products, "WIDTH", 16)
    threads.use(2)
    model = RNNLM(50, 16, 16, dropout=0.0)
    ids = np.random.default_rng(0).integers(0, 50, size=(4, 7))

    def step():
        model.reset_state()
        model.forward(ids[:, :-1], ids[:, 1:])
        model.zero_grad()
        model.backward()
        return [parameter.grad.copy() for parameter in model.parameters()]

    def interrupt(*_):
        raise KeyboardInterrupt

    expected, rng, interrupted = step(), random.Random(0), 0
    earlier = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(500):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 1e-3))
                while True:
                    step()
            except KeyboardInterrupt:
                interrupted += 1
            for ours, theirs in zip(step(), expected, strict=True):
                np.testing.assert_array_equal(ours, theirs)
            assert not threads._one_blas_thread._before  # BLAS has its threads back
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)
    assert interrupted == 500
    time.sleep(0.1)  # the helper may still be on its way to a round that is over
    in_parallel(Meeting(2), range(2))


def test_helpers_that_are_at_work_are_waited_for_before_the_next_round():
    threads.use(2)
    order = []

    def piece(k):
        if in_helper():
            time.sleep(0.2)
            order.append("helper")
        else:
            time.sleep(0.05)  # the helper has begun
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_parallel(piece, range(2))
    in_parallel(lambda k: order.append("next"), range(2))
    assert order == ["helper", "next", "next"]


def test_few_pieces_are_not_shared_where_more_are_asked_for():
    threads.use(2)
    seen = set()
    in_parallel(lambda _: seen.add(in_helper()), range(4), 5)
    assert seen == {False}
    meeting = Meeting(2)
    in_parallel(meeting, range(5), 5)
    assert len(meeting.begun) == 2


# --- Work for later --------------------------------------------------------------------------


def test_outside_of_the_context_nothing_is_left_for_later():
    done = []
    in_parallel_later(done.append, range(3), lambda: done.append("end"))
    assert sorted(done[:3]) == [0, 1, 2]
    assert done[3:] == ["end"]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_all_is_done_by_the_end_and_the_ends_come_in_order(number):
    threads.use(number)
    done, ends = Counter(), []
    with later():
        for k in range(20):
            in_parallel_later(done.update, [[(k, i)] for i in range(3)], partial(ends.append, k))
            in_parallel(lambda _: time.sleep(1e-4), range(2))
        assert ends == []
    assert ends == list(range(20))
    assert done == Counter((k, i) for k in range(20) for i in range(3))
    assert not threads._pool.leisure


def test_a_helper_works_while_the_caller_goes_on():
    threads.use(2)
    helped = threading.Event()

    def piece(_):
        assert in_helper()
        helped.set()

    with later():
        in_parallel_later(piece, range(1), lambda: None)
        in_parallel(Meeting(2), range(2))  # wakes the helper
        assert helped.wait(timeout=20)


@pytest.mark.parametrize("number", [1, 2])
def test_an_error_of_later_work_comes_back(number):
    threads.use(number)
    ends = []

    def fail(_):
        raise ValueError("later")

    def run():
        with later():
            in_parallel_later(fail, range(3), lambda: ends.append(1))
            in_parallel(lambda _: time.sleep(0.01), range(2))

    with pytest.raises(ValueError, match="later"):
        run()
    assert ends == []
    in_parallel(Meeting(2) if number == 2 else ends.append, range(2))


def test_after_an_error_of_the_caller_nothing_is_begun():
    threads.use(2)
    done = []

    def run():
        with later():
            in_parallel_later(done.append, range(3), lambda: done.append("end"))
            raise KeyError

    with pytest.raises(KeyError):
        run()
    in_parallel(Meeting(2), range(2))  # the helper comes, and finds nothing left
    time.sleep(0.01)
    assert done == []


def test_another_number_of_threads_from_inside_work():
    threads.use(2)
    in_parallel(lambda _: threads.use(3), range(4))
    assert threads.number() == 3


def test_helpers_of_a_pool_that_is_given_up_end_whenever_they_begin():
    def helpers():
        return sum(thread.name == "deepnlp" for thread in threading.enumerate())

    threads.use(3)
    in_parallel(Meeting(3), range(3))
    given_up = threads._pool
    threads.use(1)
    done = []
    for _ in range(20):  # by a caller that is at work in another thread meanwhile
        given_up._started = 0
        given_up.share(done.append, range(5))
    assert sorted(done) == sorted([*range(5)] * 20)
    end = time.monotonic() + 20
    while helpers() and time.monotonic() < end:
        time.sleep(0.01)
    assert helpers() == 0


def test_where_no_thread_can_be_started_the_caller_works_alone(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    threads.use(2)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    done = []
    in_parallel(done.append, range(5))
    assert done == list(range(5))


def test_work_within_work():
    threads.use(3)
    done = []

    def outer(k):
        in_parallel(lambda j: done.append((k, j)), range(4))
        in_parallel(lambda j: done.append((k, j)), range(4, 6))

    in_parallel(outer, range(5))
    assert sorted(done) == [(k, j) for k in range(5) for j in range(6)]


def test_two_callers_at_once():
    threads.use(2)
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(300, 256)), rng.normal(size=(256, 300))
    expected = products.product(A, B)
    wrong = []

    def caller():
        for _ in range(20):
            total = np.zeros(64)
            in_parallel(lambda k, total=total: total.__setitem__(k, k), range(64))
            if not (total == np.arange(64)).all() or (products.product(A, B) != expected).any():
                wrong.append(total)

    callers = [threading.Thread(target=caller) for _ in range(3)]
    for one in callers:
        one.start()
    for one in callers:
        one.join(timeout=60)
        assert not one.is_alive()
    assert wrong == []


def test_helpers_see_what_the_caller_set():
    threads.use(2)
    found, meeting = [], Meeting(2)

    def look(piece):
        meeting(piece)
        found.append(np.geterr()["over"])
        with np.errstate(over="raise"):
            pass

    with np.errstate(over="ignore"):
        in_parallel(look, range(2))
    assert found == ["ignore"] * 2
    meeting = Meeting(2)
    with np.errstate(over="call"):
        in_parallel(look, range(2))
    assert found[2:] == ["call"] * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_process_has_helpers_of_its_own():
    threads.use(2)
    in_parallel(Meeting(2), range(2))

    def check():
        in_parallel(meeting := Meeting(2), range(6))
        A = np.ones((256, 256), "float32")
        right = bool((products.product(A, A) == 256).all())
        return len(meeting.begun) == 2 and right and threads.number() == 2

    assert in_child(check)
    in_parallel(Meeting(2), range(2))


def in_child(check):
    """Whether a check holds in a process that is forked here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forking a program with threads
        child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(30)
            code = 0 if check() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_fork_while_another_thread_is_inside(setting):
    inside, leave = threading.Event(), threading.Event()

    def stay():
        with one_blas_thread():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait(30)
    assert blas_threads() == {1}

    def check():
        free = blas_threads() == setting
        with one_blas_thread():
            held = blas_threads() == {1}
        return free and held and blas_threads() == setting

    assert in_child(check)
    with one_blas_thread():  # by the thread that forks: it is inside in the child too
        assert in_child(lambda: blas_threads() == {1})
    leave.set()
    thread.join()
    assert blas_threads() == setting


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_fork_inside_work_that_is_shared_out():
    threads.use(2)
    meeting, parent, children = Meeting(2), os.getpid(), []

    def fork(piece):
        meeting(piece)
        if os.getpid() == parent and not in_helper():
            children.append(os.fork())
            if children[-1] == 0:
                signal.alarm(30)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        in_parallel(fork, range(2))
    if children[-1] == 0:  # its helper is not there, and nobody waits for it
        code = 1
        try:
            in_parallel(again := Meeting(2), range(4))
            code = 0 if again.begun.total() == 4 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(children[-1], 0)[1]) == 0


# --- How many --------------------------------------------------------------------------------


def test_the_number_of_threads():
    for number in (1, 4, 2):
        threads.use(number)
        assert threads.number() == number
    for wrong in (0, -1):
        with pytest.raises(ValueError, match=f"1 or more, got {wrong}"):
            threads.use(wrong)
    assert threads.number() == 2


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"DEEPNLP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "2"}, 3),
        ({"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "5"}, 2),
        ({"OMP_NUM_THREADS": "5"}, 5),
        ({"DEEPNLP_NUM_THREADS": "many", "OPENBLAS_NUM_THREADS": "2"}, 2),
        ({"DEEPNLP_NUM_THREADS": "0", "OMP_NUM_THREADS": "2"}, 2),
        ({}, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
    ],
    ids=str,
)
def test_the_number_from_the_environment(monkeypatch, variables, expected):
    for name in ("DEEPNLP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert threads._number_from_environment() == expected


# --- One BLAS thread -------------------------------------------------------------------------


def blas_threads():
    """Threads of the BLAS that NumPy uses."""
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    own = [library for library in found if "numpy" in library["filepath"]]  # SciPy has another
    return {library["num_threads"] for library in own or found}


@pytest.fixture(params=[1, 2, 3])
def setting(request):
    """What the program has set for its own products."""
    with threadpool_limits(request.param, user_api="blas"):
        assert blas_threads() == {request.param}
        yield {request.param}


def test_the_programs_setting_is_put_back(setting):
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == setting
    with pytest.raises(KeyError), one_blas_thread(), one_blas_thread():
        raise KeyError
    assert blas_threads() == setting


def test_the_programs_setting_is_put_back_by_the_last_of_several_threads(setting):
    entered, leave = threading.Barrier(2), threading.Event()

    def other():
        with one_blas_thread():
            entered.wait(timeout=20)
            leave.wait(timeout=20)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(timeout=20)
    found = [blas_threads()]
    with one_blas_thread():
        found.append(blas_threads())
    found.append(blas_threads())
    leave.set()
    thread.join(timeout=20)
    assert found == [{1}] * 3
    assert blas_threads() == setting


def test_many_threads_enter_and_leave(setting):
    found = set()

    def other():
        for _ in range(20):
            with one_blas_thread():
                found.update(blas_threads())

    several = [threading.Thread(target=other) for _ in range(4)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join(timeout=60)
    assert found == {1}
    assert blas_threads() == setting


def test_an_exit_that_an_interrupt_has_skipped_is_made_good_by_the_next_one(setting):
    def interrupted():
        one_blas_thread().__enter__()
        with one_blas_thread():
            assert blas_threads() == {1}
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        with one_blas_thread(), one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == setting


def test_an_iterator_that_stops_inside_holds_nobody_up(setting):
    def inside():
        with one_blas_thread():
            yield

    waiting = inside()
    next(waiting)
    with one_blas_thread():
        assert blas_threads() == {1}
    assert next(waiting, None) is None
    assert blas_threads() == setting
    with one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == setting


def test_a_later_setting_of_the_program_counts():
    with threadpool_limits(2, user_api="blas"):
        products.product(np.ones((2, 2)), np.ones((2, 2)))
        with threadpool_limits(3, user_api="blas"):
            products.product(np.ones((2, 2)), np.ones((2, 2)))
            assert blas_threads() == {3}
        assert blas_threads() == {2}


def test_a_users_own_products_keep_their_threads(setting, monkeypatch):
    """Inside our products and kernels there is one thread; outside, also between two calls, all."""
    inside = []
    matmul = np.matmul

    def looked_at(*arguments, **options):
        inside.append(blas_threads())
        return matmul(*arguments, **options)

    monkeypatch.setattr(products, "xp", _With(backend.xp, matmul=looked_at))
    x = np.ones((3, 4, 5), "float32")
    for layer in (TimeAffine.init(5, 6), TimeLSTM.init(5, 6), TimeGRU.init(5, 6)):
        y = layer.forward(x)
        assert blas_threads() == setting
        layer.backward(y)
        assert blas_threads() == setting
        with pytest.raises(ValueError, match="shape"):
            layer.forward(x[..., 1:])
        assert blas_threads() == setting
    assert len(inside) > 5
    assert set(map(frozenset, inside)) == {frozenset({1})}


class _With:
    """A module with some names replaced."""

    def __init__(self, module, **names):
        self._module, self._names = module, names

    def __getattr__(self, name):
        return self._names[name] if name in self._names else getattr(self._module, name)


# --- The same bits ---------------------------------------------------------------------------

V, H, N, T = 150, 64, 9, 5

RUNS = {
    f"{cell} {tie}{' locked' if locked else ''}": (
        lambda cell=cell, tie=tie, locked=locked: RegularisedRNNLM(
            *(V, 40 if tie == "tied+L" else H, H), cell=cell, tie=tie, locked_dropout=locked
        ),
        "SGD",
    )
    for cell in ("lstm", "gru", "rnn")
    for tie in ("none", "tied", "tied+L")
    for locked in (False, True)
}
RUNS["gru reset after"] = (lambda: RNNLM(V, H, H, cell="gru", reset_after=True), "SGD")
RUNS["simple"] = (lambda: SimpleRNNLM(V, 30, H), "SGD")
MODERN = {"norms": "rms", "positions": "rotary", "activation": "swiglu", "dropout": 0.3}
RUNS |= {
    f"gpt{' modern' * bool(form)}": (
        lambda form=form: GPT(V, 16, 2, heads=2, context=T + 1, **form),
        "AdamW",
    )
    for form in ({}, MODERN)
}
RUNS |= {f"lstm tied, {name}": (lambda: RNNLM(V, H, H), name) for name in OPTIMIZERS}


@pytest.fixture
def small_pieces(monkeypatch):
    """Thresholds so low that small products and blocks are shared out; counts how often."""
    monkeypatch.setattr(products, "SMALLEST_SHARED", 1 << 10)
    monkeypatch.setattr(products, "ALIGNED", 8)
    monkeypatch.setattr(products, "WIDTH", 16)
    monkeypatch.setattr(fast, "BLOCK", 1 << 9)
    monkeypatch.setattr(fast, "NARROWEST", 16)
    monkeypatch.setattr(threads, "_BLOCK", 1 << 12)
    shared = []
    begin = threads._Round.__init__

    def counted(this, work, pieces):
        shared.append(min(threads.number(), len(pieces)))
        begin(this, work, pieces)

    monkeypatch.setattr(threads._Round, "__init__", counted)
    return shared


def trained(make, optimizer, steps=4):
    deepnlp.seed(0)
    model = make()
    updated = OPTIMIZERS[optimizer](model.parameters())
    rng = np.random.default_rng(0)
    arrays = []
    for _ in range(steps):
        ids = rng.integers(0, V, size=(N, T + 1))
        arrays += training_step(model, updated, asarray(ids[:, :-1]), asarray(ids[:, 1:]))
    model.eval()
    arrays += [model.losses(ids[:, :-1], ids[:, 1:]), model.logits(ids)]
    return [*arrays, *(p.value for p in model.parameters())]


@pytest.mark.parametrize("run", RUNS)
def test_training_has_the_same_bits_with_any_number_of_threads(small_pieces, run):
    threads.use(1)
    reference = trained(*RUNS[run])
    assert small_pieces == []
    for number in (2, 3):
        threads.use(number)
        for a, e in zip(trained(*RUNS[run]), reference, strict=True):
            np.testing.assert_array_equal(a, e)
        assert small_pieces.count(number) > 20
    assert all(np.isfinite(a).all() for a in reference)


SCRIPT = """
import hashlib, numpy, deepnlp
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD, clip_gradients
deepnlp.seed(0)
model = RNNLM(10_000, 200, 200)
optimizer = SGD(model.parameters(), lr=20.0)
rng = numpy.random.default_rng(0)
bits = hashlib.sha256()
for _ in range(2):
    ids = rng.integers(0, 10_000, size=(10, 16))
    loss = model.forward(ids[:, :-1], ids[:, 1:])
    model.zero_grad()
    model.backward()
    bits.update(loss.tobytes() + clip_gradients(model.parameters(), 0.25).tobytes())
    optimizer.step()
bits.update(model.losses(ids[:, :-1], ids[:, 1:]).tobytes())
for parameter in model.parameters():
    bits.update(parameter.value.tobytes())
print(deepnlp.backend.threads.number(), bits.hexdigest())
"""


def test_large_sizes_have_the_same_bits_in_processes_with_any_number_of_threads():
    """The program's own BLAS threads do not matter either."""
    found = {}
    for number, of_blas in ((1, 1), (3, 1), (2, 2)):
        environment = {
            **os.environ,
            "DEEPNLP_NUM_THREADS": str(number),
            "OPENBLAS_NUM_THREADS": str(of_blas),
        }
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        used, bits = done.stdout.split()
        assert int(used) == number
        found[number, of_blas] = bits
    assert len(set(found.values())) == 1, found


def test_plain_forms_have_the_same_bits_too(small_pieces):
    with kernels.using("plain"):
        threads.use(1)
        reference = trained(*RUNS["gru tied"], steps=3)
        threads.use(2)
        for a, e in zip(trained(*RUNS["gru tied"], steps=3), reference, strict=True):
            np.testing.assert_array_equal(a, e)
    assert small_pieces
