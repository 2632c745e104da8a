"""RayServices from creation to a switch back, against fake dashboards."""

import json

from cluster import RUN, V1, condition, eventually, kubectl, mobula, raycluster
from services import CONFIG, Watched, deploy, mark_of, marked, needs_address, rolling, spec

pytestmark = needs_address


def test_deployed_changed_in_place_and_healed(space, operators, service, boards):
    board = boards()
    operators()
    service.create(**spec(board))
    first = service.named("pending")
    service.lead(first, board)
    eventually(lambda: board.puts)
    assert board.puts[0]["applications"] == [{"name": "hello", "route_prefix": "/", "import_path": "module:hello"}]
    assert service.selected() == [None, None], "no service before the applications run"
    assert condition(service.get(), "Ready")["reason"] == "Initializing"
    board.status = "RUNNING"
    service.is_ready()
    eventually(lambda: service.status()["numServeEndpoints"] == 2)
    status = service.status()
    assert status["serviceStatus"] == "Running"
    assert status["activeServiceStatus"]["rayClusterName"] == first and not status.get("pendingServiceStatus")
    assert status["activeServiceStatus"]["applicationStatuses"]["hello"]["status"] == "RUNNING"
    assert service.selected() == [first, first]
    assert [p["metadata"]["labels"]["ray.io/serve"] for p in space.pods(first)] == ["true", "true"]
    columns = kubectl("-n", space.name, "get", "rayservices").stdout.split("\n")
    assert columns[0].split() == ["NAME", "SERVICE", "STATUS", "NUM", "SERVE", "ENDPOINTS", "AGE"]
    assert columns[1].split()[:3] == ["svc", "Running", "2"]

    service.patch(serveConfigV2=CONFIG.format(app="other"))
    eventually(lambda: len(board.puts) == 2)
    assert board.puts[1]["applications"][0]["name"] == "other"
    eventually(lambda: list(service.status()["activeServiceStatus"]["applicationStatuses"]) == ["other"])
    assert service.named("active") == first

    board.forget()
    eventually(lambda: len(board.puts) == 3), "a head that has forgotten its applications gets them again"
    service.is_ready()


def test_new_cluster_switch_and_way_back(space, operators, service, boards):
    old, new = boards(), boards()
    operator = operators()
    first = deploy(service, old, rayClusterDeletionDelaySeconds=300)
    service.patch(**spec(new, app="v2"))
    second = service.named("pending")
    assert second != first
    service.lead(second, new)
    eventually(lambda: new.puts)
    assert service.selected() == [first, first], "the first cluster serves until the second can"
    assert condition(service.get(), "UpgradeInProgress")["status"] == "True"
    assert len(old.puts) == 1, "the first cluster keeps its configuration"
    new.status = "RUNNING"
    assert service.named("active", other_than=first) == second
    assert service.selected() == [second, second]
    service.is_ready()

    operator.stop()
    space.rest(operators())
    service.is_ready()
    assert len(new.puts) == 1, "a new leader sends no configuration that the head has"

    service.patch(**spec(old))
    assert service.named("active", other_than=second) == first, "an earlier spec finds its cluster, which still runs"
    assert service.selected() == [first, first]


def test_replicas_are_changed_in_the_running_cluster(space, operators, service, boards):
    board = boards()
    operators()
    first = deploy(service, board)
    service.patch(**spec(board, replicas=2))
    eventually(lambda: len(space.pods(first)) == 3)
    changed = spec(board, replicas=2)
    group = json.loads(json.dumps(changed["rayClusterConfig"]["workerGroupSpecs"][0]))
    changed["rayClusterConfig"]["workerGroupSpecs"].append({**group, "groupName": "more", "replicas": 1, "minReplicas": 1})
    service.patch(**changed)
    eventually(lambda: len(space.pods(first)) == 4)
    assert service.named("active") == first and not service.status().get("pendingServiceStatus")


def roll_out(service, board, replicas, **options):
    """Creates a RayService with rolling updates, waits until it serves, and returns the name of its cluster."""
    service.create(**rolling(marked(spec(board, replicas=replicas), "1"), **options))
    first = service.named("pending")
    service.lead(first, board)
    board.status = "RUNNING"
    service.is_ready()
    eventually(lambda: service.status()["numServeEndpoints"] == replicas + 1)
    return first


def all_marked(service, cluster, mark, count):
    def look():
        marks = [mark_of(p) for p in service.workers(cluster)]
        assert marks == [mark] * count, marks
        return True

    return eventually(look)


def test_workers_are_replaced_in_the_running_cluster(space, operators, service, boards):
    board = boards()
    operator = operators()
    first = roll_out(service, board, 4, maxSurgePercent=25)
    head, watched = space.find(space.path("pods", f"{first}-head"))["metadata"]["uid"], Watched(space, first)
    service.patch(**marked(spec(board, replicas=4), "2"))
    eventually(lambda: "2" in [mark_of(p) for p in service.workers(first)])
    assert condition(service.get(), "UpgradeInProgress")["status"] == "True"
    operator.stop()
    operators()
    all_marked(service, first, "2", 4)
    service.upgrade("NoPendingCluster")
    numbers = watched.numbers()
    assert min(ready for ready, _ in numbers) >= 4 and max(all_of for _, all_of in numbers) == 5, numbers
    assert service.named("active") == first and not service.status().get("pendingServiceStatus")
    assert [c["metadata"]["name"] for c in space.api.get(space.path("rayclusters", group=V1))["items"]] == [first]
    assert space.find(space.path("pods", f"{first}-head"))["metadata"]["uid"] == head and len(board.puts) == 1
    assert not condition(space.cluster(first), "TemplateDrift")
    eventually(lambda: {"RollingUpdateBegun", "RollingUpdateDone"} <= set(service.events()))

    told = eventually(lambda: [e["message"] for e in space.api.get(space.path("events"))["items"] if e["reason"] == "WorkerNotDrained"])
    assert "the GCS of the head does not answer" in told[0], "the fake head has no GCS"

    watched = Watched(space, first)
    service.patch(**rolling(marked(spec(board, replicas=4), "3"), maxSurgePercent=0, maxUnavailablePercent=50))
    all_marked(service, first, "3", 4)
    numbers = watched.numbers()
    assert min(ready for ready, _ in numbers) == 2, numbers


def test_a_new_worker_that_fails_stops_the_replacement(space, operators, service, boards):
    board = boards()
    operators()
    first = roll_out(service, board, 2, maxSurgePercent=50, maxUnavailablePercent=50)
    def uids():
        return {p["metadata"]["uid"] for p in service.workers(first)}

    old = uids()
    service.patch(**marked(spec(board, replicas=2), "2", nodeSelector={"no": "node"}))
    new = eventually(lambda: [p for p in service.workers(first) if mark_of(p) == "2"])
    space.fail(new[0], code=3)
    message = service.upgrade("RollingUpdateStopped", "exit code 3")["message"]
    assert "group small" in message and "older template" in message
    drift = condition(space.cluster(first), "TemplateDrift")
    assert drift["reason"] == "RollingUpdateStopped" and drift["message"] == message
    left = old & uids()
    assert len(left) >= 1, "at most what may be missing has gone before it failed"
    eventually(lambda: [p for p in service.workers(first) if mark_of(p) == "2" and p["metadata"]["uid"] != new[0]["metadata"]["uid"]])
    assert old & uids() == left, "none goes beside it, nor beside its successor"
    service.is_ready()
    service.patch(**marked(spec(board, replicas=2), "3", nodeSelector=None))
    all_marked(service, first, "3", 2)
    assert service.named("active") == first


def test_a_change_that_cannot_be_made_in_place_is_reported(space, operators, service, boards):
    board = boards()
    operators()
    first = roll_out(service, board, 1)
    workers = [p["metadata"]["name"] for p in service.workers(first)]
    changed = marked(spec(board), "2")
    changed["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"] = "ray:3"
    service.patch(**changed)
    found = service.upgrade("InPlaceNotPossible", "spec.rayClusterConfig.headGroupSpec.template.spec.containers[0].image has changed")
    assert found["status"] == "False" and "ifNotPossible: NewCluster" in found["message"]
    eventually(lambda: service.events().get("InPlaceNotPossible"))
    service.is_ready()
    assert [p["metadata"]["name"] for p in service.workers(first)] == workers, "the running cluster is kept"
    assert "InPlaceNotPossible" in json.dumps(service.status()) and not service.status().get("pendingServiceStatus")

    service.patch(serveConfigV2=CONFIG.format(app="other"))
    eventually(lambda: board.puts[-1]["applications"][0]["name"] == "other"), "the configuration goes to it in place all the same"

    service.patch(**rolling({}, ifNotPossible="NewCluster"))
    assert service.named("pending") != first


def test_a_raycluster_replaces_its_workers_by_annotation(space, operators):
    operators()
    made = raycluster("c", workers=2)
    made["metadata"]["annotations"] = {"mobula.dev/rolling-update": "maxSurgePercent=50"}
    space.apply(made)
    space.ready("c", 3)
    watched = Watched(space, "c")
    group = json.loads(json.dumps(made["spec"]["workerGroupSpecs"][0]))
    group["template"]["spec"]["containers"][0]["env"] = [{"name": "MARK", "value": "2"}]
    space.change("c", {"workerGroupSpecs": [group]})
    eventually(lambda: [mark_of(p) for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "worker"] == ["2", "2"])
    assert min(ready for ready, _ in watched.numbers()) >= 2 and max(all_of for _, all_of in watched.numbers()) == 3
    eventually(lambda: not condition(space.cluster("c"), "TemplateDrift"))


def test_suspended_and_resumed(space, operators, service, boards):
    board = boards()
    operators()
    first = deploy(service, board)
    service.patch(suspend=True)
    eventually(lambda: (condition(service.get(), "Suspended") or {}).get("status") == "True")
    assert not space.pods(first) and service.selected() == [None, None]
    board.forget()
    service.patch(suspend=False)
    again = service.named("pending")
    service.lead(again, board)
    service.is_ready()
    assert condition(service.get(), "Suspended")["status"] == "False"


def test_mistakes_are_named_and_the_old_version_serves(space, operators, service, boards):
    old, new = boards(), boards()
    operators()
    first = deploy(service, old)
    service.patch(serveConfigV2="applications:\n- {name: a, route_prefix: /, import_path: m:a}\n"
                                "- {name: b, route_prefix: /, import_path: m:b}\n")
    message = service.is_ready("ValidationFailed")["message"]
    assert 'applications[0] and applications[1] have the same route_prefix "/"' in message
    assert service.selected() == [first, first]

    new.refusal = "ValueError: no module named m"
    service.patch(**spec(new))
    second = service.named("pending")
    service.lead(second, new)

    def refused():
        upgrade = condition(service.get(), "UpgradeInProgress")
        assert "no module named m" in upgrade["message"], upgrade
        return True

    eventually(refused)
    assert len(new.puts) == 1, "what was refused is not sent again at once"
    assert service.selected() == [first, first]


def explain(space):
    out = mobula("explain", "service", "svc", "-n", space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}")
    assert out.returncode == 0, out.stderr
    return out.stdout


def test_explain_service(space, operators, service, boards):
    old, new = boards(), boards()
    operators()
    service.create(**spec(old))
    first = service.named("pending")
    assert "are not served: there is no Service svc-serve-svc" in explain(space)
    service.lead(first, old)
    old.status = "RUNNING"
    service.is_ready()

    def serves():
        text = explain(space)
        assert f"Service svc-serve-svc leads to RayCluster {first}, the active one: 2 of its pods take requests" in text, text
        assert "application hello: RUNNING" in text, text
        return True

    eventually(serves)
    service.patch(**spec(new, app="v2"))
    second = service.named("pending")

    def waits():
        text = explain(space)
        assert f"{second}, pending" in text and f"when all applications of RayCluster {second} are RUNNING" in text, text
        return True

    eventually(waits)
    out = mobula("explain", "service", "none", "-n", space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}")
    assert out.returncode == 1 and "there is no RayService none" in out.stderr


def test_a_cluster_with_a_serve_service(space, operator):
    def service():
        return space.find(space.path("services", "c-serve-svc"))

    cluster = raycluster("c")
    space.apply({**cluster, "metadata": {**cluster["metadata"], "annotations": {"ray.io/enable-serve-service": "true"}}})
    made = eventually(service)
    assert made["spec"]["selector"] == {"ray.io/cluster": "c", "ray.io/is-ray-node": "yes"}
    assert [(p["name"], p["port"]) for p in made["spec"]["ports"]] == [("serve", 8000)]
    labels = made["metadata"]["labels"]
    assert labels["ray.io/serve"] == "c-serve" and labels["ray.io/originated-from-crd"] == "RayCluster"
    space.rest(operator)
    space.api.patch(space.path("rayclusters", "c", V1), {"metadata": {"annotations": {"ray.io/enable-serve-service": None}}})
    eventually(lambda: service() is None)


def test_it_rests(space, operators, service, boards):
    board = boards()
    operator = operators()
    deploy(service, board)
    space.rest(operator)
