"""Clusters that the operator scales by what their heads say: no pod, no container and no process of Ray's is there for it."""

import re

from cluster import LEGACY, condition, eventually, kubectl
from real import START_S, TASKS, dashboard, drained, ended, explained, last_line, scaled, submit, workers
from test_clusters import example

CUSTOM = ('import ray, time; ray.init(); '
          'ray.get([ray.remote(resources={"Custom1": 1})(lambda: time.sleep(20)).remote() for _ in range(3)])')
SPREAD = ('import ray; ray.init(); from ray.util.placement_group import placement_group as pg; '
          'g = pg([{{"CPU": 1}}] * {count}, strategy="STRICT_SPREAD"); ray.get(g.ready(), timeout=240); '
          'print(len({{b for b in ray.util.placement_group_table(g)["bundles_to_node_id"].values()}}))')
REQUEST = 'import ray; ray.init(); from ray.autoscaler.sdk import request_resources; request_resources(bundles=[{{"CPU": 1}}] * {count})'


def test_demand_brings_workers_and_idleness_takes_them(space, operator):
    space.apply(scaled("c"))
    space.ready("c", 1, seconds=START_S)
    pods = space.pods("c")
    assert len(pods) == 1 and [k["name"] for k in pods[0]["spec"]["containers"]] == ["ray"], "nothing beside Ray itself"
    submit(space, "c", "tasks", TASKS.format(count=2, seconds=30))
    eventually(lambda: len(workers(space, "c")) == 2, START_S, 0.5)
    job = ended(space, "c", "tasks")
    assert job["status"] == "SUCCEEDED", job["logs"][-2000:]
    drained(space, "c")
    space.ready("c", 1, seconds=START_S)
    assert condition(space.cluster("c"), "Autoscaling")["status"] == "True"
    assert not operator.lines("backing off"), operator.log()


def test_a_spread_gets_a_node_for_each_bundle(space, operator):
    space.apply(scaled("c", idle_s=60))
    space.ready("c", 1, seconds=START_S)
    submit(space, "c", "spread", SPREAD.format(count=3))
    job = ended(space, "c", "spread")
    assert job["status"] == "SUCCEEDED" and last_line(job["logs"]) == "3", job["logs"][-2000:]
    assert len(workers(space, "c")) == 3


def test_what_is_asked_for_stays(space, operator):
    """request_resources() holds nodes without any work; what cannot be had is told, and that it is wanted no more."""
    space.apply(scaled("c", idle_s=10, most=2))
    space.ready("c", 1, seconds=START_S)
    submit(space, "c", "ask", REQUEST.format(count=5))
    eventually(lambda: len(workers(space, "c")) == 2, START_S, 0.5)
    space.ready("c", 3, seconds=START_S)
    unmet = eventually(lambda: condition(space.cluster("c"), "Autoscaling").get("reason") == "DemandUnmet" and space.cluster("c"), 180, 0.5)
    assert "group small is at maxReplicas 2" in condition(unmet, "Autoscaling")["message"]
    text = dashboard(space, "c", "GET", "/api/cluster_status?format=1")[1]
    assert "request_resources" in str(text)

    def all_told():  # the condition is there before the workers have joined
        said = explained(space, "c")
        assert "decided last (DemandUnmet)" in said and "3 x {CPU: 1} asked for by request_resources()" in said, said
        assert "small: 2 wanted (0 to 2), which is its maximum, 2 ready" in said, said
        ray = said.partition("\nRay itself\n")[2]  # as `ray status` has it
        assert "2.0 CPU" in ray and "request_resources" in ray, said
        return True

    eventually(all_told, START_S, 0.5)
    submit(space, "c", "done", REQUEST.format(count=0))
    drained(space, "c")
    said = eventually(lambda: "decided last (DemandMet)" in (t := explained(space, "c")) and t, 180, 0.5)
    assert "small: 0 wanted" in said and "request_resources()" not in said.partition("\nAutoscaling\n")[2].partition("\n  up:")[0], said


def test_the_old_operators_page(space, operator):
    """Two workers are its minimum; a third comes with demand, and the log says what it said then."""
    text = re.sub("idleTimeoutMinutes: .*", "idleTimeoutMinutes: 0", example("legacy-cluster.yaml"))
    kubectl("-n", space.name, "apply", "-f", "-", stdin=text)
    space.ready("example-cluster", 3, LEGACY, seconds=START_S)
    submit(space, "example-cluster", "tasks", CUSTOM)
    eventually(lambda: len(workers(space, "example-cluster")) == 3, START_S, 0.5)
    assert ended(space, "example-cluster", "tasks")["status"] == "SUCCEEDED"
    drained(space, "example-cluster", least=2)
    log = [line for line in operator.log().splitlines() if line.startswith("example-cluster:")]
    assert any("Cluster status:" in line for line in log) and any("ResourceUsage" in line for line in log), log[-40:]
