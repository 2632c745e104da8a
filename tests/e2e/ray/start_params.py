"""Runs in a pod of Ray: prints for each line of start-params.txt whether the real `ray start --head` starts with it."""

import os
import signal
import subprocess
import sys
import time

VALUES = ("include-dashboard", "include-log-monitor", "log-color")  # these take true and false as values; other flags are given or left out
OURS = ["--metrics-export-port=8080", "--dashboard-agent-listen-port=52365", "--block"]


def words(line):
    """The arguments that src/ray/command.c writes for these parameters."""
    for one in line.split(" ")[1:]:
        name, value = one.split("=", 1)
        if value not in ("true", "false") or name in VALUES:
            yield f"--{name}={value}"
        elif value == "true":
            yield f"--{name}"


def verdict(line, path="/tmp/ray-start.log"):
    with open(path, "wb") as log:
        ray = subprocess.Popen(["ray", "start", "--head", *OURS, *words(line)], stdout=log, stderr=log, start_new_session=True)
    until = time.monotonic() + 180
    while time.monotonic() < until and ray.poll() is None:
        with open(path, "rb") as log:
            if b"Ray runtime started" in log.read():
                time.sleep(3)  # a component whose port is taken ends shortly after this message
                break
        time.sleep(0.2)
    said = "started" if ray.poll() is None else "refused"
    if ray.poll() is None:
        os.killpg(ray.pid, signal.SIGTERM)
    ray.wait()
    subprocess.run(["ray", "stop", "--force"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return said


if __name__ == "__main__":
    for text in sys.argv[1].splitlines():
        print(verdict(text), text.split(" ", 1)[1], flush=True)
