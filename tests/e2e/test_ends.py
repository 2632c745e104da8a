"""Ends of RayJobs whose pods stay in Terminating. A finalizer on the head stands for a lost node."""

from cluster import condition, eventually, kubectl
from dashboards import running, serve, start


def hold(space, pod, finalizers):
    kubectl("-n", space.name, "patch", "pod", pod, "--type=merge", "-p", '{"metadata":{"finalizers":%s}}' % finalizers)


def head_of(status):
    return status["rayClusterName"] + "-head"


def hangs(space, pod):
    said = condition(space.job("j"), "Waiting")
    assert said.get("reason") == "PodsHang" and pod in said["message"] and "out-of-service" in said["message"], said
    return True


def test_suspended_means_that_no_pod_runs(space, operator, board):
    start(space, board, shutdownAfterJobFinishes=True)
    pod = head_of(running(space))
    hold(space, pod, '["example.com/keep"]')
    kubectl("-n", space.name, "patch", "rayjob", "j", "--type=merge", "-p", '{"spec":{"suspend":true}}')
    eventually(lambda: any(path.endswith("/stop") for _, path in board.asked))
    eventually(lambda: hangs(space, pod), seconds=180)
    assert space.job("j")["status"]["jobDeploymentStatus"] == "Suspending"
    hold(space, pod, "[]")
    space.becomes("j", "Suspended")
    assert not condition(space.job("j"), "Waiting")


def test_the_next_attempt_waits_for_the_last_pod(space, operator, board):
    start(space, board, backoffLimit=1)
    first = running(space)
    pod = head_of(first)
    hold(space, pod, '["example.com/keep"]')
    board.end("FAILED")
    eventually(lambda: hangs(space, pod), seconds=180)
    assert len(board.submissions) == 1 and space.job("j")["status"]["rayClusterName"] == first["rayClusterName"]
    hold(space, pod, "[]")
    serve(space, board, other_than=first["rayClusterName"])
    eventually(lambda: len(board.submissions) == 2)


def test_an_end_without_a_rule_is_told(space, operator, board):
    rule = {"policy": "DeleteCluster", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": 0}}
    start(space, board, activeDeadlineSeconds=15, deletionStrategy={"deletionRules": [rule]})
    running(space)
    space.becomes("j", "Failed")
    said = eventually(lambda: condition(space.job("j"), "ClusterKept"))
    assert said["reason"] == "NoDeletionRule" and "DeadlineExceeded" in said["message"] and "CPU" in said["message"], said


def test_a_head_that_hangs_is_named(space, operator, board):
    start(space, board)
    name = running(space)["rayClusterName"]
    hold(space, name + "-head", '["example.com/keep"]')
    kubectl("-n", space.name, "delete", "pod", name + "-head", "--wait=false")

    def named():
        said = condition(space.api.get(space.path("rayclusters", name, "/apis/ray.io/v1")), "HeadPodReady")
        assert said.get("reason") == "HeadPodHangs" and name + "-head" in said["message"], said
        return True
    eventually(named, seconds=180)
    hold(space, name + "-head", "[]")
