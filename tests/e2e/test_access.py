"""Heads reached through the API server: an operator outside the cluster, whose only way in is `--ray-access=proxy`."""

import pytest

from cluster import Audit, condition, eventually, raycluster, what
from dashboards import running, start, stop_guest, tells
from test_install import grants, objects

PROXY = "--ray-access=proxy"


@pytest.fixture
def through(space, operators):
    """An operator with the rights that an installation for this way has."""
    space.grant(PROXY)
    return operators(PROXY, "--autoscaler=operator")


def proxied(audit, operator):
    """(verb, resource, address) of all that this operator asked the API server to pass on."""
    found = []
    for e in audit.entries(operator.user):
        o = e.get("objectRef") or {}
        if o.get("subresource") == "proxy":
            found.append((e["verb"], f"{o['resource']}/proxy", e["requestURI"], e["responseStatus"]["code"]))
    return found


def test_a_job_runs_through_the_api_server(space, through, board):
    audit = Audit()
    start(space, board, shutdownAfterJobFinishes=True)
    status = running(space)
    assert [s["submission_id"] for s in board.submissions] == [status["jobId"]]
    service = space.cluster(status["rayClusterName"])["status"]["head"]["serviceName"]
    way = f"/api/v1/namespaces/{space.name}/services/{service}:{board.port}/proxy"
    board.end("FAILED")
    end = space.becomes("j", "Failed")
    assert end["reason"] == "AppFailed" and "last words" in end["message"], end
    asked = proxied(audit, through)
    assert {(verb, resource) for verb, resource, _, _ in asked} == {("get", "services/proxy"), ("create", "services/proxy")}
    assert all(uri.startswith(way + "/api/") for _, _, uri, _ in asked), asked
    passed = [(verb, uri.removeprefix(way)) for verb, _, uri, code in asked if code == 200]
    assert ("create", "/api/jobs/") in passed and ("get", "/api/version") in passed
    assert ("get", f"/api/jobs/{status['jobId']}") in passed and ("get", f"/api/jobs/{status['jobId']}/logs") in passed
    assert {path for _, path in passed} == {path for _, path in board.asked}, "asked in another way than through the API server"
    assert len(board.submissions) == 1


def test_a_job_is_stopped_through_the_api_server(space, through, board):
    start(space, board, "holder")
    running(space, "holder")
    stop_guest(space, board)


def test_what_the_way_costs_in_rights(space):
    given, usual = (grants(objects("--no-crds", "--namespace", space.name, *flags)) for flags in ((PROXY,), ()))
    assert given - usual == {("", "services/proxy", "get"), ("", "services/proxy", "create")} and usual - given == set()


def test_without_the_right_it_is_said_what_is_missing(space, operators, board):
    operators(PROXY)
    start(space, board)
    tells(space, "services/proxy", "403", PROXY)
    assert not board.asked


def test_nothing_is_scaled_by_demand(space, through):
    """gRPC does not pass: the cluster says so, and has the replicas of its spec."""
    audit = Audit()
    scaled = raycluster("c", workers=2)
    scaled["spec"]["enableInTreeAutoscaling"] = True
    space.apply(scaled)
    space.ready("c", 3)
    told = eventually(lambda: condition(space.cluster("c"), "Autoscaling"))
    assert (told["status"], told["reason"]) == ("False", "GCSBehindProxy") and PROXY in told["message"], told
    space.change("c", {"workerGroupSpecs": raycluster("c", workers=1)["spec"]["workerGroupSpecs"]})
    space.ready("c", 2)
    assert not proxied(audit, through), "a head was asked through the API server for what it does not pass on"
    refused = [what(e) for e in audit.entries(through.user) if e["responseStatus"]["code"] == 403]
    assert not refused, refused
