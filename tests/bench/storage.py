#!/usr/bin/env python3
"""Upload and download of one file with mobula and with curl, against versitygw on loopback, and how fast an agent stores logs.

    tests/bench/storage.py [MIB]        MIB: size of the file (256)

Prints seconds, MiB/s and the peak of resident memory of each program."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / part) for part in ("e2e", "rig")]

from rig import MOBULA  # noqa: E402
from stores import KEYS, run_versitygw  # noqa: E402

SIZE = int(sys.argv[1] if len(sys.argv) > 1 else 256) * 2**20
ENV = {**os.environ, **KEYS}


def run(name, *command, size=SIZE, seconds=None, stop=None):
    before = time.monotonic()
    child = subprocess.Popen(list(map(str, command)), env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if stop:
        stop()
        child.terminate()
    peak = 0.0
    while True:  # of this program: wait4 would count the memory of this script, which it was forked from
        status_file = Path(f"/proc/{child.pid}/status").read_text()
        peak = max([peak, *(int(line.split()[1]) / 1024 for line in status_file.splitlines() if line.startswith("VmHWM"))])
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.005)
    took = seconds or time.monotonic() - before
    assert status == 0, (name, status)
    print(f"{name:24} {took:7.2f} s {size / 2**20 / took:8.0f} MiB/s {peak:7.1f} MiB resident, "
          f"{used.ru_utime + used.ru_stime:.2f} s of a processor")
    return took


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        store = run_versitygw(folder)
        try:
            store.bucket("bucket")
            file, back = folder / "file", folder / "back"
            file.write_bytes(os.urandom(2**20) * (SIZE // 2**20))
            curl = ["curl", "-sf", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user",
                    f"{KEYS['AWS_ACCESS_KEY_ID']}:{KEYS['AWS_SECRET_ACCESS_KEY']}"]
            own = [MOBULA, "storage"]
            for _ in range(2):
                theirs = run("curl, upload", *curl, "-T", file, "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", f"{store.url}/bucket/curl")
                ours = run("mobula storage put", *own, "put", "s3://bucket/own", "-f", file, "--endpoint", store.url)
                print(f"    {theirs / ours:.2f} x the speed of curl")
                theirs = run("curl, download", *curl, "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "-o", back,
                             f"{store.url}/bucket/curl")
                ours = run("mobula storage get", *own, "get", "s3://bucket/own", "-f", back, "--endpoint", store.url)
                print(f"    {theirs / ours:.2f} x the speed of curl")
            logs = folder / "ray" / "session_1" / "logs"
            logs.mkdir(parents=True)
            line = b"[2026-11-28 09:00:00,000 I 17 17] (raylet) node_manager.cc:%d: worker %d was started for job %d\n"
            text = b"".join(line % (n % 997, n * 7919 % 65537, n) for n in range(2**17))
            (logs / "raylet.out").write_bytes(text * 8)

            def stored():
                last = Path(store.folder, "root", "bucket", "logs")
                while sum(f.stat().st_size > 0 for f in last.rglob("*.gz")) * 2**20 < len(text) * 8 - 2**20:
                    time.sleep(0.05)

            run("mobula agent, logs", MOBULA, "agent", "--bucket=s3://bucket", "--logs-name=n/c/p", f"--logs-dir={folder / 'ray'}",
                f"--endpoint={store.url}", "--logs-every=1s", size=len(text) * 8, stop=stored)
        finally:
            store.stop()
    print(f"machine: {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
