"""Sends the requests of debates with inspect_ai, for `tournaments.py`, by an interpreter that has it installed.

Standard input holds the stages of one debate as JSON, each a list of requests of the Messages API. Each sample of the
task sends them all, those of a stage at once. The only argument is how many samples run at the same time. Printed are
seconds, seconds of CPU and megabytes, as JSON.
"""

import asyncio
import json
import re
import sys
import tempfile
import time
from pathlib import Path

import anthropic  # noqa: F401  (what importing takes is not measured)
from inspect_ai import Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig, get_model
from inspect_ai.solver import solver


def main(at_once: int) -> None:
    stages = json.load(sys.stdin)
    config = GenerateConfig(max_connections=at_once, max_retries=0, max_tokens=4096)

    async def ask(request: dict) -> str:
        model = get_model(f"anthropic/{request['model']}", config=config, streaming=True)
        text = "\n\n".join(part["text"] for message in request["messages"] for part in message["content"])
        return (await model.generate([ChatMessageUser(content=text)])).completion

    @solver
    def debate():
        async def solve(state, generate):
            for stage in stages:
                await asyncio.gather(*map(ask, stage))
            return state

        return solve

    @task
    def debates():
        return Task(dataset=[Sample(input=f"debate {n}") for n in range(at_once)], solver=debate())

    with tempfile.TemporaryDirectory() as folder:
        began, busy = time.perf_counter(), time.process_time()
        model = f"anthropic/{stages[0][0]['model']}"
        (log,) = eval(debates(), model=model, display="none", log_dir=folder, max_samples=at_once, log_buffer=1000)
        took, busy = time.perf_counter() - began, time.process_time() - busy
    assert log.status == "success", log.error
    most = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    print(json.dumps({"took": took, "busy": busy, "mb": int(most[1]) / 1000}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
