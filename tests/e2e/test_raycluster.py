"""ray.io/v1 RayClusters on a real API server, from apply to deleted, with the audit log as witness."""

import time

import pytest

from cluster import V1, Audit, condition, eventually, kubectl, raycluster

QUIET_SECONDS = 12


def owner_of(pod):
    return pod["metadata"]["ownerReferences"][0]


def test_from_apply_to_ready_to_deleted(space, operator):
    kubectl("apply", "-n", space.name, "-f", "airgap/examples/raycluster.yaml")
    name = space.api.get(space.path("rayclusters", group="/apis/ray.io/v1"))["items"][0]["metadata"]["name"]
    cluster = eventually(lambda: space.cluster(name).get("status", {}).get("state") == "ready" and space.cluster(name))
    pods = space.pods(name)
    heads = [p for p in pods if p["metadata"]["labels"]["ray.io/node-type"] == "head"]
    assert len(heads) == 1 and heads[0]["metadata"]["name"] == f"{name}-head"
    for pod in pods:
        ref = owner_of(pod)
        assert (ref["uid"], ref["controller"], ref["blockOwnerDeletion"]) == (cluster["metadata"]["uid"], True, True)
    status = cluster["status"]
    assert status["observedGeneration"] == cluster["metadata"]["generation"]
    assert status["readyWorkerReplicas"] == status["desiredWorkerReplicas"] == len(pods) - 1
    assert status["head"]["podName"] == f"{name}-head" and status["head"]["podIP"]
    for kind in ("HeadPodReady", "RayClusterProvisioned", "Valid"):
        assert condition(cluster, kind)["status"] == "True", kind
    services = space.api.get(space.path("services"))["items"]
    assert [s["metadata"]["name"] for s in services] == [status["head"]["serviceName"]]
    table = kubectl("get", "rayclusters.ray.io", "-n", space.name).stdout.splitlines()
    assert "DESIRED WORKERS" in table[0] and "ready" in table[1]
    space.delete(name)
    eventually(lambda: not space.pods(name) and not space.api.get(space.path("services"))["items"])


def test_scale_up_and_down(space, operator):
    space.apply(raycluster("c", workers=2))
    space.ready("c", 3)
    space.change("c", {"workerGroupSpecs": raycluster("c", workers=5)["spec"]["workerGroupSpecs"]})
    space.ready("c", 6)
    audit = space.rest(operator)  # who is not known to be ready yet goes only as it was seen: refused, and asked anew
    space.change("c", {"workerGroupSpecs": raycluster("c", workers=1)["spec"]["workerGroupSpecs"]})
    space.ready("c", 2)
    deletes = [e for e in audit.entries(operator.user, space.name) if e["verb"] == "delete"]
    assert len(deletes) == 4
    assert all(e["requestObject"]["preconditions"]["uid"] for e in deletes), "a DELETE without uid"


def test_workers_to_delete(space, operator):
    space.apply(raycluster("c", workers=3))
    space.ready("c", 4)
    victim = next(p for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "worker")
    name = victim["metadata"]["name"]
    groups = raycluster("c", workers=2, scaleStrategy={"workersToDelete": [name]})["spec"]["workerGroupSpecs"]
    space.change("c", {"workerGroupSpecs": groups})
    eventually(lambda: name not in [p["metadata"]["name"] for p in space.pods("c")])
    space.ready("c", 3)


def test_nothing_is_written_at_the_fixed_point(space, operator):
    space.apply(raycluster("c", workers=2))
    space.ready("c", 3)
    audit = space.rest(operator)
    time.sleep(QUIET_SECONDS)
    assert not audit.writes(operator.user)


def test_writes_of_a_cluster(space, operator):
    """DESIGN §12: per cluster its pods, one service, two statuses and one event."""
    audit = Audit()
    space.apply(raycluster("c", workers=20))
    space.ready("c", 21)
    time.sleep(1)
    writes = audit.writes(operator.user, space.name)
    assert writes["create pods"] == 21
    assert writes["patch services"] == 1
    assert writes["patch rayclusters/status"] <= 3  # one more when its pods become ready slowly
    assert writes["create events"] + writes["patch events"] <= 2


def test_a_failed_worker_is_replaced_with_backoff(space, operator):
    space.apply(raycluster("c", workers=2))
    space.ready("c", 3)
    worker = next(p for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "worker")
    space.fail(worker, 7)

    def failure_told():
        c = condition(space.cluster("c"), "ReplicaFailure")
        return c.get("status") == "True" and "exit code 7" in c["message"]

    eventually(failure_told)
    eventually(lambda: worker["metadata"]["name"] not in [p["metadata"]["name"] for p in space.pods("c")])
    space.ready("c", 3)
    events = kubectl("get", "events", "-n", space.name, "-o", "wide").stdout
    assert "WorkerPodEnded" in events and "exit code 7" in events


def test_a_failed_head_is_replaced(space, operator):
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    head = next(p for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "head")
    space.fail(head)
    eventually(lambda: space.cluster("c")["status"]["state"] == "" or None)

    def replaced():
        heads = [p for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "head"]
        return len(heads) == 1 and heads[0]["metadata"]["uid"] != head["metadata"]["uid"]

    eventually(replaced)
    space.ready("c", 2)


def test_deleted_pods_come_back(space, operator):
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    old = {p["metadata"]["uid"] for p in space.pods("c")}
    for pod in space.pods("c"):
        space.api.call("DELETE", space.path("pods", pod["metadata"]["name"]))
    eventually(lambda: not old & {p["metadata"]["uid"] for p in space.pods("c")} and len(space.pods("c")) == 2)
    space.ready("c", 2)


def test_a_service_is_repaired(space, operator):
    space.apply(raycluster("c", workers=0))
    space.ready("c", 1)
    name = space.cluster("c")["status"]["head"]["serviceName"]
    path = space.path("services", name)
    before = space.api.get(path)["spec"]["selector"]
    space.api.patch(path, {"spec": {"selector": {"ray.io/cluster": "other"}}})
    eventually(lambda: space.api.get(path)["spec"]["selector"] == before)
    space.api.call("DELETE", path)

    eventually(lambda: (found := space.find(path)) and found["spec"]["selector"] == before)


def test_deleted_and_made_again_at_once(space, operator):
    space.apply(raycluster("c", workers=2))
    space.ready("c", 3)
    old = space.cluster("c")["metadata"]["uid"]
    space.delete("c")
    eventually(lambda: not space.find(space.path("rayclusters", "c", V1)))
    space.apply(raycluster("c", workers=2))
    new = space.ready("c", 3)["metadata"]["uid"]
    assert new != old and {owner_of(p)["uid"] for p in space.pods("c")} == {new}


def test_suspend_and_resume(space, operator):
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    space.change("c", {"suspend": True})
    cluster = eventually(lambda: space.cluster("c")["status"]["state"] == "suspended" and space.cluster("c"))
    assert not space.pods("c") and condition(cluster, "RayClusterSuspended")["status"] == "True"
    space.change("c", {"suspend": False})
    space.ready("c", 2)


def test_a_removed_group_goes(space, operator):
    cluster = raycluster("c", workers=1)
    cluster["spec"]["workerGroupSpecs"].append({**cluster["spec"]["workerGroupSpecs"][0], "groupName": "big"})
    space.apply(cluster)
    space.ready("c", 3)
    space.change("c", {"workerGroupSpecs": cluster["spec"]["workerGroupSpecs"][:1]})
    space.ready("c", 2)


def test_hosts_live_and_die_together(space, operator):
    space.apply(raycluster("c", workers=1, numOfHosts=2))
    space.ready("c", 3)
    workers = [p for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "worker"]
    assert len({p["metadata"]["labels"]["ray.io/worker-group-replica-name"] for p in workers}) == 1
    space.fail(workers[0])
    old = {p["metadata"]["uid"] for p in workers}
    eventually(lambda: not old & {p["metadata"]["uid"] for p in space.pods("c")})
    space.ready("c", 3)
    assert any(s["metadata"]["name"] == "c-headless" for s in space.api.get(space.path("services"))["items"])


def test_an_invalid_spec_says_everything_and_changes_nothing(space, operator):
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    before = {p["metadata"]["uid"] for p in space.pods("c")}
    bad = raycluster("c", workers=1)["spec"]
    bad["headGroupSpec"]["template"]["spec"]["containers"] = []
    bad["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "lots"
    space.change("c", bad)
    valid = eventually(lambda: (c := condition(space.cluster("c"), "Valid")).get("status") == "False" and c)
    assert "headGroupSpec" in valid["message"] and "workerGroupSpecs[0]" in valid["message"]
    assert {p["metadata"]["uid"] for p in space.pods("c")} == before
    events = kubectl("get", "events", "-n", space.name).stdout
    assert events.count("InvalidRayClusterSpec") == 1
    space.change("c", raycluster("c", workers=1)["spec"])
    space.ready("c", 2)


def test_clusters_with_names_that_begin_alike(space, operator):
    names = ["a", "a-b", "a-b-c"]
    for name in names:
        space.apply(raycluster(name, workers=2))
    for name in names:
        space.ready(name, 3)
    assert len(space.pods()) == 9


@pytest.mark.parametrize("quota", [2])
def test_a_quota_backs_off_and_is_told(space, operator, quota):
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": str(quota)}}}
    space.api.call("POST", space.path("resourcequotas"), body)
    eventually(lambda: space.api.get(space.path("resourcequotas", "q")).get("status", {}).get("hard"))
    space.apply(raycluster("c", workers=5))

    def told():
        c = condition(space.cluster("c"), "ReplicaFailure")
        return "exceeded quota" in c.get("message", "")

    eventually(told)
    audit = Audit()
    time.sleep(5)
    refused = [e for e in audit.entries(operator.user, space.name) if e["verb"] == "create" and e["responseStatus"]["code"] == 403]
    assert len(refused) < 30, "no backoff"
    space.api.call("DELETE", space.path("resourcequotas", "q"))
    space.ready("c", 6)
