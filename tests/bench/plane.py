"""The control plane while something is measured: requests as admin, the audit log, and what processes use. Standard library only."""

import calendar
import collections
import http.client
import json
import os
import ssl
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RIG = Path(os.environ.get("RIG_DIR") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mobula-rig")
RUN = RIG / "run" / os.environ.get("NAME", "bench")
MOBULA = ROOT / "build" / "mobula"
TICK = os.sysconf("SC_CLK_TCK")


class Api:
    """One kept-alive connection as admin."""

    def __init__(self):
        self.tls = ssl.create_default_context(cafile=RUN / "pki" / "ca.crt")
        self.tls.load_cert_chain(RUN / "pki" / "admin.crt", RUN / "pki" / "admin.key")
        self.port = int((RUN / "port").read_text())
        self.link = None

    def call(self, method, path, body=None, accept="application/json"):
        text = json.dumps(body) if body is not None else None
        for attempt in (0, 1):
            try:
                self.link = self.link or http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=300)
                self.link.request(method, path, text, {"Accept": accept, "Content-Type": "application/json"})
                answer = self.link.getresponse()
                data = answer.read()
                break
            except (http.client.HTTPException, OSError):
                self.link = None
                if attempt:
                    raise
        if answer.status >= 300 and answer.status not in (404, 409):
            raise RuntimeError(f"{method} {path}: {answer.status} {data[:300]!r}")
        return json.loads(data) if data else {}

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


class Audit:
    """The audit log from here on."""

    def __init__(self):
        self.path = RUN / "audit.log"
        self.at = self.path.stat().st_size if self.path.exists() else 0

    def entries(self):
        time.sleep(0.5)
        with self.path.open("rb") as f:
            f.seek(self.at)
            for line in f:
                if line.endswith(b"\n"):
                    yield json.loads(line)


def what(entry):
    o = entry.get("objectRef") or {}
    return f'{entry["verb"]} {o.get("resource")}' + (f'/{o["subresource"]}' if o.get("subresource") else "")


def stamp(text):
    main, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(main, "%Y-%m-%dT%H:%M:%S")) + float("0." + (fraction or "0"))


def summary(audit, user):
    """The user's writes by kind, and the pod creates' times: first RayCluster received, (received, answered) of each."""
    writes, pods, first, refused = collections.Counter(), [], None, collections.Counter()
    for e in audit.entries():
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
    version = os.environ.get("K8S_VERSION", "1.34.10")
    command = [RIG / "bin" / f"kubernetes-{version}" / "kubectl", "--kubeconfig", RUN / "admin.kubeconfig", *args]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout


def load(path, body, count, in_flight, method="POST", user="admin"):
    """tests/rig/load: count requests, so many in flight; "{{i}}" in path and body becomes the number."""
    file = RUN / "load-body.json"
    args = [RIG / "bin" / "load", "-server", f"https://127.0.0.1:{(RUN / 'port').read_text().strip()}", "-pki", RUN / "pki", "-user", user,
            "-path", path, "-method", method, "-n", str(count), "-c", str(in_flight)]
    if body is not None:
        file.write_text(json.dumps(body))
        args += ["-body", file]
    return json.loads(subprocess.run(args, capture_output=True, text=True, check=True).stdout)
