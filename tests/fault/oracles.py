"""What must hold after a case, and what must have held at every moment of it."""

import collections
import http.client
import json
import re
import threading

from cluster import LEGACY, V1

TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
SERVICE_ACCOUNT_VOLUME = re.compile(r"kube-api-access-[a-z0-9]{5}")
HASH = re.compile(r'(?<="mobula.dev/template-hash": ")[0-9a-f]{16}')
NODE = re.compile(r'"fake-\d+"')
CALLED = "example.com/called"  # a label of pods
SANITIZER = re.compile(r"(ERROR: (Address|Leak)Sanitizer|runtime error:|AddressSanitizer:DEADLYSIGNAL)")


# ---- the state of a namespace, without what differs between two runs of the same ----

def labels(obj):
    return obj["metadata"].get("labels") or {}


def is_head(pod):
    return labels(pod).get("ray.io/node-type") == "head"


def is_live(pod):
    """Neither going away nor ended."""
    return not pod["metadata"].get("deletionTimestamp") and pod.get("status", {}).get("phase") not in ("Failed", "Succeeded")


def is_running(pod):
    """It is there to stay, and ready."""
    conditions = {c["type"]: c["status"] for c in pod.get("status", {}).get("conditions", [])}
    return is_live(pod) and conditions.get("Ready") == "True"


def submits(pod):
    """Whether it is the submitter of a RayJob."""
    return any(r.get("kind") == "RayJob" and r.get("controller") for r in pod["metadata"].get("ownerReferences", []))


def place(pod):
    """Which pod of its cluster it is: "c/small/3", "c/small/0/1" for the second host of a replica, "c/head". For a job's cluster, which
    has a name of its own in every run, its template says what it is called. "j/submitter" whatever the attempt: no two of a job live."""
    of = labels(pod)
    if submits(pod):
        return f"{of.get('ray.io/originated-from-cr-name')}/submitter"
    cluster = of.get(CALLED) or of.get("ray.io/cluster", "?")
    if is_head(pod):
        return f"{cluster}/head"
    host = of.get("ray.io/replica-host-index")
    return f"{cluster}/{of.get('ray.io/group')}/{of.get('ray.io/worker-group-replica-index')}" + (f"/{host}" if host else "")


def owner_uid(obj):
    return next((o["uid"] for o in obj["metadata"].get("ownerReferences", []) if o.get("controller")), "")


def objects(space, more=()):
    """(kind, object) of all that a case is about; more: (resource, group) of what else."""
    found = []
    paths = [("rayjob", space.path("rayjobs", group=V1)), ("raycluster", space.path("rayclusters", group=V1)),
             ("legacy", space.path("rayclusters", group=LEGACY)), ("pod", space.path("pods")), ("service", space.path("services"))]
    for kind, path in paths + [(resource, space.path(resource, group=group)) for resource, group in more]:
        found += [(kind, o) for o in space.api.get(path)["items"]]
    return found


def names_to_replace(found):
    """What is made of uids and addresses, and what it is called in a state."""
    new = {}
    for kind, o in found:
        name = o["metadata"]["name"]
        called = place(o) if kind == "pod" else name
        if kind == "rayjob" and o.get("status", {}).get("jobId"):
            new[o["status"]["jobId"]] = f"<submission of {name}>"
        if kind == "pod" and (not is_head(o) or "ray-cluster-name" in labels(o)):
            new[name] = f"<{called}>"
        new[o["metadata"]["uid"]] = f"<uid of {kind} {called}>"
        replica = labels(o).get("ray.io/worker-group-replica-name")
        if replica:
            new[replica] = f"<replica {called}>".rsplit("/", 1)[0] + ">"
        address = o.get("spec", {}).get("clusterIP") if kind == "service" else o.get("status", {}).get("podIP") if kind == "pod" else ""
        if address and address != "None":
            new[f'"{address}"'] = f'"<address of {called}>"'
    return new


def rank_replicas(workers, everywhere):
    """A replica of several hosts that is made while its predecessor goes takes the next free index, one that is made later the same one.
    And which of the oldest workers stay when a group shrinks is decided by the second in which they were made. There the order counts,
    not the index."""
    places = [(p, place(p).split("/")[:2], int(labels(p).get("ray.io/worker-group-replica-index", -1))) for p in workers
              if everywhere or labels(p).get("ray.io/replica-host-index")]
    indices = collections.defaultdict(set)
    for _, group, index in places:
        indices[tuple(group)].add(index)
    for p, group, index in places:
        labels(p)["ray.io/worker-group-replica-index"] = str(sorted(indices[tuple(group)]).index(index))


def reduce_status(status, strict):
    """Failures that are over are told for a minute more; a fault may leave some where the reference has none."""
    if not isinstance(status, dict):
        return status
    if "stateTransitionTimes" in status:  # states that were passed through too fast to be told are not in it
        status = {**status, "stateTransitionTimes": {k: v for k, v in status["stateTransitionTimes"].items() if k == status.get("state")}}
    if strict:
        return status
    status = {k: v for k, v in status.items() if k not in ("groups", "autoscalerRetries")}
    if "conditions" in status:
        status["conditions"] = [c for c in status["conditions"] if c["type"] != "ReplicaFailure"]
    return status


def reduce_object(kind, o, strict):
    meta = {k: v for k, v in o["metadata"].items()
            if k in ("name", "labels", "annotations", "generation", "deletionTimestamp", "finalizers", "ownerReferences")}
    if kind == "pod":
        conditions = {c["type"]: c["status"] for c in o.get("status", {}).get("conditions", [])}
        status = {"phase": o.get("status", {}).get("phase"), "ready": conditions.get("Ready")}
        meta.pop("generation", None)
    else:
        status = reduce_status(o.get("status"), strict) if kind != "service" else None
    spec = dict(o.get("spec", {}))
    if kind == "service":  # node ports are given out at random
        meta["annotations"] = {k: v for k, v in meta.get("annotations", {}).items() if k != "mobula.dev/template-hash"}  # of uids too
        spec["ports"] = [{k: v for k, v in p.items() if k != "nodePort"} for p in spec.get("ports", [])]
    reduced = {"metadata": meta, "spec": spec, "status": status}
    if "data" in o:
        reduced["data"] = sorted(o["data"])  # whose values are random
    return reduced | {k: o[k] for k in ("rules", "roleRef", "subjects") if k in o}


def same_port(text, port):
    """A dashboard has another port in every run, and what is made of it another hash."""
    return re.sub(rf"\b{port}\b", "8265", HASH.sub("<hash>", text))


def snapshot(space, strict=False, names=None, ranked=False, more=(), port=None):
    """The namespace's jobs, clusters, pods and services as {"pod c/small/0": object}, comparable between runs. names: of pods and clusters
    that may be gone by now, to their places. Of `more` resources those that have an owner; port: a dashboard's."""
    found = [(kind, o) for kind, o in objects(space, more) if owner_uid(o) or kind not in dict(more)]
    rank_replicas([o for kind, o in found if kind == "pod" and not is_head(o)], ranked)
    keyed = {}
    for kind, o in found:
        key = f"{kind} {place(o) if kind == 'pod' else o['metadata']['name']}"
        while key in keyed:
            key += " again"
        keyed[key] = reduce_object(kind, o, strict)
    text = json.dumps(keyed, sort_keys=True)
    replace = {name: f"<{where}>" for name, where in (names or {}).items() if not where.endswith("/head")} | names_to_replace(found)
    for old in sorted(replace, key=len, reverse=True):
        text = text.replace(json.dumps(old)[1:-1] if not old.startswith('"') else old, replace[old])
    text = text.replace(space.name, "<namespace>")
    text = TIMES.sub("<time>", SERVICE_ACCOUNT_VOLUME.sub("kube-api-access", NODE.sub('"fake"', text)))
    return json.loads(same_port(text, port) if port else text)


def difference(want, got, path=""):
    """The first few places in which two states differ, as lines."""
    if isinstance(want, dict) and isinstance(got, dict):
        lines = []
        for k in sorted(want.keys() | got.keys()):
            if k not in got:
                lines.append(f"{path}/{k}: missing")
            elif k not in want:
                lines.append(f"{path}/{k}: should not be there: {json.dumps(got[k])[:200]}")
            else:
                lines += difference(want[k], got[k], f"{path}/{k}")
        return lines
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [line for i, (a, b) in enumerate(zip(want, got)) for line in difference(a, b, f"{path}[{i}]")]
    return [] if want == got else [f"{path}: is {json.dumps(got)[:300]}, should be {json.dumps(want)[:300]}"]


# ---- the history, seen by a witness that does not go through the proxy ----

class Witness:
    """Watches the namespace's pods as admin from the moment it is made until stop(). However a watch of its ends, the next one goes on at
    the last version that it saw; when that cannot be, the history has a hole, `lost` says why, and the case has failed."""

    def __init__(self, api, namespace):
        self.api, self.path = api, f"/api/v1/namespaces/{namespace}/pods"
        first = api.get(self.path)
        self.events = [("ADDED", p) for p in first["items"]]
        self.version, self.done = first["metadata"]["resourceVersion"], threading.Event()
        self.link = None
        self.lost = ""
        self.strangers = set()  # names of pods that are somebody else's doing
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            while not self.done.is_set() and not self.lost:
                self._follow()
        except Exception as e:  # whatever it was: nobody watches from here on
            if not self.done.is_set():
                self.lost = repr(e)

    def _follow(self):
        """One watch, to its end."""
        self.link = http.client.HTTPSConnection("127.0.0.1", self.api.port, context=self.api.tls, timeout=600)
        try:
            self.link.request("GET", f"{self.path}?watch=1&allowWatchBookmarks=true&timeoutSeconds=580&resourceVersion={self.version}")
            answer = self.link.getresponse()
            if answer.status != 200:
                self._refused(json.loads(answer.read()))
                return
            while (line := answer.readline()).endswith(b"\n"):  # half a line is a connection that was cut
                self._take(json.loads(line))
        except (http.client.HTTPException, OSError):
            self.done.wait(0.1)  # cut, by stop() or by the server
        finally:
            self.link.close()

    def _refused(self, status):
        """410: the version is gone, and with it what happened since. All else passes."""
        if status.get("code") == 410:
            self.lost = status.get("message", "410")
        self.done.wait(0.2)

    def _take(self, event):
        if event["type"] == "ERROR":
            self._refused(event["object"])
            return
        self.version = event["object"]["metadata"]["resourceVersion"]
        if event["type"] != "BOOKMARK":
            self.events.append((event["type"], event["object"]))

    def has_all(self):
        """Whether it has seen all that there is by now."""
        there = {p["metadata"]["uid"]: p["metadata"]["resourceVersion"] for p in self.api.get(self.path)["items"]}
        seen = {}
        for kind, p in list(self.events):
            seen[p["metadata"]["uid"]] = p["metadata"]["resourceVersion"]
            if kind == "DELETED":
                del seen[p["metadata"]["uid"]]
        return bool(self.lost) or there == seen

    def stop(self):
        self.done.set()
        sock = self.link and self.link.sock
        if sock:
            try:
                sock.shutdown(2)
            except OSError:
                pass  # it has ended by itself
        self.thread.join(5)

    def ours(self):
        """(type, pod) of the events about pods that should not concern anybody else."""
        return [(kind, p) for kind, p in list(self.events) if p["metadata"]["name"] not in self.strangers]

    def created(self):
        """How many pods were made for each place, by owner, from the start of the watch."""
        return collections.Counter((owner_uid(p), place(p)) for kind, p in self.ours() if kind == "ADDED")

    def gone(self):
        """How many pods went, or were told to."""
        return len({p["metadata"]["uid"] for kind, p in self.ours() if kind == "DELETED" or "deletionTimestamp" in p["metadata"]})

    def breaches(self):
        """Moments at which a cluster had two live heads, or a place two live pods. A cluster is a uid: the pods of one that was deleted are
        the garbage collector's, and may outlive it while another of its name is made."""
        if self.lost:
            yield f"the witness lost its watch: {self.lost}"
        live = {}
        for kind, pod in self.ours():
            uid = pod["metadata"]["uid"]
            if kind == "DELETED" or not is_live(pod):
                live.pop(uid, None)
                continue
            live[uid] = pod
            where, who = place(pod), owner_uid(pod)
            same = [p["metadata"]["name"] for p in live.values() if place(p) == where and owner_uid(p) == who]
            if len(same) > 1:
                yield f"at resourceVersion {pod['metadata']['resourceVersion']} {where} is held by {len(same)} live pods: {same}"


def orphans(space, more=()):
    """Pods and services with our label that no live cluster owns, clusters whose job is gone, and what else has lost its owner."""
    found = objects(space, more)
    owners = {o["metadata"]["uid"] for kind, o in found if kind in ("raycluster", "legacy", "rayjob")}

    def ours(kind, o):
        return "ray.io/cluster" in labels(o) if kind in ("pod", "service") else owner_uid(o)

    return [f"{kind} {o['metadata']['name']}" for kind, o in found if ours(kind, o) and owner_uid(o) not in owners]


# ---- the log of the proxy ----

def unguarded_deletes(log):
    """DELETEs that would hit whatever has that name by now (W3)."""
    return [str(x) for x in log if x.verb in ("delete", "deletecollection") and not x.uid]


def unforced_writes(log):
    """Writes that are neither made for one name and uid nor applied: a PUT without resourceVersion overwrites what others wrote (W2)."""
    return [str(x) for x in log if x.verb == "update" and not x.object.get("metadata", {}).get("resourceVersion")]


def submission(pod):
    """The id under which a submitter pod submits; "" of any other pod."""
    env = [e for c in pod.get("spec", {}).get("containers", []) for e in c.get("env", [])] if submits(pod) else []
    return next((e["value"] for e in env if e["name"] == "RAY_JOB_SUBMISSION_ID"), "")


def untold_submissions(log):
    """Jobs that were submitted, or given to a pod, before the API server had their id; or whose id Ray had taken before: who forgets one
    submits another."""
    def is_stored(name, seq):
        return any(y.resource == "rayjobs" and y.sub == "status" and y.status == 200 and y.object.get("status", {}).get("jobId") == name
                   for y in log[:seq])

    pods = [(x, submission(x.object)) for x in log if x.resource == "pods" and x.verb == "create" and x.object.get("metadata")]
    found, taken = [f"{x}: its submission {name} was in no status" for x, name in pods if name and not is_stored(name, x.seq)], set()
    for x in (x for x in log if x.resource == "dashboard" and x.sub == "jobs"):
        stored = is_stored(x.name, x.seq)
        if not stored or x.name in taken:
            found.append(f"{x}: " + ("submitted again" if stored else "its id was in no status"))
        taken |= {x.name} if x.status == 200 else set()
    return found


# ---- what was said ----

def secrets_told(texts, secrets):
    """(which secret, where) of the secrets that occur in one of the texts. Of a token it is the signature, its last part."""
    return [(name, where) for where, text in texts.items() for name, value in secrets.items() if value.rpartition(".")[2] in text]
