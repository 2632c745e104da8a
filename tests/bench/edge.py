#!/usr/bin/env python3
"""Figures of `mobula edge` beside nginx and HAProxy of Debian, in one run on loopback: the same upstream (an nginx that answers with 100
bytes), the same clients (wrk), each proxy with one process and one thread.

    tests/bench/edge.py [SECONDS]

A shared machine has no quiet core, so throughput is told in two ways: requests a second as they were, and requests in a second of the
proxy's own processor time, which is what one core to itself would give. The added latency is the difference of medians to the upstream
without a proxy, over one connection with one request at a time."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOBULA = os.environ.get("MOBULA", ROOT / "build/mobula")
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
SILENT = 1500
TICKS = os.sysconf("SC_CLK_TCK")
missed = []


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def wait_for(port):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise SystemExit(f"nothing listens on port {port}")


def nginx(folder, name, port, location, extra=""):
    """Starts one in the foreground with one worker."""
    conf = folder / f"{name}.conf"
    conf.write_text(f"""daemon off; worker_processes 1; pid {folder}/{name}.pid; error_log {folder}/{name}.log;
events {{ worker_connections 8192; }}
http {{ access_log off; client_body_temp_path {folder}/{name}-1; proxy_temp_path {folder}/{name}-2; fastcgi_temp_path {folder}/{name}-3;
uwsgi_temp_path {folder}/{name}-4; scgi_temp_path {folder}/{name}-5; keepalive_requests 1000000000; {extra}
server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ {location} }} }} }}
""")
    return ["nginx", "-c", conf, "-p", folder]


def haproxy(folder, port, upstream):
    conf = folder / "haproxy.cfg"
    conf.write_text(f"""global
  maxconn 4096
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option forwardfor
  http-reuse always
frontend f
  bind 127.0.0.1:{port}
  default_backend b
backend b
  server s 127.0.0.1:{upstream}
""")
    return ["haproxy", "-f", conf]


def edge(port, upstream):
    return [MOBULA, "edge", "--upstream", f"127.0.0.1:{upstream}", "--auth", "none", "--http-addr", f"127.0.0.1:{port}",
            "--metrics-addr", "", "--connections", "2048", "--log-level", "warn", "--kubeconfig", ""]


def children(pid):
    kids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(int(k) for k in kids)]


def processor(pid):
    """Seconds of the process and its children so far."""
    ticks = 0
    for one in children(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


def memory_kib(pid):
    return sum(int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{one}/status").read_text()).group(1)) for one in children(pid))


def wrk(port, connections, seconds):
    """(requests a second, median in ms, failures)."""
    out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", f"http://127.0.0.1:{port}/"],
                         capture_output=True, text=True, check=True).stdout
    median = re.search(r"50%\s+([\d.]+)(us|ms|s)", out)
    scale = {"us": 0.001, "ms": 1, "s": 1000}[median.group(2)]
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", out)
    failures = (int(failed.group(1)) if failed else 0) + (sum(map(int, broken.groups())) if broken else 0)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)), float(median.group(1)) * scale, failures


@contextlib.contextmanager
def running(command, port):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


def measure(pid, port):
    wrk(port, 64, 1)
    before, began = processor(pid), time.monotonic()
    rate, _, failures = wrk(port, 64, SECONDS)
    spent, took = processor(pid) - before, time.monotonic() - began
    _, median, more = wrk(port, 1, max(SECONDS // 2, 2))
    return {"rate": rate, "core": rate * took / spent if spent else 0, "median": median, "failures": failures + more,
            "memory": memory_kib(pid)}


def silent(pid, port):
    """Memory with connections that say nothing, and the median of a client among them."""
    held = []
    for _ in range(SILENT):
        held.append(socket.create_connection(("127.0.0.1", port), timeout=10))
    memory = memory_kib(pid)
    _, median, failures = wrk(port, 1, 2)
    for s in held:
        s.close()
    return memory, median, failures


def check(what, well):
    if not well:
        missed.append(what)


def main():
    folder = Path(tempfile.mkdtemp(prefix="bench-edge-"))
    upstream = free_port()
    body = "x" * 100
    mapping = {"mobula edge": lambda port: edge(port, upstream)}
    if shutil.which("haproxy"):
        mapping["haproxy"] = lambda port: haproxy(folder, port, upstream)
    pool = f"upstream u {{ server 127.0.0.1:{upstream}; keepalive 128; }}"
    passing = ('proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; '
               "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;")
    mapping["nginx"] = lambda port: nginx(folder, "proxy", port, passing, pool)
    print("| proxy | requests a second | of one core | added to the median, ms | memory, MiB | failed |\n|---|---|---|---|---|---|")
    with running(nginx(folder, "upstream", upstream, f'return 200 "{body}";'), upstream):
        direct = wrk(upstream, 1, max(SECONDS // 2, 2))[1]
        for name, command in mapping.items():
            port = free_port()
            with running(command(port), port) as pid:
                found = measure(pid, port)
                added = found["median"] - direct
                print(f"| {name} | {found['rate']:,.0f} | {found['core']:,.0f} | {added:.3f} | {found['memory'] / 1024:.1f} | "
                      f"{found['failures']} |", flush=True)
                if name == "mobula edge":
                    check("20,000 requests a second of one core", found["core"] >= 20000)
                    check("0.3 ms added to the median", added <= 0.3)
                    check("4 MiB", found["memory"] <= 4096)
                    check("no failed request", found["failures"] == 0)
                    memory, median, failures = silent(pid, port)
                    print(f"{SILENT:,} silent connections: {memory / 1024:.1f} MiB, a client among them has a median of {median:.3f} ms, "
                          f"{failures} failed", file=sys.stderr)
                    check(f"no failed request beside {SILENT} silent connections", failures == 0)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"the upstream alone: median {direct:.3f} ms", file=sys.stderr)
    for what in missed:
        print(f"missed: {what}", file=sys.stderr)
    sys.exit(bool(missed))


main()
