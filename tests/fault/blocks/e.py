"""Block E, values that were never seen: the spec goes from A to B and back while the operator does not look, in three ways; the same for
jobs, clusters, pods and services that come and go. It must come out as if B had never been."""

import functools

import fields_legacy
import fields_v1
from case import Case
from cluster import V1, Refused, eventually
from fields import BASE
from oracles import place
from rules import ALWAYS, EventRule, drop
from seen import Seen, difference, make, put_spec, settle, v1_spec
from watched import WATCHED, all_watch, relist, runs, start_job

BLOCK = "E"
TITLE = "unobserved values"

WAYS = ("event", "restart", "relist")
CHOSEN = ("ray-version", "suspend", "autoscaling", "service-annotation", "service-type", "gcs-port", "head-labels", "head-image",
          "group-name", "replicas", "hosts", "worker-image", "groups", "min-workers", "pod-image")
FIELDS = [f for f in fields_v1.FIELDS + fields_legacy.FIELDS if f.id in CHOSEN]


def unseen(ctx, way, change, lost):
    """Carries out change() so that the operator sees nothing of it but the end. lost(event): an event that "event" hides; when the end
    itself is hidden, a list tells."""
    if way == "restart":
        ctx.kill(restart=False)
        change()
        ctx.op.start()
        return
    if way == "relist":
        ctx.proxy.shut()
        change()
        ctx.proxy.open()
        relist(ctx, *WATCHED)
        return
    hidden = [ctx.proxy.add(EventRule(drop(), w.resource, None, w.group, times=ALWAYS, where=lost)) for w in WATCHED]
    change()
    eventually(lambda: any(r.hit.is_set() for r in hidden), 120)
    ctx.calm(limit=120)
    ctx.proxy.lift(*hidden)
    relist(ctx, *WATCHED)


def end(ctx):
    all_watch(ctx)
    ctx.conclude()


def pod_writes(ctx, since):
    return [str(x) for x in ctx.proxy.writes(since) if x.resource in ("pods", "services")]


def run_field(ctx, field, way):
    """A -> B -> A: nothing is made, deleted or applied."""
    ctx.operator().ready()
    spec = field.spec(BASE, "c")
    made = make(ctx.space, field.kind, "c", spec)
    before = settle(ctx.space, field.kind, "c")
    ctx.calm(limit=120)
    since, hidden = len(ctx.proxy.log), made["metadata"]["generation"] + 1

    def change():
        put_spec(ctx.space, field.kind, "c", field.spec(field.other, "c"))
        put_spec(ctx.space, field.kind, "c", spec)

    unseen(ctx, way, change, lambda e: e["object"]["metadata"].get("generation") == hidden and e["object"]["kind"] == "RayCluster")
    after = settle(ctx.space, field.kind, "c")
    assert after.cluster["metadata"]["generation"] == hidden + 1
    assert after.uids() == before.uids() and not pod_writes(ctx, since), pod_writes(ctx, since)
    told = difference(before.plain(), after.plain())
    assert not told, told
    end(ctx)


def cluster_gone(ctx, name="c"):
    eventually(lambda: not ctx.space.find(ctx.space.path("rayclusters", name, V1)), 120, 0.02)


def named(name, *kinds):
    return lambda e: e["type"] in kinds and e["object"]["metadata"].get("name") == name


def create_and_delete(ctx, way):
    """A cluster that was there for a moment leaves nothing."""
    def change():
        make(ctx.space, V1, "d", v1_spec(3))
        ctx.api.call("DELETE", ctx.space.path("rayclusters", "d", V1))
        cluster_gone(ctx, "d")

    unseen(ctx, way, change, named("d", "ADDED", "MODIFIED", "DELETED"))
    settle(ctx.space, V1, "c")
    eventually(lambda: ctx.quiet_for() > 0.5, 120)
    assert not ctx.api.get(ctx.space.path("pods") + "?labelSelector=ray.io/cluster%3Dd")["items"]


def delete_and_create(ctx, way):
    """Another cluster of the same name: nothing of the old one is taken for its own."""
    old = Seen(ctx.space, V1, "c")

    def change():
        ctx.api.call("DELETE", ctx.space.path("rayclusters", "c", V1))
        cluster_gone(ctx)
        make(ctx.space, V1, "c", v1_spec(2))

    unseen(ctx, way, change, named("c", "DELETED"))

    def look():
        new = Seen(ctx.space, V1, "c")
        assert new.uid != old.uid and new.settled and len(new.pods) == 3 and not new.uids() & old.uids()
        return True

    eventually(look, 180, 0.2)
    eventually(lambda: len(ctx.space.pods("c")) == 3, 60)


def delete_a_pod(ctx, way):
    pod = Seen(ctx.space, V1, "c").worker["metadata"]

    def change():
        ctx.api.call("DELETE", ctx.space.path("pods", pod["name"]), {"gracePeriodSeconds": 0})
        eventually(lambda: not ctx.space.find(ctx.space.path("pods", pod["name"])), 120, 0.02)

    unseen(ctx, way, change, named(pod["name"], "MODIFIED", "DELETED"))

    def look():
        s = Seen(ctx.space, V1, "c")
        assert s.settled and len(s.workers) == 1 and s.worker["metadata"]["uid"] != pod["uid"]
        return True

    eventually(look, 180, 0.2)


def make_and_delete_a_pod(ctx, way):
    """Somebody's pod with the cluster's labels and owner, for a moment: the group has as many as it should."""
    pod = Seen(ctx.space, V1, "c").worker
    before, since = Seen(ctx.space, V1, "c").uids(), len(ctx.proxy.log)
    meta = {k: pod["metadata"][k] for k in ("labels", "ownerReferences")}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, "name": "guest"},
            "spec": {"containers": [{"name": "g", "image": "g"}], "nodeSelector": {"nowhere": "true"}}}

    def change():
        ctx.api.call("POST", ctx.space.path("pods"), body)
        try:
            ctx.api.call("DELETE", ctx.space.path("pods", "guest"), {"gracePeriodSeconds": 0})
        except Refused as e:
            assert e.status == 404, e

    ctx.witness.strangers.add("guest")  # two of a place for a moment are somebody else's doing
    unseen(ctx, way, change, named("guest", "ADDED", "MODIFIED", "DELETED"))
    after = settle(ctx.space, V1, "c")
    eventually(lambda: ctx.quiet_for() > 0.5, 120)
    assert after.uids() == before and not pod_writes(ctx, since), pod_writes(ctx, since)


def edit_a_service(ctx, way):
    """There and back: nothing needs to be set right."""
    since, name = len(ctx.proxy.log), Seen(ctx.space, V1, "c").service["metadata"]["name"]

    def change():
        for value in ("other", None):
            ctx.api.patch(ctx.space.path("services", name), {"spec": {"selector": {"example.com/x": value}}})

    def lost(event):
        return event["object"]["kind"] == "Service" and "example.com/x" in event["object"]["spec"].get("selector", {})

    unseen(ctx, way, change, lost)
    settle(ctx.space, V1, "c")
    eventually(lambda: ctx.quiet_for() > 0.5, 120)
    assert not pod_writes(ctx, since), pod_writes(ctx, since)


def job_made_and_deleted(ctx, way, _job):
    """A job that was there for a moment leaves nothing."""
    def change():
        start_job(ctx, "k")
        ctx.api.call("DELETE", ctx.space.path("rayjobs", "k", V1))

    unseen(ctx, way, change, named("k", "ADDED", "MODIFIED", "DELETED"))


def job_replaced(ctx, way, job):
    """Another job of the same name: it has a cluster of its own, and is submitted under an id of its own."""
    def change():
        ctx.api.call("DELETE", ctx.space.path("rayjobs", "j", V1))
        eventually(lambda: not ctx.space.find(ctx.space.path("rayjobs", "j", V1)), 120, 0.02)
        start_job(ctx, "j")

    unseen(ctx, way, change, named("j", "DELETED"))
    new = runs(ctx, "j", job["metadata"]["uid"])
    assert [s["submission_id"] for s in ctx.jobs.submissions] == [j["status"]["jobId"] for j in (job, new)]
    return new


def job_suspended_and_resumed(ctx, way, job):
    """It runs on."""
    since, hidden = len(ctx.proxy.log), job["metadata"]["generation"] + 1

    def change():
        for value in (True, False):
            ctx.api.patch(ctx.space.path("rayjobs", "j", V1), {"spec": {"suspend": value}})

    unseen(ctx, way, change, lambda e: e["object"]["metadata"].get("generation") == hidden and e["object"]["kind"] == "RayJob")
    told = [x for x in ctx.proxy.writes(since) if (x.resource, x.sub) != ("rayjobs", "status")]
    assert not told, told


JOB_SCENES = {"job-made-and-deleted": job_made_and_deleted, "job-replaced": job_replaced,
              "job-suspended-resumed": job_suspended_and_resumed}
SCENES = {"create-delete": create_and_delete, "delete-create": delete_and_create, "pod-deleted": delete_a_pod,
          "pod-made-and-deleted": make_and_delete_a_pod, "service-edited": edit_a_service}


def run_scene(ctx, scene, way):
    ctx.operator().ready()
    make(ctx.space, V1, "c", v1_spec(1))
    settle(ctx.space, V1, "c")
    ctx.calm(limit=120)
    SCENES[scene](ctx, way)
    end(ctx)


def run_job_scene(ctx, scene, way):
    """Afterwards one job runs, on one cluster, and Ray was given no other."""
    ctx.operator().ready()
    start_job(ctx, "j")
    old = runs(ctx, "j")
    ctx.calm(limit=120)
    job = JOB_SCENES[scene](ctx, way, old) or old

    def look():
        now = ctx.space.job("j")
        assert now["status"]["observedGeneration"] == now["metadata"]["generation"], now["status"]
        left = [o["metadata"]["name"] for o in ctx.api.get(ctx.space.path("rayclusters", group=V1))["items"]]
        assert now["status"]["jobStatus"] == "RUNNING" and now["status"]["jobId"] == job["status"]["jobId"], now["status"]
        assert left == [job["status"]["rayClusterName"]], left
        assert {place(p) for p in ctx.space.pods()} == {"j/head", "j/small/0"}, ctx.space.pods()
        return ctx.quiet_for() > 0.5

    eventually(look, 180, 0.2)
    assert len(ctx.jobs.submissions) == len({old["metadata"]["uid"], job["metadata"]["uid"]}), ctx.jobs.submissions
    end(ctx)


def cases(_learned):
    found = [Case(f"E/{f.id}/{way}", functools.partial(run_field, field=f, way=way)) for f in FIELDS for way in WAYS]
    found += [Case(f"E/{scene}/{way}", functools.partial(run_scene, scene=scene, way=way)) for scene in SCENES for way in WAYS]
    found += [Case(f"E/{scene}/{way}", functools.partial(run_job_scene, scene=scene, way=way)) for scene in JOB_SCENES for way in WAYS]
    return found
