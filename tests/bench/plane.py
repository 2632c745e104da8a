"""The control plane while something is measured: requests as admin, the audit log, and what processes use. Standard library only."""

import collections
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rig"))
import rig
from rig import KUBECTL, MOBULA, RIG, ROOT, RUN, stamp, what

__all__ = ["MOBULA", "ROOT"]  # of the rig, for those who import this
TICK = os.sysconf("SC_CLK_TCK")


class Api(rig.Api):
    """As admin, with patience; that something is not there, or there already, is an answer like any other."""

    timeout = 300

    def call(self, method, path, body=None, content_type="application/json", accept="application/json"):
        while True:
            try:
                return super().call(method, path, body, content_type, accept)
            except rig.Refused as e:
                if e.status in (404, 409):
                    return e.body
                if method != "GET" or e.status not in (429, 503, 504):  # what is measured may leave no room for who looks on
                    raise
            time.sleep(1)

    def count(self, path):
        """How many objects, at the price of one."""
        d = self.call("GET", path + "?limit=1")
        return len(d["items"]) + d["metadata"].get("remainingItemCount", 0)

    def ready(self, namespace):
        """How many RayClusters say ready, from the server's table without the objects."""
        d = self.call("GET", f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters?includeObject=None",
                      accept="application/json;as=Table;g=meta.k8s.io;v=v1")
        column = [c["name"] for c in d["columnDefinitions"]].index("status")
        return sum(row["cells"][column] == "ready" for row in d["rows"] or [])


class Ready(threading.Thread):
    """Which RayClusters of a namespace have been ready, and since when. A watch, as listing a thousand twice a second is itself a load."""

    def __init__(self, namespace):
        super().__init__(daemon=True)
        self.path, self.at, self.ended = f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters?watch=1", {}, False
        self.start()

    def run(self):
        while not self.ended:
            link = http.client.HTTPSConnection("127.0.0.1", rig.port(), context=rig.admin_tls(), timeout=600)
            link.request("GET", self.path)
            with link.getresponse() as answer:  # without a resourceVersion it begins with all there are
                while line := answer.readline():
                    if self.ended:
                        return
                    event = json.loads(line)
                    if event["type"] in ("ADDED", "MODIFIED") and event["object"].get("status", {}).get("state") == "ready":
                        self.at.setdefault(event["object"]["metadata"]["name"], time.time())

    def wait(self, count, limit_s):
        """The time at which the last of so many was."""
        end = time.time() + limit_s
        while len(self.at) < count:
            if time.time() > end:
                raise RuntimeError(f"{len(self.at)} and not {count} ready within {limit_s} s")
            time.sleep(0.02)
        self.ended = True
        return max(self.at.values())


class Audit(rig.AuditLog):
    """The audit log from here on."""

    def entries(self):
        return self.lines(settle=0.5)


def summary(audit, user):
    """The user's writes by kind, and the pod creates' times: first RayCluster received, (received, answered) of each."""
    writes, pods, first, refused = collections.Counter(), [], None, collections.Counter()
    for e in audit if isinstance(audit, list) else audit.entries():
        if e["stage"] != "ResponseComplete":
            continue
        kind = what(e)
        if e["user"]["username"] == user and e["verb"] in ("create", "update", "patch", "delete", "deletecollection"):
            writes[kind] += 1
            if e["responseStatus"]["code"] >= 400:
                refused[f'{kind} {e["responseStatus"]["code"]}'] += 1
            elif kind == "create pods":
                pods.append((stamp(e["requestReceivedTimestamp"]), stamp(e["stageTimestamp"])))
        elif kind == "create rayclusters":
            t = stamp(e["requestReceivedTimestamp"])
            first = t if first is None else min(first, t)
    return {"writes": dict(writes), "refused": dict(refused), "pods": sorted(pods), "first": first}


def by_user(entries):
    """Of each user: requests that were answered, those answered 429, and watches that were begun."""
    found = collections.defaultdict(collections.Counter)
    for e in entries:
        user = e["user"]["username"].rsplit(":", 1)[-1]
        watch = e["verb"] == "watch"
        if e["stage"] == ("ResponseStarted" if watch else "ResponseComplete"):
            found[user]["watches" if watch else "requests"] += 1
            found[user]["429"] += e["responseStatus"]["code"] == 429
    return {user: dict(counts) for user, counts in found.items()}


def most_at_once(intervals):
    """How many of the intervals overlap at the busiest moment."""
    edges = sorted([(a, 1) for a, _ in intervals] + [(b, -1) for _, b in intervals])
    now = most = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


def cpu(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory(pid):
    """VmRSS, VmHWM and RssAnon in MiB."""
    found = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        key, _, value = line.partition(":")
        if key in ("VmRSS", "VmHWM", "RssAnon"):
            found[key] = round(int(value.split()[0]) / 1024, 2)
    return found


def kubectl(*args, stdin=None):
    command = [KUBECTL, "--kubeconfig", RUN / "admin.kubeconfig", *args]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout


def load(path, body, count, in_flight, method="POST", user="admin"):
    """tests/rig/load: count requests, so many in flight; "{{i}}" in path and body becomes the number."""
    file = RUN / f"load-body-{threading.get_ident()}.json"  # several may run side by side
    args = [RIG / "bin" / "load", "-server", f"https://127.0.0.1:{rig.port()}", "-pki", RUN / "pki", "-user", user,
            "-path", path, "-method", method, "-n", str(count), "-c", str(in_flight)]
    if body is not None:
        file.write_text(json.dumps(body))
        args += ["-body", file]
    return json.loads(subprocess.run(args, capture_output=True, text=True, check=True).stdout)
