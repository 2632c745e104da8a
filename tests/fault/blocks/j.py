"""Block J, resources: little memory, few descriptors, disks that are full, a great many objects. It works, or it says what is missing and
goes on when there is some again."""

import functools
import json
import os
import resource
import signal
import socket
import subprocess
import threading
import time

from case import Case
from cluster import V1, eventually
from processes import Operator
from rules import EventRule, named
from seen import Seen, make, put_spec, say_no, settle, v1_spec

BLOCK = "J"
TITLE = "resources"

MIB = 1 << 20
LONG_S = 240
MANY, MODEL = 10_000, "model-of-many"
MANY_RSS_KIB = 40 * 1024  # three kilobytes for a cluster with its head, its service and its status
LARGE_RSS_KIB = 8 * 1024


class Limited(Operator):
    """An operator under resource limits, whose log goes to a file, to a pipe that we read, or to a descriptor."""

    def __init__(self, ctx, *flags, limits=(), log="file"):
        self.limits, self.to = dict(limits), log
        super().__init__(ctx.folder, ctx.space.name, "--tools=none", *flags, name=f"operator{len(ctx.operators)}", config=ctx.config())
        ctx.operators.append(self)

    def _limit(self):
        for what, value in self.limits.items():
            resource.setrlimit(what, (value, resource.getrlimit(what)[1]))

    def start(self):
        command = [self.program, "operator", "--kubeconfig", self.config, "--namespace", self.namespace]
        command += ["--health-addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0", *self.flags]
        self.began = self.log_path.stat().st_size if self.log_path.exists() else 0
        self.log_path.touch()
        out = self.log_path.open("ab") if self.to == "file" else subprocess.PIPE if self.to == "pipe" else self.to
        self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, preexec_fn=self._limit)
        if self.to == "pipe":
            threading.Thread(target=self._copy, args=(self.process.stdout,), daemon=True).start()
        elif self.to == "file":
            out.close()
        return self

    def _copy(self, pipe):
        with self.log_path.open("ab", buffering=0) as f:
            while data := pipe.read1(4096):
                f.write(data)

    def ready(self):
        def answers():
            try:
                return self.get("/readyz")[0] == 200
            except OSError:  # it has no descriptor left for us right now
                return False

        eventually(answers, LONG_S, 0.2)
        return self

    def change(self, what, value):
        resource.prlimit(self.process.pid, what, (value, resource.prlimit(self.process.pid, what)[1]))


def work(ctx, workers=3, clusters=1):
    for i in range(clusters):
        make(ctx.space, V1, f"c{i}", v1_spec(workers, max(workers, 5)))
    for i in range(clusters):
        s = settle(ctx.space, V1, f"c{i}", LONG_S)
        assert len(s.workers) == workers


def limited(ctx, limits, workers=3, clusters=1):
    """All goes well with so little."""
    Limited(ctx, limits=limits).ready()
    work(ctx, workers, clusters)
    ctx.conclude()


def memory_runs_out(ctx):
    """It says so in its last line and ends; the next process finds everything and goes on."""
    op = Limited(ctx).ready()
    work(ctx, 1)
    used = int(next(line.split()[1] for line in open(f"/proc/{op.process.pid}/status", encoding="ascii") if line.startswith("VmSize")))
    op.change(resource.RLIMIT_AS, used * 1024 + 4096)
    body = v1_spec(100, 100)
    body["headGroupSpec"]["template"]["spec"]["containers"][0]["env"] += [{"name": f"E{i}", "value": "x" * 4000} for i in range(200)]
    make(ctx.space, V1, "big", body)
    assert op.process.wait(60) == -signal.SIGABRT, op.log()
    assert "fatal" in op.log().splitlines()[-1], op.log()[-500:]
    op.limits = {}
    op.start().ready()
    settle(ctx.space, V1, "big", LONG_S)
    ctx.conclude(rss_kib=LARGE_RSS_KIB)  # that of a spec of 800 kB


def descriptors_taken_away(ctx):
    """No new connection can be made for a while; those there are go on, and new ones come when they may."""
    op = Limited(ctx).ready()
    work(ctx, 1)
    op.change(resource.RLIMIT_NOFILE, len(os.listdir(f"/proc/{op.process.pid}/fd")))
    ctx.proxy.cut()
    put_spec(ctx.space, V1, "c0", v1_spec(5))
    time.sleep(5)
    assert op.process.poll() is None, op.log()
    op.change(resource.RLIMIT_NOFILE, 256)

    def look():
        s = Seen(ctx.space, V1, "c0")
        assert s.settled and len(s.workers) == 5
        return True

    eventually(look, LONG_S, 0.2)
    ctx.conclude()


def idle_clients(ctx):
    """Forty connections to the health port that say nothing, and few descriptors: the work goes on, and when they are gone it answers."""
    op = Limited(ctx, limits={resource.RLIMIT_NOFILE: 48}).ready()
    port = int(op.says("listening", "health-addr").rpartition("port=")[2].split()[0])
    clients = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(40)]
    try:
        work(ctx, 3)
    finally:
        for c in clients:
            c.close()
    eventually(lambda: op.get("/readyz")[0] == 200, 60, 0.2)
    ctx.conclude()


def log_disk_full(ctx):
    """Every line of the log is refused with ENOSPC."""
    with open("/dev/full", "wb", buffering=0) as full:
        Limited(ctx, log=full)
        work(ctx)
    ctx.conclude()


def log_reader_gone(ctx):
    """The log's pipe breaks while it runs."""
    read, write = os.pipe()
    op = Limited(ctx, log=write)
    os.close(write)
    work(ctx, 1)
    os.close(read)
    put_spec(ctx.space, V1, "c0", v1_spec(4))
    eventually(lambda: len(ctx.space.pods("c0")) == 5, LONG_S, 0.2)
    settle(ctx.space, V1, "c0", LONG_S)
    assert op.process.poll() is None
    ctx.conclude()


def no_file_written(ctx):
    """Not a byte to any file: a full /tmp is nothing to it."""
    Limited(ctx, limits={resource.RLIMIT_FSIZE: 0}, log="pipe").ready()
    work(ctx)
    ctx.conclude()


def crowd(model):
    """Ten thousand objects like this one at the end of a list: other names, uids and owners' uids, the rest as it is."""
    text, own = json.dumps({"type": "ADDED", "object": model}), model["metadata"]["uid"]
    owner = next((o["uid"] for o in model["metadata"].get("ownerReferences", [])), own)

    @named(f"{MANY} like {model['metadata']['name']}")
    def act(c, x, line, _rule):
        for i in range(MANY):
            one = text.replace(owner, f"00000000-0000-4000-8000-{i:012}").replace(own, f"10000000-0000-4000-8000-{i:012}")
            c.event(x, one.replace(MODEL, f"m{i}").encode() + b"\n")
        c.event(x, line)
    return act


def ten_thousand_clusters(ctx):
    """All ours and all decided, each with a head and a service, as after a restart. Their specs are refused and their statuses say so, so
    that nothing is to be done for them; another one is made beside them, in little memory."""
    op = Limited(ctx).ready()
    make(ctx.space, V1, MODEL, v1_spec(0))
    settle(ctx.space, V1, MODEL, LONG_S)
    bad = v1_spec(0)
    del bad["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["name"]
    put_spec(ctx.space, V1, MODEL, bad)
    model = say_no(ctx.space, V1, MODEL, LONG_S)
    ctx.calm(limit=120)
    assert op.stop() == 0, op.log()
    for resource, group, obj in (("rayclusters", "ray.io", model.cluster), ("services", "", model.service), ("pods", "", model.head)):
        ctx.proxy.add(EventRule(crowd(obj), resource, "BOOKMARK", group))
    since = len(ctx.proxy.log)
    op.start().ready()
    work(ctx)
    ctx.calm(limit=120)
    told = op.metrics()
    assert told["mobula_clusters"] == MANY + 2 and told["mobula_pods"] == MANY + 5, told
    assert told["mobula_decisions_total"] > MANY, told
    others = [str(x) for x in ctx.proxy.writes(since) if "c0" not in x.name and x.resource != "events"]
    assert not others, f"{len(others)} writes for the crowd, such as {others[:3]}"
    ctx.conclude(rss_kib=MANY_RSS_KIB)


def namespaces(ctx, count):
    """As many as there may be: of all but ours it says that rights are missing, and works in ours. One more is refused at once."""
    names = ",".join([ctx.space.name] + [f"nowhere-{i}" for i in range(count - 1)])
    op = Limited(ctx, f"--namespace={names}")
    if count > 16:
        assert op.process.wait(30) == 2 and "CLI_NAMESPACES_MAX" in op.log(), op.log()
        ctx.conclude(codes=(2,))
        return
    work(ctx)
    status, text = op.get("/readyz")
    assert status == 503 and "nowhere-14" in text, text
    assert op.metrics()["mobula_namespaces"] == 16 and op.metrics()["mobula_namespaces_synced"] == 1
    ctx.conclude(rss_kib=LARGE_RSS_KIB)


def big_object(ctx):
    """A spec of a megabyte: its pods are as large."""
    op = Limited(ctx).ready()
    body = v1_spec(1)
    body["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["env"] += [{"name": f"E{i}", "value": "x" * 5000} for i in range(200)]
    make(ctx.space, V1, "c", body)
    settle(ctx.space, V1, "c", LONG_S)
    ctx.conclude(rss_kib=LARGE_RSS_KIB)


AS, DATA, FILES = resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NOFILE
LIMITS = {"16-MiB/3-pods": dict(limits={AS: 16 * MIB}), "16-MiB/100-pods": dict(limits={AS: 16 * MIB}, workers=100),
          "16-MiB/40-clusters": dict(limits={AS: 16 * MIB}, workers=0, clusters=40),
          "16-MiB-of-data/100-pods": dict(limits={DATA: 16 * MIB}, workers=100), "32-descriptors": dict(limits={FILES: 32}, workers=60),
          "16-descriptors": dict(limits={FILES: 16}, workers=30)}
SCENES = {"memory-runs-out": memory_runs_out, "descriptors-taken-away": descriptors_taken_away, "idle-clients": idle_clients,
          "log-disk-full": log_disk_full, "log-reader-gone": log_reader_gone, "no-file-written": no_file_written,
          "10000-clusters": ten_thousand_clusters, "16-namespaces": functools.partial(namespaces, count=16),
          "17-namespaces": functools.partial(namespaces, count=17), "big-object": big_object}
MEMORY = ("memory-runs-out", "10000-clusters", "big-object")  # it is measured


def cases(_learned):
    found = [Case(f"J/{name}", functools.partial(limited, **how), limit=600, plain="MiB" in name) for name, how in LIMITS.items()]
    return found + [Case(f"J/{name}", run, limit=600, plain=name in MEMORY) for name, run in SCENES.items()]
