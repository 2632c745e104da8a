"""RayServices from creation to a switch back, against fake dashboards."""

import json

from cluster import RUN, V1, condition, eventually, kubectl, mobula, raycluster
from services import CONFIG, deploy, needs_address, spec

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
    status = service.status()
    assert status["serviceStatus"] == "Running" and status["numServeEndpoints"] == 2
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
    text = explain(space)
    assert f"Service svc-serve-svc leads to RayCluster {first}, the active one: 2 of its pods take requests" in text, text
    assert "application hello: RUNNING" in text, text
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
