"""RayJobs on real Ray: the operator makes the cluster, submits the program itself and says in status how it ended."""

from cluster import V1, eventually, kubectl
from real import START_S, dashboard, raycluster, submit

SUM = "import ray; ray.init(); print(sum(ray.get([ray.remote(lambda i: i * i).remote(i) for i in range(10)])))"
SLEEP = "import time; print('begun', flush=True); time.sleep({seconds})"


def rayjob(name, code, workers=0, **spec):
    """A RayJob that runs Python on a cluster of its own."""
    cluster = raycluster(name, workers=workers, head_cpus=1)["spec"]
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name},
            "spec": {"entrypoint": f'python -c "{code}"', "rayClusterSpec": cluster, **spec}}


def status(space, name):
    return space.job(name).get("status", {})


def clusters(space):
    return [c["metadata"]["name"] for c in space.api.get(space.path("rayclusters", group=V1))["items"]]


def running(space, name):
    """Waits until Ray says that the program runs."""
    return eventually(lambda: status(space, name).get("jobStatus") == "RUNNING" and status(space, name), START_S, 0.5)


def test_a_job_succeeds(space, operator):
    space.start(rayjob("j", SUM, workers=1, shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=20,
                       runtimeEnvYAML="env_vars:\n  GREETING: hello\n"))
    kubectl("-n", space.name, "wait", "--for=condition=Complete", "--timeout=100s", "rayjob/j", check=False)  # what the README does
    end = space.becomes("j", "Complete", START_S)
    assert end["jobStatus"] == "SUCCEEDED" and end["succeeded"] == 1 and end["failed"] == 0, end
    cluster = end["rayClusterName"]
    assert [k["name"] for p in space.pods() for k in p["spec"]["containers"]] == ["ray", "ray"], "no pod beside those of Ray"
    jobs = dashboard(space, cluster, "GET", "/api/jobs/")[1]
    own = [j for j in jobs if j["submission_id"]]
    assert [j["submission_id"] for j in own] == [end["jobId"]], "submitted once, under the id that status had"
    assert own[0]["runtime_env"]["env_vars"] == {"GREETING": "hello"}
    log = dashboard(space, cluster, "GET", f"/api/jobs/{end['jobId']}/logs")[1]["logs"]
    assert "285" in log.splitlines() and "285" in end["message"].splitlines(), end["message"]  # Ray may say more after it
    eventually(lambda: not clusters(space) and not space.pods(), 120)
    assert space.becomes("j", "Complete", START_S)["jobStatus"] == "SUCCEEDED"


def test_a_job_fails_with_the_end_of_its_log(space, operator):
    space.start(rayjob("j", "print('what is wrong here'); raise SystemExit(7)"))
    end = space.becomes("j", "Failed", START_S)
    assert (end["reason"], end["jobStatus"], end["failed"]) == ("AppFailed", "FAILED", 1), end
    assert "exit code 7" in end["message"] and "what is wrong here" in end["message"], end["message"]
    assert len(clusters(space)) == 1, "kept: somebody may want to look"


def test_suspended_and_resumed(space, operator):
    space.start(rayjob("j", SLEEP.format(seconds=20), shutdownAfterJobFinishes=True))
    first = running(space, "j")
    space.api.patch(space.path("rayjobs", "j", V1), {"spec": {"suspend": True}})
    space.becomes("j", "Suspended", START_S)
    eventually(lambda: not clusters(space) and not space.pods(), 120)
    space.api.patch(space.path("rayjobs", "j", V1), {"spec": {"suspend": False}})
    end = space.becomes("j", "Complete", seconds=2 * START_S)
    assert end["jobId"] != first["jobId"] and end["succeeded"] == 1 and end["failed"] == 0, end


def test_a_head_that_is_killed_is_lost_and_the_job_runs_again(space, operator):
    space.start(rayjob("j", SLEEP.format(seconds=25), backoffLimit=1))
    first = running(space, "j")
    pod = next(p for p in space.pods() if p["metadata"]["labels"]["ray.io/node-type"] == "head")
    kubectl("-n", space.name, "exec", pod["metadata"]["name"], "-c", "ray", "--", "pkill", "-9", "gcs_server")
    lost = eventually(lambda: status(space, "j").get("failed") == 1 and status(space, "j"), START_S, 0.2)
    reason = lost.get("reason", "")  # none: the next attempt has begun already
    assert reason in ("HeadLost", ""), lost
    assert operator.lines("HeadLost") or reason == "HeadLost" or "RetryingRayJob" in reasons(space)
    end = space.becomes("j", "Complete", seconds=2 * START_S)
    assert end["rayClusterName"] != first["rayClusterName"] and (end["succeeded"], end["failed"]) == (1, 1), end
    assert clusters(space) == [end["rayClusterName"]]


def test_a_deadline(space, operator):
    """One that is set while the program runs: it ends there, and Ray is told to stop it."""
    space.start(rayjob("j", SLEEP.format(seconds=900), activeDeadlineSeconds=800))
    first = running(space, "j")
    space.api.patch(space.path("rayjobs", "j", V1), {"spec": {"activeDeadlineSeconds": 1}})
    end = space.becomes("j", "Failed", START_S)
    assert end["reason"] == "DeadlineExceeded" and end["failed"] == 1 and end["jobId"] == first["jobId"], end
    path = f"/api/jobs/{end['jobId']}"
    eventually(lambda: dashboard(space, end["rayClusterName"], "GET", path)[1]["status"] == "STOPPED", 120, 0.5)


def test_somebody_else_submits(space, operator):
    """InteractiveMode: the operator makes the cluster and waits; who submits tells it the id, and it follows that."""
    job = rayjob("j", "", submissionMode="InteractiveMode")
    del job["spec"]["entrypoint"]
    space.start(job)
    cluster = space.becomes("j", "Waiting", START_S)["rayClusterName"]
    submit(space, cluster, "by-hand", "print(6 * 7)")
    assert status(space, "j")["jobDeploymentStatus"] == "Waiting", "of what it was not told it knows nothing"
    space.api.patch(space.path("rayjobs", "j", V1), {"spec": {"jobId": "by-hand"}})
    end = space.becomes("j", "Complete", START_S)
    assert (end["jobId"], end["jobStatus"], end["succeeded"]) == ("by-hand", "SUCCEEDED", 1), end
    assert [j["submission_id"] for j in dashboard(space, cluster, "GET", "/api/jobs/")[1]] == ["by-hand"]


def reasons(space):
    events = space.api.get(space.path("events", group="/apis/events.k8s.io/v1"))["items"]
    return {e["reason"] for e in events}
