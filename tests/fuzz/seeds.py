#!/usr/bin/env python3
"""Makes fuzz seeds of a real API server's answers, recorded as bytes. See seeds.sh.

Nothing in a seed is this machine's: uids, times and tokens are replaced by made ones of the same length, so that chunks and lengths stay
right. Of all that is recorded only what takes a target through new code is kept (libFuzzer's -merge=1). The real-* of ray_dash, ray_grpc
and ray_state are answers of a real Ray, taken once; nothing here makes them anew."""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "rig"), str(ROOT / "tests" / "conform")]
import rig  # noqa: E402
from servers import compact_real  # noqa: E402

CORPUS = ROOT / "tests" / "fuzz" / "corpus"
TARGETS = ("chunked", "http_response", "json_parse", "json_slicer", "kube_config", "kube_lease", "kube_status", "kube_watch", "legacy",
           "operator_objects", "raycluster", "rayjob", "yaml_read")
TLS_TARGETS = ("tls_session", "x509", "x509_pem")
SIZE_MAX = 20_000  # of one seed
TIMEOUT_S = 30
PATIENCE_S = 60
QUIET_S = 3
NS = "seeds"
CORE = f"/api/v1/namespaces/{NS}"
RAY = f"/apis/ray.io/v1/namespaces/{NS}"
LEGACY = f"/apis/cluster.ray.io/v1/namespaces/{NS}"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
OURS = "labelSelector=ray.io/cluster"

UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
STAMP = re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")
DATE = re.compile(rb"(Date: )[^\r]+")


class Scrub:
    """The same thing gets the same name everywhere."""

    def __init__(self):
        self.uids = {}

    def uid(self, match):
        return b"00000000-0000-4000-8000-%012x" % self.uids.setdefault(match[0], len(self.uids) + 1)

    def __call__(self, data):
        data = UUID.sub(self.uid, data)
        data = STAMP.sub(lambda m: b"2026-01-01T00:00:00.000000Z" if m[1] else b"2026-01-01T00:00:00Z", data)
        return DATE.sub(rb"\1Thu, 01 Jan 2026 00:00:00 GMT", data)


class Answer:
    """One answer as it came: raw, and what is in it."""

    def __init__(self, raw):
        self.raw = raw
        head, _, rest = raw.partition(b"\r\n\r\n")
        self.status = int(head.split()[1])
        self.chunked = b"transfer-encoding: chunked" in head.lower()
        self.chunks, self.body = rest, unchunked(rest) if self.chunked else rest

    def json(self):
        return json.loads(self.body)


def unchunked(data):
    body = b""
    while data:
        size, _, rest = data.partition(b"\r\n")
        n = int(size, 16)
        body, data = body + rest[:n], rest[n + 2:]
        if n == 0:
            break
    return body


def whole(raw):
    """Has all of the answer come?"""
    head, end, rest = raw.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and (len(rest) >= int(length[1]) if length else rest.endswith(b"0\r\n\r\n"))


class Recorder:
    """Requests over one connection each, answers as bytes."""

    def __init__(self):
        self.tls, self.scrub = rig.admin_tls(), Scrub()

    def send(self, method, path, body=None, content_type="application/json", **headers):
        text = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "User-Agent: seeds", "Accept: application/json"]
        lines += [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
        if text:
            lines += [f"Content-Type: {content_type}", f"Content-Length: {len(text)}"]
        link = self.tls.wrap_socket(socket.create_connection(("127.0.0.1", rig.port()), timeout=TIMEOUT_S), server_hostname="localhost")
        link.sendall("\r\n".join([*lines, "", ""]).encode() + text)
        return link

    @staticmethod
    def read(link):
        raw = b""
        while not whole(raw):
            data = link.recv(65536)
            assert data, raw
            raw += data
        link.close()
        return raw

    def receive(self, link):
        return Answer(self.scrub(self.read(link)))

    def ask(self, *args, **headers):
        return self.receive(self.send(*args, **headers))

    def live(self, *args):
        """An answer that is needed as it is: versions and uids of it go into the next request."""
        answer = Answer(self.read(self.send(*args)))
        assert answer.status < 300, answer.body
        return answer.json()


def until(what, otherwise):
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, otherwise
        time.sleep(0.2)


# ---- what there is to record ----


def template(name):
    return {"spec": {"containers": [{"name": name, "image": "ray:2.60.0", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}}


def workload():
    """A cluster of either kind and a job."""
    spec = {"rayVersion": "2.60.0", "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"}, "template": template("ray-head")},
            "workerGroupSpecs": [{"groupName": "small", "replicas": 1, "minReplicas": 0, "maxReplicas": 2, "rayStartParams": {},
                                  "template": template("ray-worker")}]}
    types = [{"name": n, "minWorkers": 0, "maxWorkers": 1, "rayResources": {"CPU": 1},
              "podConfig": {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": f"{n}-"}, **template("ray-node")}}
             for n in ("head", "worker")]
    return [(f"{RAY}/rayclusters", {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "one"}, "spec": spec}),
            (f"{LEGACY}/rayclusters", {"apiVersion": "cluster.ray.io/v1", "kind": "RayCluster", "metadata": {"name": "two"},
                                       "spec": {"maxWorkers": 1, "headPodType": "head", "podTypes": types}}),
            (f"{RAY}/rayjobs", {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "three"},
                                "spec": {"entrypoint": "python x.py", "suspend": True, "shutdownAfterJobFinishes": True,
                                         "rayClusterSpec": spec}})]


def prepare(r):
    """Lets the operator make what it makes."""
    r.live("POST", "/api/v1/namespaces", {"metadata": {"name": NS}})
    account = f"{CORE}/serviceaccounts/default"
    until(lambda: r.ask("GET", account).status == 200, "no service account")
    for path, body in workload():
        r.live("POST", path, body)
    flags = ["--tools", "none", "--autoscaler", "off", "--identity", "seeds", "--health-addr", "", "--metrics-addr", ""]
    command = [str(rig.MOBULA), "operator", "--namespace", NS, "--kubeconfig", str(rig.RUN / "admin.kubeconfig"), *flags]
    operator = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ready():
        pods = r.live("GET", f"{CORE}/pods")["items"]
        return len(pods) >= 3 and all(p.get("status", {}).get("phase") == "Running" for p in pods)

    try:
        until(ready, "the operator makes no pods")
        time.sleep(2)  # its last statuses
    finally:
        operator.send_signal(signal.SIGTERM)
        operator.wait()


def refusals(r):
    """One answer for each way in which the API server says no. Those that expire need a version that is compacted away."""
    lists = r.live("GET", f"{CORE}/configmaps?limit=1")
    old, token = lists["metadata"]["resourceVersion"], lists["metadata"].get("continue", "")
    for name in "abc":
        r.live("POST", f"{CORE}/configmaps", {"metadata": {"name": name}})
    if not token:
        token = r.live("GET", f"{CORE}/configmaps?limit=1")["metadata"]["continue"]
    now = r.live("POST", f"{CORE}/configmaps", {"metadata": {"name": "d"}})["metadata"]["resourceVersion"]
    compact_real(now)
    exact = f"{CORE}/configmaps?resourceVersion={old}&resourceVersionMatch=Exact"
    until(lambda: r.ask("GET", exact).status == 410, "nothing expires")
    uid = "00000000-0000-0000-0000-000000000001"
    broken = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "Bad", "image": ""}, {"name": "Bad"}], "restartPolicy": "No"}}
    bad = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "bad"}}
    bad["spec"] = {"headGroupSpec": {"x": 1}, "managedBy": "me"}
    other = json.dumps({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "one"}, "spec": {"rayVersion": "2"}}).encode()
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": "100%", "selector": {"matchLabels": {"ray.io/cluster": "one"}}}}
    r.live("POST", f"/apis/policy/v1/namespaces/{NS}/poddisruptionbudgets", budget)
    pod = r.live("GET", f"{CORE}/pods?{OURS}=one")["items"][0]["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    yield "expired-list", r.ask("GET", exact)
    yield "expired-token", r.ask("GET", f"{CORE}/configmaps?limit=1&continue={token}")
    yield "expired-watch", r.ask("GET", f"{RAY}/rayclusters?watch=true&resourceVersion=1&timeoutSeconds=1")
    yield "too-large", r.ask("GET", f"{CORE}/pods?resourceVersion={10**9}")
    yield "not-found", r.ask("GET", f"{CORE}/pods/none")
    yield "no-kind", r.ask("GET", "/apis/ray.io/v7/things")
    yield "exists", r.ask("POST", f"{CORE}/configmaps", {"metadata": {"name": "a"}})
    yield "precondition", r.ask("DELETE", f"{CORE}/pods/{pod}", {"preconditions": {"uid": uid}})
    yield "conflict", r.ask("PATCH", f"{RAY}/rayclusters/one?fieldManager=other", other, APPLY)
    yield "invalid-pod", r.ask("POST", f"{CORE}/pods", broken)
    yield "invalid-cluster", r.ask("POST", f"{RAY}/rayclusters", bad)
    yield "forbidden", r.ask("GET", f"{CORE}/pods", Impersonate_User="nobody")
    yield "evict", r.ask("POST", f"{CORE}/pods/{pod}/eviction", eviction)
    yield "broken", r.ask("POST", f"{CORE}/pods", b"{")
    yield "media-type", r.ask("PATCH", f"{CORE}/pods/{pod}", b"{}", "text/plain")
    yield "method", r.ask("PUT", f"{CORE}/pods", {})
    yield "large", r.ask("POST", f"{CORE}/configmaps", b'{"data":{"x":"' + b"y" * 3_200_000 + b'"}}')
    yield "warned", r.ask("PATCH", f"{RAY}/rayclusters/one", {"metadata": {"finalizers": ["plain"]}}, MERGE)


def lists(r):
    yield "pods", r.ask("GET", f"{CORE}/pods?{OURS}=one&limit=500")
    yield "services", r.ask("GET", f"{CORE}/services?{OURS}&limit=500")
    yield "clusters", r.ask("GET", f"{RAY}/rayclusters?limit=500")
    yield "legacy", r.ask("GET", f"{LEGACY}/rayclusters?limit=500")
    yield "jobs", r.ask("GET", f"{RAY}/rayjobs?limit=500")
    yield "none", r.ask("GET", f"{CORE}/pods?labelSelector=none&limit=500")


def pages(r):
    """The services, one at a time."""
    token = ""
    while True:
        page = r.ask("GET", f"{CORE}/services?limit=1&continue={token}")
        yield page
        token = page.json()["metadata"].get("continue", "")
        if not token:
            return


def watches(r):
    """Streams that end by themselves; what happens meanwhile is a pod's last second and a status that changes."""
    initial = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2"
    last = r.live("GET", f"{CORE}/pods")["metadata"]["resourceVersion"]
    links = {"stream-services": r.send("GET", f"{CORE}/services?{OURS}&{initial}"),
             "stream-jobs": r.send("GET", f"{RAY}/rayjobs?{initial}"),
             "stream-pods": r.send("GET", f"{CORE}/pods?{OURS}=two&{initial}"),
             "watch-pods": r.send("GET", f"{CORE}/pods?{OURS}=one&watch=true&resourceVersion={last}&timeoutSeconds=3"),
             "watch-clusters": r.send("GET", f"{RAY}/rayclusters?watch=true&resourceVersion={last}&timeoutSeconds=3")}
    name = r.live("GET", f"{CORE}/pods?{OURS}=one")["items"][-1]["metadata"]["name"]
    r.live("DELETE", f"{CORE}/pods/{name}")
    r.live("PATCH", f"{RAY}/rayclusters/one/status", {"status": {"reason": "seen"}}, MERGE)
    for name, link in links.items():
        yield name, r.receive(link)


def lease(r):
    """Not there, made, renewed, written with an old version, somebody else's: as one elects a leader."""
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 5, "renewTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 1}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "mobula"}, "spec": spec}
    path = f"{LEASES}/mobula"
    yield r.ask("GET", path)
    yield r.ask("POST", LEASES, body)
    made = r.live("GET", path)
    yield r.ask("PUT", path, {**made, "spec": {**spec, "leaseTransitions": 2}})
    yield r.ask("PUT", path, {**made, "spec": {**spec, "leaseTransitions": 3}})
    r.live("PATCH", path, {"spec": {"holderIdentity": "other"}}, MERGE)
    yield r.ask("GET", path)


# ---- seeds: what each target takes for input ----


def conversation(flags, parts):
    """For f_kube_watch and f_kube_lease: what is said, a NUL, what happens then."""
    return flags + b"".join(raw + b"\0" + happens for raw, happens in parts)


def told(scrub, r):
    """For f_operator_objects: one life of a cluster."""
    cluster = r.live("GET", f"{RAY}/rayclusters/one")
    pod = r.live("GET", f"{CORE}/pods?{OURS}=one")["items"][0]
    service = r.live("GET", f"{CORE}/services?{OURS}=one")["items"][0]
    gone = {"metadata": {"uid": pod["metadata"]["uid"]}}
    parts = [(b"+rayclusters.ray.io", cluster), (b"+services", service), (b"+pods", pod), (b"t", None), (b"-pods", gone)]
    return scrub(b"\0".join(what + (compact(o) if o else b"") for what, o in parts))


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


def record(r):
    """{target: {name: bytes}}"""
    seeds = {t: {} for t in TARGETS}
    prepare(r)
    known = list(lists(r))
    seeds["operator_objects"]["life"] = told(r.scrub, r)
    for name, a in known:
        seeds["http_response"][name], seeds["json_slicer"][name] = a.raw, b"\0" + a.body
    one, two, three = (r.scrub(compact(r.live("GET", f"{path}/{body['metadata']['name']}"))) for path, body in workload())
    seeds["raycluster"].update(one=one, two=two)
    seeds["legacy"]["two"] = r.scrub(compact(json.loads(two)["spec"]))
    seeds["rayjob"]["three"] = three
    seeds["json_parse"].update(one=one, pod=r.scrub(compact(r.live("GET", f"{CORE}/pods")["items"][0])))
    paged, streams = list(pages(r)), dict(watches(r))
    seeds["kube_lease"]["life"] = conversation(b"", [(a.raw, b"t") for a in lease(r)])
    for name, a in streams.items():
        seeds["http_response"][name], seeds["chunked"][name], seeds["json_slicer"][name] = a.raw, a.chunks, b"\1" + a.body
    refused = dict(refusals(r))
    for name, a in refused.items():
        seeds["http_response"][name] = a.raw
        if a.status >= 300:
            seeds["kube_status"][name] = bytes([a.status - 300]) + a.body
    expired = refused["expired-watch"].raw
    seeds["kube_watch"].update({
        "pages": conversation(b"\1", [(a.raw, b"t") for a in paged] + [(streams["watch-clusters"].raw, b"e"), (expired, b"t")]),
        "restart": conversation(b"\1", [(refused["expired-token"].raw, b"t"), (known[1][1].raw, b"t"), (expired, b"x")]),
        "stream": conversation(b"\0", [(streams["stream-services"].raw, b"e"), (expired, b"t"), (refused["too-large"].raw, b"x")]),
        "pieces": conversation(b"\2", [(streams["stream-jobs"].raw, b"f"), (refused["forbidden"].raw, b"t")])})
    config = (rig.RUN / "admin.kubeconfig").read_text().replace(str(rig.RUN), "/rig").replace(str(rig.port()), "6443").encode()
    seeds["kube_config"]["admin"] = seeds["yaml_read"]["admin"] = config
    return seeds


# ---- what it says before any request: certificates, and the way to them ----


def until_quiet(link):
    """All that comes before the server waits for us again, or hangs up."""
    link.settimeout(QUIET_S)
    raw = b""
    try:
        while data := link.recv(65536):
            raw += data
    except (TimeoutError, ConnectionError):
        pass
    return raw


def connect():
    return socket.create_connection(("127.0.0.1", rig.port()), timeout=TIMEOUT_S)


def handshake():
    """What the server sends in a handshake of TLS 1.2, and its certificate. The client is Python's, which takes any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    said, ours, raw = ssl.MemoryBIO(), ssl.MemoryBIO(), b""
    session = context.wrap_bio(said, ours)
    with connect() as link:
        while True:
            try:
                session.do_handshake()
                return raw, session.getpeercert(binary_form=True)
            except ssl.SSLWantReadError:
                link.sendall(ours.read())
                data = link.recv(65536)
                assert data, "the server hung up"
                said.write(data)
                raw += data


def answer_to(request):
    with connect() as link:
        link.sendall(request)
        return until_quiet(link)


def old_hello():
    """The first words of a client that knows TLS 1.0 and nothing later."""
    body = b"\3\1" + bytes(32) + b"\0" + b"\0\4\xc0\x13\xc0\x09" + b"\1\0"
    hello = b"\1" + len(body).to_bytes(3, "big") + body
    return b"\x16\3\1" + len(hello).to_bytes(2, "big") + hello


def record_tls():
    """{target: {name: bytes}}"""
    raw, leaf = handshake()
    pki = rig.RUN / "pki"
    pem = {name: (pki / f"{name}.crt").read_bytes() for name in ("ca", "admin")}
    plain = answer_to(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    return {"tls_session": {"handshake": raw, "old-client": answer_to(old_hello()), "plain": plain},
            "x509": {"server": leaf, **{name: ssl.PEM_cert_to_DER_cert(text.decode()) for name, text in pem.items()}},
            "x509_pem": {"ca": pem["ca"], "bundle": pem["ca"] + pem["admin"]}}


# ---- the few that are worth keeping ----


def foreign(data):
    """What must not be in a seed."""
    names = {socket.gethostname(), os.environ.get("USER", ""), str(Path.home()), str(ROOT)} - {"", "/", "root", "localhost"}
    return [n for n in names if n.encode() in data] + [m for m in ("PRIVATE KEY", "Bearer ey", "token: ey") if m.encode() in data]


def keep(target, seeds):
    """Writes those of the seeds that show the target something which its other inputs do not."""
    folder = CORPUS / target
    folder.mkdir(exist_ok=True)
    for old in folder.glob("real-*"):
        old.unlink()
    names = {}
    with tempfile.TemporaryDirectory() as temporary:
        have, new = Path(temporary, "have"), Path(temporary, "new")
        shutil.copytree(folder, have)
        new.mkdir()
        for name, data in seeds.items():
            assert not foreign(data), f"{target}/{name}: {foreign(data)}"
            if len(data) <= SIZE_MAX:
                names[hashlib.sha1(data).hexdigest()] = name
                Path(new, name).write_bytes(data)
        subprocess.run([str(ROOT / "build" / "fuzz" / target), "-merge=1", f"-max_len={SIZE_MAX}", str(have), str(new)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        all_of_them = target in TLS_TARGETS  # what reads them is BearSSL, whose code libFuzzer does not watch
        kept = [name for digest, name in names.items() if all_of_them or Path(have, digest).exists()]
    for name in kept:
        Path(folder, f"real-{name}").write_bytes(seeds[name])
    print(f"  {target:<20} {len(kept)} of {len(seeds)} kept, {sum(len(seeds[n]) for n in kept)} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", action="store_true", help="only their names")
    parser.add_argument("--tls", action="store_true", help="only what a server says before any request")
    args = parser.parse_args()
    if args.targets:
        print(*TARGETS, *TLS_TARGETS)
        return
    recorded = record_tls() if args.tls else {**record(Recorder()), **record_tls()}
    for target, seeds in recorded.items():
        keep(target, seeds)


if __name__ == "__main__":
    main()
