"""Ports and labels of a cluster are edited while a job runs on it: the operator follows the job on the running head until its end."""

from cluster import V1, condition, eventually
from real import START_S, head, raycluster
from test_jobs import SLEEP, running


def test_a_job_ends_on_a_cluster_whose_ports_and_labels_are_edited(space, operator):
    space.apply(raycluster("c", workers=1, head_cpus=1))
    space.ready("c", 2, seconds=START_S)
    before = head(space, "c")
    space.start({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "j"},
                 "spec": {"entrypoint": f'python -c "{SLEEP.format(seconds=60)}"', "clusterSelector": {"ray.io/cluster": "c"}}})
    running(space, "j")
    spec = space.cluster("c")["spec"]["headGroupSpec"]
    edited = {**spec["rayStartParams"], "port": "7000", "dashboard-port": "9000", "ray-client-server-port": "9001"}
    space.change("c", {"headGroupSpec": {"rayStartParams": edited,
                                         "template": {"metadata": {"labels": {"app.kubernetes.io/name": "mine"}}}}})
    eventually(lambda: "dashboard port 8265 runs, 9000 is asked for" in condition(space.cluster("c"), "TemplateDrift").get("message", ""))
    groups = space.cluster("c")["spec"]["workerGroupSpecs"]
    groups[0]["replicas"] = 2  # a worker that joins after the edit
    space.change("c", {"workerGroupSpecs": groups})
    end = space.becomes("j", "Complete", START_S)
    assert end["jobStatus"] == "SUCCEEDED" and end["failed"] == 0, end
    space.ready("c", 3, seconds=START_S)
    assert head(space, "c")["metadata"]["uid"] == before["metadata"]["uid"], "another head runs"
    service = space.api.get(space.path("services", "c-head-svc"))
    assert {p["port"] for p in service["spec"]["ports"]} >= {6379, 8265, 10001}, service["spec"]["ports"]
    assert space.api.get(space.path("rayjobs", "j", V1))["status"]["jobId"] == end["jobId"]
