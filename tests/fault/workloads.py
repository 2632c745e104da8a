"""What the operator is doing when a fault meets it. Each workload has a setup, which no fault disturbs, and an act.

W1 to W16 are those of the published matrix as far as this product has them. W11 to W13 there are a control plane's asks, which do not
exist here yet; work of the same weight holds their places: the legacy kind, and an API server that is away. W17 to W31 are more."""

import base64
import time
from dataclasses import dataclass
from typing import Callable

from case import CANARY
from cluster import LEGACY, V1, Refused, container, eventually
from cluster import raycluster as plain_cluster
from cluster import rayjob as plain_job
from kubelet import ADDRESS
from oracles import CALLED, is_running, labels, objects, place
from seen import Seen, env
from test_legacy import raycluster as plain_legacy


PATIENT = 150  # seconds that an act waits for the operator, which may be at a fault by then
SUBMITTER = "create pods j/submitter"  # the key of that write
PODS, IMAGE = ("--submitter=pod",), "image:mobula:1"  # submitters are pods, which have the program from an image
CORE, RBAC = "/api/v1", "/apis/rbac.authorization.k8s.io/v1"


@dataclass
class Workload:
    id: str
    title: str
    setup: Callable
    act: Callable
    over: Callable  # over(ctx): what act changed is as the spec says again. Says no, or raises AssertionError, until then
    flags: tuple = ()
    tools: str = "none"
    kills: bool = True  # its writes are kill points …
    first: str = ""  # … from this one on: those before it are another workload's too
    ranked: bool = False  # of the workers that remain the order counts, not the index
    more: tuple = ()  # (resource, group) of what else it makes


def canary(template_spec):
    for c in template_spec["containers"]:
        c.setdefault("env", []).append({"name": "PASSWORD", "value": CANARY})


def raycluster(name="c", workers=3, **group):
    body = plain_cluster(name, workers, **group)
    canary(body["spec"]["headGroupSpec"]["template"]["spec"])
    canary(body["spec"]["workerGroupSpecs"][0]["template"]["spec"])
    return body


def legacy(name="c", workers=3, limit=20):
    body = plain_legacy(name, workers, limit)
    for kind in body["spec"]["podTypes"]:
        canary(kind["podConfig"]["spec"])
    return body


def at_board(spec, board, called):
    """A RayCluster's spec whose head answers at the case's dashboard, and whose pods are called after what their cluster is for."""
    head, workers = spec["headGroupSpec"], spec["workerGroupSpecs"][0]
    head["rayStartParams"] = {"dashboard-port": str(board["port"])}
    head["template"]["metadata"] = {"annotations": {ADDRESS: board["address"]}, "labels": {CALLED: called}}
    workers["template"]["metadata"] = {"labels": {CALLED: called}}
    for group in (head, workers):
        canary(group["template"]["spec"])
    return spec


def rayjob(ctx, name="j", ends=("SUCCEEDED",), cluster=None, **spec):
    """A RayJob with a cluster of its own, whose attempts end like this; cluster's words go into the cluster's spec."""
    body = plain_job(name, **spec)
    at_board(body["spec"]["rayClusterSpec"], ctx.board(ends=ends), name).update(cluster or {})
    return body


def nothing(_ctx):
    pass


def make(workers, name="c", **group):
    """A setup: a cluster of so many workers that is ready."""
    def run(ctx):
        ctx.space.apply(raycluster(name, workers, **group))
        ctx.space.ready(name, workers * group.get("numOfHosts", 1) + 1, seconds=90)
    return run


def make_legacy(workers):
    def run(ctx):
        ctx.space.apply(legacy("c", workers), LEGACY)
        ctx.space.ready("c", workers + 1, LEGACY, seconds=90)
    return run


def change(ctx, body, group="/apis/ray.io/v1"):
    ctx.space.change(body["metadata"]["name"], body["spec"], group)


def pod_at(ctx, index, cluster="c"):
    """The live worker at this index, or the head (None)."""
    for p in ctx.space.pods(cluster):
        of = p["metadata"]["labels"]
        if (of["ray.io/node-type"] == "head") if index is None else of.get("ray.io/worker-group-replica-index") == str(index):
            return p
    raise AssertionError(f"{cluster} has no pod at {index}")


def gone(ctx, name="c", group="/apis/ray.io/v1"):
    eventually(lambda: not ctx.space.find(ctx.space.path("rayclusters", name, group)), 30, 0.02)


def delete_and_create_other(ctx):
    ctx.space.delete("c")
    ctx.space.apply(raycluster("d", 2))


def delete_and_recreate(ctx):
    ctx.space.delete("c")
    gone(ctx)
    ctx.space.apply(raycluster("c", 3))


def renewable(workers, extra=None):
    """With upgradeStrategy Recreate: pods of an older template are replaced. extra: "head" or "worker" has one more variable."""
    body = raycluster("c", workers)
    body["spec"]["upgradeStrategy"] = {"type": "Recreate"}
    specs = {"head": body["spec"]["headGroupSpec"], "worker": body["spec"]["workerGroupSpecs"][0]}
    if extra:
        specs[extra]["template"]["spec"]["containers"][0]["env"].append({"name": "NEW", "value": "1"})
    return body


def make_renewable(workers):
    def run(ctx):
        ctx.space.apply(renewable(workers))
        ctx.space.ready("c", workers + 1, seconds=90)
    return run


def renew(workers, what):
    return lambda ctx: change(ctx, renewable(workers, what))


def services_toggled(ctx):
    """An annotation of the head service on, off and on again, then it is deleted by hand."""
    for value in ("on", None, "on"):
        ctx.space.change("c", {"headServiceAnnotations": {"example.com/fault": value} if value else None})
        time.sleep(0.3)
    path = ctx.space.path("services", "c-head-svc")
    eventually(lambda: annotations(ctx.space.find(path)).get("example.com/fault") == "on", 60)
    ctx.space.api.call("DELETE", path)


def annotations(service):
    return (service or {"metadata": {}})["metadata"].get("annotations", {})


def named_workers(ctx):
    names = [pod_at(ctx, i)["metadata"]["name"] for i in (0, 2)]
    body = raycluster("c", 2)
    body["spec"]["workerGroupSpecs"][0]["scaleStrategy"] = {"workersToDelete": names}
    change(ctx, body)


def scaled_while_away(ctx):
    ctx.proxy.shut()
    change(ctx, raycluster("c", 5))
    time.sleep(1.5)
    ctx.proxy.open()


def namespace_deleted(ctx):
    ctx.api.call("DELETE", f"/api/v1/namespaces/{ctx.space.name}")


def invalid_then_fixed(ctx):
    bad = raycluster("c", 5)
    bad["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "lots"
    change(ctx, bad)
    time.sleep(0.7)
    change(ctx, raycluster("c", 5))


def upgraded(ctx):
    """A new process takes over while the spec has changed."""
    ctx.op.stop()
    change(ctx, raycluster("c", 6))
    ctx.op.start()


def suspend_and_resume(ctx):
    ctx.space.change("c", {"suspend": True})
    eventually(lambda: ctx.space.cluster("c")["status"].get("state") == "suspended", 60)
    ctx.space.change("c", {"suspend": False})


def two_at_once(ctx):
    ctx.space.apply(raycluster("a", 2))
    ctx.space.apply(legacy("b", 2), LEGACY)


def run_job(**how):
    return lambda ctx: ctx.space.start(rayjob(ctx, **how))


def run_submitted(crashes=0, **how):
    """A job that a pod submits; the first so many pods end before they have."""
    def act(ctx):
        body = rayjob(ctx, **how)
        ctx.play_submitters(crashes)
        ctx.space.start(body)
    return act


def own_submitter():
    """A submitter with a command of the user's: it needs neither a flag nor our program."""
    template = {"spec": {"containers": [{**container("mine"), "command": ["submit-it"]}]}}
    canary(template["spec"])
    return template


def make_host(ctx):
    """A cluster on which others' jobs run."""
    body = plain_cluster("c", 1)
    at_board(body["spec"], ctx.board(), "c")
    ctx.space.apply(body)
    ctx.space.ready("c", 2, seconds=90)


def job_deleted_as_it_runs(ctx):
    ctx.space.start(plain_job("j", clusterSelector={"ray.io/cluster": "c"}, rayClusterSpec=None))
    eventually(lambda: ctx.space.job("j").get("status", {}).get("jobStatus") == "RUNNING", PATIENT)
    ctx.space.api.call("DELETE", ctx.space.path("rayjobs", "j", "/apis/ray.io/v1"))


def submitted_job_deleted(ctx):
    ctx.play_submitters()
    job_deleted_as_it_runs(ctx)


def run_guarded_job(ctx):
    """Its cluster has KubeRay's autoscaler beside the head, and a token, which the dashboard asks for from the moment that there is one."""
    job = ctx.space.start(rayjob(ctx, cluster={"enableInTreeAutoscaling": True, "authOptions": {"mode": "token"}}))

    def token():
        secrets = ctx.space.api.get(ctx.space.path("secrets"))["items"]
        data = next((s["data"] for s in secrets if s["metadata"]["name"].startswith(job["metadata"]["name"] + "-")), None)
        return data and base64.b64decode(data["auth_token"]).decode()

    ctx.jobs.token = eventually(token, PATIENT)


# ---- ends: they hold when the operator has done its part, and never before it has begun ----

def whole(workers, name="c", kind=V1, where=lambda seen: True):
    """The cluster is told to be as its spec says, with one head and so many workers, which all run; and where(Seen) holds."""
    def look(ctx):
        s = Seen(ctx.space, kind, name)
        still = [place(p) for p in s.pods if not is_running(p)]
        assert s.settled and len(s.heads) == 1 and len(s.workers) == workers and not still, \
            f"{name}: {s.status}, {len(s.workers)} workers, not running: {still}"
        assert where(s), f"{name} is not yet what it should become"
        return True

    return look


def all_of(*ends):
    return lambda ctx: all(end(ctx) for end in ends)


def none_of(name):
    """No cluster of this name, nor its pods and services."""
    return lambda ctx: not [o for _, o in objects(ctx.space) if name in (o["metadata"]["name"], labels(o).get("ray.io/cluster"))]


def renewed(pods):
    """These have what the template has got."""
    return all(env(p, "NEW") == "1" for p in pods)


def at_places(*indices):
    return lambda seen: {place(p) for p in seen.workers} == {f"{seen.name}/small/{i}" for i in indices}


def toggled(seen):
    return annotations(seen.service).get("example.com/fault") == "on"


def complete(pods):
    """Its job is, and so many pods are left."""
    return lambda ctx: ctx.space.job("j").get("status", {}).get("jobDeploymentStatus") == "Complete" and len(ctx.space.pods()) == pods


def no_job(ctx):
    return not ctx.space.find(ctx.space.path("rayjobs", "j", "/apis/ray.io/v1"))


def fail(index):
    return lambda ctx: ctx.space.fail(pod_at(ctx, index), 7)


def scale(workers):
    return lambda ctx: change(ctx, raycluster("c", workers))


def scale_legacy(workers):
    return lambda ctx: change(ctx, legacy("c", workers, limit=max(workers, 3)), LEGACY)


WORKLOADS = {w.id: w for w in (
    Workload("W1", "create: a head and three workers", nothing, lambda ctx: ctx.space.apply(raycluster("c", 3)), whole(3)),
    Workload("W2", "scale 3 -> 10", make(3), scale(10), whole(10)),
    Workload("W3", "scale 10 -> 2", make(10), scale(2), whole(2), ranked=True),
    Workload("W4", "delete one cluster, create another", make(3), delete_and_create_other, all_of(none_of("c"), whole(2, "d"))),
    Workload("W5", "delete and recreate under the same name", make(3), delete_and_recreate, whole(3)),
    Workload("W6", "a worker dies", make(3), fail(1), whole(3)),
    Workload("W7", "the head dies", make(2), fail(None), whole(2)),
    Workload("W8", "the workers' template changes", make_renewable(3), renew(3, "worker"), whole(3, where=lambda s: renewed(s.workers))),
    Workload("W9", "the head service's annotation on, off, on; deleted by hand", make(1), services_toggled, whole(1, where=toggled)),
    Workload("W10", "workers named in workersToDelete", make(4), named_workers, whole(2, where=at_places(1, 3))),
    Workload("W11", "legacy: create", nothing, lambda ctx: ctx.space.apply(legacy("c", 3), LEGACY), whole(3, kind=LEGACY)),
    Workload("W12", "legacy: minWorkers and maxWorkers 8 -> 3", make_legacy(8), scale_legacy(3), whole(3, kind=LEGACY), ranked=True),
    Workload("W13", "the API server is away while the spec changes", make(3), scaled_while_away, whole(5)),
    Workload("W14", "the namespace is deleted underneath", make(3), namespace_deleted, lambda ctx: not objects(ctx.space)),
    Workload("W15", "an invalid spec, then fixed", make(3), invalid_then_fixed, whole(5)),
    Workload("W16", "the operator is upgraded while the spec changes", make(3), upgraded, whole(6)),
    Workload("W17", "a host of a replica of two dies", make(2, numOfHosts=2), fail(1), whole(4)),
    Workload("W18", "suspend and resume", make(2), suspend_and_resume, whole(2)),
    Workload("W19", "two clusters, one of each kind, at once", nothing, two_at_once, all_of(whole(2, "a"), whole(2, "b", LEGACY))),
    Workload("W22", "create: replicas of two hosts", nothing, lambda ctx: ctx.space.apply(raycluster("c", 1, numOfHosts=2)), whole(2),
             kills=False),
    Workload("W23", "create, with the tools ConfigMap", nothing, lambda ctx: ctx.space.apply(raycluster("c", 1)), whole(1),
             tools="configmap", kills=False),
    Workload("W21", "the head's template changes", make_renewable(2), renew(2, "head"), whole(2, where=lambda s: renewed(s.heads))),
    Workload("W20", "legacy: the head dies", make_legacy(2), fail(None), whole(2, kind=LEGACY)),
    Workload("W24", "a job, and its cluster goes with it", nothing, run_job(shutdownAfterJobFinishes=True), complete(0)),
    Workload("W25", "a job fails and is tried again", nothing, run_job(ends=("FAILED", "SUCCEEDED"), backoffLimit=1), complete(2)),
    Workload("W26", "a job on a selected cluster is deleted while it runs", make_host, job_deleted_as_it_runs, no_job),
    Workload("W27", "a job whose cluster has the sidecar autoscaler and a token", nothing, run_guarded_job, complete(2),
             flags=("--autoscaler=sidecar",),
             more=(("serviceaccounts", CORE), ("secrets", CORE), ("roles", RBAC), ("rolebindings", RBAC))),
    Workload("W28", "a job whose head is asked through the API server", nothing, run_job(shutdownAfterJobFinishes=True), complete(0),
             flags=("--ray-access=proxy",)),
    Workload("W29", "a job that a pod submits: pod and cluster go with it", nothing, run_submitted(shutdownAfterJobFinishes=True),
             complete(0), flags=PODS, tools=IMAGE, first=SUBMITTER),
    Workload("W30", "a job with the user's own submitter, of which the first crashes; it fails and is tried again", nothing,
             run_submitted(crashes=1, ends=("FAILED", "SUCCEEDED"), backoffLimit=1, submitterPodTemplate=own_submitter()), complete(3),
             first=SUBMITTER),
    Workload("W31", "a job that a pod submits to a selected cluster is deleted while it runs", make_host, submitted_job_deleted, no_job,
             flags=PODS, tools=IMAGE),
)}


JOBS = ("W24", "W25", "W26", "W27", "W28", "W29", "W30", "W31")


def still_there(ctx):
    try:
        return ctx.api.get(f"/api/v1/namespaces/{ctx.space.name}")
    except Refused as e:
        if e.status != 404:
            raise
        return None
