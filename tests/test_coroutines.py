"""Limits of time count only while the process runs: what came while it was stopped is read first; and the threads for
the work of debates."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest
from conftest import STATED
from fake_clock import FakeClockLoop, skipped_seconds
from messages_server import Server
from started import started

from debate_orchestrator.core.events import CallFailed
from debate_orchestrator.engine.retry import bounded_retries
from debate_orchestrator.providers.limits import LIMITS, SilenceClock
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.coroutines import in_debate_pool, running_timeout
from debate_orchestrator.util.errors import TransientError

J = "r.journal.jsonl"


async def stopped(seconds: float) -> None:
    """As if the process were stopped for so long: the loop can do nothing."""
    await asyncio.sleep(0.01)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, FakeClockLoop)
    loop.now += seconds


def test_time_in_which_the_process_was_stopped_does_not_count() -> None:
    """Neither once nor several times, but for the second up to the next check of the clock. There is a second left
    after a stop at least."""

    async def wait() -> list[float]:
        ended = []
        for seconds, stops in ((5.0, 0), (5.0, 1), (5.0, 3), (0.02, 1)):
            begun = skipped_seconds()
            with pytest.raises(TimeoutError):
                async with running_timeout(seconds):
                    for _ in range(stops):
                        await stopped(100)
                        await asyncio.sleep(0.99)
                    await asyncio.sleep(1_000)
            ended.append(skipped_seconds() - begun)
        return ended

    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        plain, once, often, short = runner.run(wait())
    assert plain == pytest.approx(5, abs=0.001)
    assert 104 <= once <= 105 and 302 <= often <= 305
    assert short == pytest.approx(101, abs=0.1)


def test_a_machine_that_is_always_late_does_not_wait_for_ever() -> None:
    """Where each check of the clock is late, the time is over after as many of them as it has seconds."""

    async def wait() -> float:
        loop, begun = asyncio.get_running_loop(), skipped_seconds()
        assert isinstance(loop, FakeClockLoop)

        def delay() -> None:
            loop.now += 1.6
            loop.call_later(0.001, delay)

        delay()
        with pytest.raises(TimeoutError):
            async with running_timeout(5):
                await asyncio.sleep(10_000)
        return skipped_seconds() - begun

    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        assert 8 < runner.run(wait()) < 13


def test_a_stop_is_no_silence() -> None:
    """Nor does it count in the time that a reply may take in all, whose end is not reported right after a stop
    either."""

    async def listen(clock: SilenceClock, *, stops: int) -> float:
        begun = skipped_seconds()
        with pytest.raises(TimeoutError):
            async with clock.listening():
                for _ in range(stops):
                    await stopped(5_000)
                    clock.check()
                    clock.restart_silence()
                    await asyncio.sleep(0.5)
                    clock.check()
                    clock.restart_silence()
                await asyncio.sleep(1_000)
        return skipped_seconds() - begun

    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        clock = SilenceClock(LIMITS.retry_for)
        runner.run(listen(clock, stops=3))
        assert clock.timeout_reason() == "silence for 300 s"
        short = SilenceClock(LIMITS.retry_for, LIMITS._replace(total_seconds=0.02))
        assert runner.run(listen(short, stops=1)) == pytest.approx(5_001, abs=0.1)
        assert short.timeout_reason().startswith("no end after 2 s")


def test_a_stop_is_no_time_of_failed_calls() -> None:
    """A call that has failed is made again after a stop, and given up once the process has run for the time that it
    has."""

    async def waits(failure: TransientError) -> list[float | None]:
        async with bounded_retries(20) as retries:
            first = retries.next_wait(failure)
            await stopped(100)
            await asyncio.sleep(0.5)
            second = retries.next_wait(failure)
            await asyncio.sleep(19)
            return [first, second, retries.next_wait(failure)]

    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        first, second, third = runner.run(waits(TransientError("no answer")))
    assert first and second and third is None


def test_a_task_may_take_long_to_end_after_its_time() -> None:
    """It is reported once, also where the process is stopped meanwhile or the clock is asked; a limit below 0 is over
    at once."""
    errors = list[object]()

    async def end_slowly(seconds: float) -> float:
        loop, begun = asyncio.get_running_loop(), skipped_seconds()
        loop.set_exception_handler(lambda _, context: errors.append(context))
        with pytest.raises(TimeoutError):
            async with running_timeout(seconds) as time_left:
                try:
                    await asyncio.sleep(1_000)
                finally:
                    ended = skipped_seconds() - begun
                    for _ in range(3):
                        await stopped(10)
                        time_left.is_over()
                        time_left.reschedule(0.5)
                        await asyncio.sleep(3)
        return ended

    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        assert runner.run(end_slowly(2)) == pytest.approx(2, abs=0.001)
        assert runner.run(end_slowly(-2)) == pytest.approx(0, abs=0.001)
    assert not errors


@pytest.mark.slow
def test_what_came_during_a_stop_is_taken(plain_server: Server) -> None:
    """A model's stream and a program that end while the process is stopped, for longer than their limits, have
    answered: nothing is asked for twice."""
    Path("speaker.py").write_text("import sys, time\nsys.stdin.read()\ntime.sleep(1)\nprint('So it is. ' * 20)\n")
    program = f"command:{shlex.join([sys.executable, 'speaker.py'])}"
    plain_server.between = lambda request: 0.1
    seats = (f"--a={program}", "--b=anthropic:m", "--judge=anthropic:m")
    with started("run", *STATED, *seats, "--rounds=1", "--output=r.md", "--trust", "--retry-for=2") as process:
        until = time.monotonic() + 60
        while not plain_server.requests:
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(0.3)
        process.stop()
        time.sleep(5)
        assert plain_server.answered == 1
        process.signal(signal.SIGCONT)
        ended = process.end(within=120)
    assert ended.code == 0, ended.err
    failed = [event for event in read(J).events if isinstance(event, CallFailed)]
    assert not failed, json.dumps([event.problem for event in failed])


@pytest.mark.skipif(sys.platform == "win32", reason="only POSIX has fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    """A process keeps the pool of the one that it was forked from, and none of its threads, so it makes another."""
    assert asyncio.run(in_debate_pool(os.getpid)) == os.getpid()
    child = os.fork()
    if not child:
        in_time = asyncio.wait_for(in_debate_pool(os.getpid), 10)
        os._exit(0 if asyncio.run(in_time) == os.getpid() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
