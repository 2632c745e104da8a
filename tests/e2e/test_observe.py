"""What the operator tells about itself: health, metrics, logs, events; and what it never tells."""

import json
import re

from cluster import LEGACY, eventually, kubectl, raycluster
from test_legacy import raycluster as legacy


def test_health(operator):
    operator.ready()
    assert operator.get("/healthz") == operator.get("/livez") == (200, "ok\n")
    assert operator.get("/nothing")[0] == 404


def test_metrics(space, operator):
    space.apply(raycluster("c", workers=3))
    space.apply(legacy("old"), LEGACY)
    space.ready("c", 4)
    space.ready("old", 2, LEGACY)
    m = operator.metrics()
    assert (m["mobula_clusters"], m["mobula_pods"], m["mobula_clusters_failing"], m["mobula_leader"]) == (2, 6, 0, 1)
    eventually(lambda: operator.metrics()["mobula_pods_ready"] == 6)
    assert m["mobula_namespaces"] == m["mobula_namespaces_synced"] == 1
    assert sum(v for k, v in m.items() if k.startswith("mobula_actions_total{") and "create" in k) >= 6
    assert m["mobula_api_requests_total"] > 10 and m["mobula_api_errors_total"] <= 1  # ConfigMap mobula-tools was not there
    space.delete("c")
    eventually(lambda: (n := operator.metrics())["mobula_clusters"] == 1 and n["mobula_pods"] == 2)


def test_metrics_are_well_formed(operator):
    text = operator.ready().get("/metrics")[1]
    typed = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            typed.add(line.split()[2])
            assert line.split()[3] in ("counter", "gauge")
        elif not line.startswith("# HELP "):
            assert re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"\})? -?[0-9.e+]+', line), line
            assert re.match("[a-z_]+", line).group() in typed
    counters = re.findall(r"# TYPE (\S+) counter", text)
    assert counters and all(c.endswith("_total") for c in counters)


def test_logfmt(space, operator):
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    for line in operator.log().splitlines():
        assert re.fullmatch(r'ts=\S+Z level=(info|warn) room=[a-z]+ msg=("(\\.|[^"\\])*"|\S+)( [a-z_]+=("(\\.|[^"\\])*"|\S*))*', line), line


def test_json(space, operators):
    operator = operators("--log-format=json", "--log-level=debug")
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    lines = [json.loads(line) for line in operator.log().splitlines()]
    assert all({"ts", "level", "room", "msg"} <= line.keys() for line in lines)
    assert any(line["msg"] == "plan carried out" and line["cluster"] == "c" for line in lines)


def test_log_level(space, operators):
    operator = operators("--log-level=error")
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    assert operator.log() == ""


def test_events_can_be_read(space, operator):
    space.apply(raycluster("c", workers=2))
    space.ready("c", 3)

    def told():
        items = space.api.get(space.path("events", group="/apis/events.k8s.io/v1"))["items"]
        events = [e for e in items if e["regarding"]["kind"] == "RayCluster"]
        assert "2 worker pods" in " ".join(e["note"] for e in events)  # soon after a start they are made after the head
        return events

    events = eventually(told)
    assert {"CreatedHeadPod"} <= {e["reason"] for e in events} <= {"CreatedHeadPod", "CreatedWorkerPod"}
    for event in events:
        assert (event["type"], event["regarding"]["name"]) == ("Normal", "c")
        assert event["reportingController"] and event["reportingInstance"]
    described = kubectl("describe", "rayclusters.ray.io", "c", "-n", space.name).stdout
    assert "CreatedHeadPod" in described.split("Events:")[1]


def test_no_secret_is_told(space, operators):
    """Neither the token nor a part of it, not even at the most talkative level, not even of a pod that is refused."""
    operator = operators("--log-level=debug")
    token = re.search(r'token: "([^"]+)"', operator.config.read_text()).group(1)
    secret = "correct-horse-battery-staple"
    env = [{"name": "PASSWORD", "value": secret}]
    good, bad = raycluster("c", workers=1), raycluster("d", workers=1)
    for cluster in (good, bad):
        cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["env"] = env
    bad["spec"]["headGroupSpec"]["template"]["spec"]["priorityClassName"] = "none-such"
    space.apply(good)
    space.apply(bad)
    space.ready("c", 2)
    operator.says("none-such")
    told = operator.log() + operator.get("/metrics")[1] + operator.get("/readyz")[1]
    for resource in ("events", "rayclusters.ray.io", "configmaps", "services"):
        items = json.loads(kubectl("get", resource, "-n", space.name, "-o", "json").stdout)["items"]
        told += json.dumps([{k: v for k, v in i.items() if k != "spec"} for i in items])
    assert len(token.split(".")) == 3
    assert all(part not in told for part in token.split(".")), "a part of the token"
    assert secret not in operator.log()
    assert secret not in json.dumps(space.cluster("d").get("status", {}))
