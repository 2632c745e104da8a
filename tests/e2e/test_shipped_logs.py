"""`mobula agent --bucket` stores log files while they are written; `mobula logs` reads them from the bucket."""

import gzip
import os
import re
import subprocess
import threading
import time
from pathlib import Path

import pytest

from cluster import MOBULA, eventually
from stores import KEYS, run_moto, run_versitygw, store  # noqa: F401 (store is a fixture)
from test_storage import storage

NAME = "ns/c/c-head.0123"


def clean(**more):
    return {**{k: v for k, v in os.environ.items() if not k.startswith("AWS_")}, **KEYS, "HOME": "/nonexistent", **more}


class Agent:
    def __init__(self, store, root, *flags, name=NAME, bucket="s3://bucket/team"):  # noqa: F811
        self.log = root.parent / f"agent-{time.monotonic_ns()}.log"
        command = [MOBULA, "agent", f"--bucket={bucket}", f"--logs-name={name}", f"--logs-dir={root}", f"--endpoint={store.url}",
                   "--logs-every=1s", *flags]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=clean())

    def kill(self):
        self.process.kill()
        self.process.wait(20)

    def end(self):
        self.process.terminate()
        assert self.process.wait(40) == 0, self.log.read_text()
        text = self.log.read_text()
        assert KEYS["AWS_SECRET_ACCESS_KEY"] not in text
        return text


def names(store, prefix):  # noqa: F811
    return [line[34:] for line in storage(store, "ls", f"s3://bucket/{prefix}", "--recursive").decode().splitlines()]


def content(store, name=NAME, file="", prefix="team/"):  # noqa: F811
    """{file: content} of what is in the bucket, by the names of the objects alone."""
    found = {}
    for one in sorted(names(store, f"{prefix}logs/{name}/{file}")):
        match = re.fullmatch(rf"{prefix}logs/{name}/(.*)/([0-9a-f]{{16}})-(\d{{12}})\.gz", one)
        assert match, one
        piece = gzip.decompress(storage(store, "get", f"s3://bucket/{one}"))
        generation = found.setdefault(match[1], {}).setdefault(match[2], b"")
        assert len(generation) == int(match[3]), (one, len(generation))  # neither a gap nor an overlap
        found[match[1]][match[2]] += piece
    return {file: b"".join(text for _, text in sorted(all.items())) for file, all in found.items()}


class Ray(threading.Thread):
    """Writes lines to several files until it is told to stop, and renames one of them again and again, as Ray's rotation does."""

    def __init__(self, logs, files=4):
        super().__init__(daemon=True)
        self.logs, self.files, self.stop, self.lines = logs, [f"worker-{n}.out" for n in range(files)] + ["raylet.out"], False, 0

    def run(self):
        wide = "x" * 300
        while not self.stop:
            self.lines += 1
            for file in self.files:
                with (self.logs / file).open("a") as f:
                    f.write(f"line {self.lines} of {file} {wide}\n")
            if self.lines % 500 == 0:
                os.replace(self.logs / "raylet.out", self.logs / f"raylet.{self.lines // 500}.out")
            time.sleep(0.001)


def ray_folder(tmp_path, session="session_2026-01-01_00-00-00_000000_1"):
    logs = tmp_path / "ray" / session / "logs"
    (logs / "serve").mkdir(parents=True)
    (tmp_path / "ray" / "session_latest").symlink_to(session)
    return tmp_path / "ray", logs


def test_every_line_once(store, tmp_path):  # noqa: F811
    root, logs = ray_folder(tmp_path)
    (logs / "serve" / "replica.log").write_text("deep\n")
    (logs / "link.log").symlink_to("/etc/passwd")
    (logs / "large.log").write_bytes(b"".join(b"%07d %s\n" % (n, os.urandom(40).hex().encode()) for n in range(40000)))
    (logs / "one-line.log").write_bytes(b"y" * 2_500_000)
    ray = Ray(logs)
    ray.start()
    for _ in range(4):  # killed at any place, and another one goes on
        agent = Agent(store, root)
        time.sleep(2.6)
        agent.kill()
        time.sleep(0.5)  # what the killed one has sent arrives
    agent = Agent(store, root)
    time.sleep(2)
    ray.stop = True
    ray.join()
    with (logs / "worker-0.out").open("a") as f:
        f.write("no newline at the end")
    said = agent.end()
    assert "lost" not in said and "are not logs of this pod" not in said, said
    found = content(store)
    for file in ("worker-0.out", "worker-3.out", "large.log", "one-line.log", "serve/replica.log"):
        assert found[file] == (logs / file).read_bytes(), (file, len(found[file]), (logs / file).stat().st_size)
    assert "link.log" not in found
    rotated = sorted(logs.glob("raylet.*.out"), key=lambda path: int(path.name.split(".")[1]))
    want = b"".join(path.read_bytes() for path in [*rotated, logs / "raylet.out"] if path.exists())
    have = b"".join(text for file, text in sorted(found.items(), key=lambda item: item[0]) if file.startswith("raylet"))
    assert len(have.splitlines()) == len(set(have.splitlines())), names(store, f"team/logs/{NAME}/raylet")
    assert sorted(have.splitlines()) == sorted(want.splitlines())
    for name in names(store, "team/"):
        storage(store, "rm", f"s3://bucket/{name}")


def test_the_store_is_away(tmp_path):
    """What is written meanwhile is shipped later, also that of a file that was removed; a file that begins again is another generation."""
    gate = run_versitygw(tmp_path)
    gate.bucket("bucket")
    root, logs = ray_folder(tmp_path)
    (logs / "a.log").write_text("first\n")
    agent = Agent(gate, root)
    try:
        eventually(lambda: "a.log" in content(gate), 20)
        gate.process.terminate()
        gate.process.wait(20)
        (logs / "a.log").write_text("")
        (logs / "removed.log").write_text("last words\n" * 100)
        time.sleep(2.5)
        (logs / "removed.log").unlink()
        (logs / "a.log").write_text("again\n")
        time.sleep(2.5)
        gate.start()
        eventually(lambda: content(gate).get("removed.log") == b"last words\n" * 100, 60)
        eventually(lambda: content(gate).get("a.log") == b"first\nagain\n", 60)
        said = agent.end()
        assert "lost" not in said, said
    finally:
        agent.process.kill()
        gate.stop()
