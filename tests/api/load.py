"""How fast the server is, and how much memory it takes: a run of 100,000 cases, 1,418 runs, 64 connections for 30 seconds.

    cargo build --release && EVALRS=target/release/evalrs python3 tests/api/load.py

CASES, RUNS, CONNECTIONS and SECONDS are other numbers. Needs Linux, which tells what a process takes.
"""

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import served

CASES, RUNS, CONNECTIONS, SECONDS = (int(os.environ.get(name, number)) for name, number in [("CASES", 100_000), ("RUNS", 1_418), ("CONNECTIONS", 64), ("SECONDS", 30)])
BINARY = str(Path(served.BINARY).resolve())
SAMPLES = "/api/runs/latest/samples"
LOOKED_AT = ["/", "/api/runs", "/api/runs/latest", "/api/graders", SAMPLES, f"{SAMPLES}?state=failed&grader=right", f"{SAMPLES}?skip={CASES // 2}&limit=100"]


def make(folder, rows):
    """A workspace with a run of so many rows."""
    for name, text in [("evalrs.toml", ""), ("suite.yaml", served.SUITE.replace("value: 0.5", "value: 0"))]:
        Path(folder, name).write_text(text, encoding="utf-8")
    with open(Path(folder, "data.jsonl"), "w", encoding="utf-8") as file:
        for at in range(rows):
            row = {"id": f"case-{at:06}", "input": f"Question {at}: what is the capital? " + "context " * 20, "ground_truth": f"City{at % 97}"}
            row |= {"output": f"I believe it is City{at % 89}, because " + "reasons and more reasons " * 12, "tags": ["odd" if at % 2 else "even"]}
            file.write(json.dumps(row) + "\n")
    subprocess.run([BINARY, "run", "suite.yaml", "--quiet"], cwd=folder, check=True)


class Server:
    """A server that was just started."""

    def __init__(self, folder):
        self.process = subprocess.Popen([BINARY, "serve", "suite.yaml", "--port", "0"], cwd=folder, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stderr.readline().split("serving ")[1].split("/ ")[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def time(self, path):
        """The milliseconds of an answer."""
        began = time.perf_counter()
        urllib.request.urlopen(self.url + path).read()
        return (time.perf_counter() - began) * 1_000

    def memory(self):
        """The most memory that it took, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1_000


async def ask(url, paths, end, times, errors):
    """One connection that asks until the end."""
    host = url.removeprefix("http://")
    reader, writer = await asyncio.open_connection(*host.split(":"))
    at = 0
    while time.monotonic() < end:
        began = time.perf_counter()
        writer.write(f"GET {paths[at % len(paths)]} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r")[0]))
        times.append((time.perf_counter() - began) * 1_000)
        if not head.startswith(b"http/1.1 200"):
            errors.append(head)
        at += 1
    writer.close()


async def load(url, paths):
    """Many connections at once; an error of one of them ends it."""
    times, errors = [], []
    end = time.monotonic() + SECONDS
    await asyncio.gather(*(ask(url, paths[at % len(paths) :] + paths[: at % len(paths)], end, times, errors) for at in range(CONNECTIONS)))
    times.sort()
    print(f"{CONNECTIONS} connections for {SECONDS} s: {len(times) / SECONDS:.0f} requests/s, p50 {times[len(times) // 2]:.0f} ms, p99 {times[len(times) * 99 // 100]:.0f} ms, {len(errors)} errors")


def main():
    with tempfile.TemporaryDirectory() as folder:
        make(folder, CASES)
        firsts = []
        for _ in range(5):
            with Server(folder) as server:
                firsts.append(server.time(SAMPLES))
        print(f"{CASES} cases: first page of a fresh server {min(firsts):.0f} ms (of five the best; the worst {max(firsts):.0f} ms)")
        with Server(folder) as server:
            for path in [SAMPLES, *(f"{SAMPLES}?{query}" for query in [f"skip={CASES - 500}&limit=500", "state=failed&grader=right", "sort=score&grader=right", "q=City17", "tag=odd"])]:
                print(f"  {server.time(path):7.1f} ms  {path}")
            for path in ["/api/runs/latest", f"{SAMPLES}/case-000001", f"{SAMPLES}/case-000002", "/api/suites", "/api/diff?old=latest&new=latest"]:
                print(f"  {server.time(path):7.1f} ms  {path}")
            print(f"  memory {server.memory():.0f} MB")
        with Server(folder) as server:
            asyncio.run(load(server.url, LOOKED_AT))
            print(f"  memory {server.memory():.0f} MB")
    with tempfile.TemporaryDirectory() as folder:
        make(folder, 3)
        runs = Path(folder, ".evalrs/runs")
        first = next(runs.iterdir())
        for at in range(RUNS - 1):
            shutil.copytree(first, runs / f"20250101T{at // 3600:02}{at // 60 % 60:02}{at % 60:02}-{at:06x}")
        with Server(folder) as server:
            times = [server.time("/api/runs") for _ in range(5)]
            print(f"{RUNS} runs: listed in {times[0]:.0f} ms, then {min(times):.0f} ms")


if __name__ == "__main__":
    main()
