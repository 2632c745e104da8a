"""mobula logs and submit --cluster, against a real API server: what a job has printed, and what is said when that is gone."""

import subprocess

from cluster import MOBULA, Audit, RUN, eventually, mobula, raycluster
from dashboards import running, start
from test_explain import move_head

ADMIN = f"--kubeconfig={RUN / 'admin.kubeconfig'}"


def logs(space, *args):
    return mobula("logs", *args, "-n", space.name, ADMIN)


def test_a_job_from_its_head(space, operator, board, tmp_path):
    start(space, board, shutdownAfterJobFinishes=True)
    status = running(space)
    out = logs(space, "rayjob", "j")
    assert (out.returncode, out.stdout, out.stderr) == (0, "line one\nlast words\n", "")
    assert logs(space, "rayjob/j").stdout == out.stdout
    cluster = status["rayClusterName"]
    out = logs(space, "raycluster", cluster, "--submission-id", status["jobId"])
    assert (out.returncode, out.stdout) == (0, "line one\nlast words\n"), out.stderr
    out = logs(space, "raycluster", cluster, "--submission-id", "none-such")
    assert out.returncode == 1 and "Job none-such does not exist" in out.stderr, out.stderr
    with (tmp_path / "log").open("w+") as file:
        follower = subprocess.Popen([MOBULA, "logs", "job", "j", "-f", "-n", space.name, ADMIN], stdout=file)
        eventually(lambda: (tmp_path / "log").read_text() == "line one\nlast words\n")
        board.end("SUCCEEDED")
        assert follower.wait(timeout=60) == 0
    assert (tmp_path / "log").read_text() == "line one\nlast words\n"
    end = space.becomes("j", "Complete")
    assert end["message"] == "it is SUCCEEDED\nlog:\nline one\nlast words"
    eventually(lambda: not space.find(space.path("rayclusters", cluster, "/apis/ray.io/v1")))
    out = logs(space, "rayjob", "j")
    assert out.returncode == 1 and out.stdout == end["message"] + "\n"
    assert "RayJob j is Complete, and its head is gone with the job's log" in out.stderr and "-f" in out.stderr, out.stderr


def test_a_job_from_its_submitter_pod(space, operators, board):
    operators("--submitter=pod")
    audit = Audit()
    start(space, board)
    pod = eventually(lambda: next((p for p in space.pods() if "-submitter" in str(p["spec"]["containers"][0]["name"])
                                   and p["status"].get("phase") == "Running"), None))
    out = logs(space, "rayjob", "j")  # the fake node shows no logs
    assert out.returncode == 1 and "the log of its submitter pod cannot be read" in out.stderr, out.stderr
    asked = [e for e in audit.entries(None, space.name) if (e.get("objectRef") or {}).get("subresource") == "log"]
    assert asked and asked[0]["objectRef"]["name"] == pod["metadata"]["name"], asked
    assert asked[0]["requestURI"].endswith("/log?container=ray-job-submitter")


def test_which_one(space):
    out = logs(space, "rayjob", "none-such")
    assert out.returncode == 1 and f"there is no RayJob none-such in namespace {space.name}" in out.stderr
    out = logs(space, "raycluster", "none-such", "--submission-id=x")
    assert out.returncode == 1 and "there is no RayCluster none-such" in out.stderr
    space.apply(raycluster("c"))
    out = logs(space, "raycluster", "c", "--submission-id=x")
    assert out.returncode == 1 and "no head of RayCluster c runs: mobula explain cluster c" in out.stderr
    out = logs(space, "c")
    assert out.returncode == 2 and "rayjob NAME" in out.stderr and "see: mobula help logs" in out.stderr


def submit(space, *args):
    return mobula("submit", "--cluster", "c", "-n", space.name, ADMIN, *args)


def test_submitted_through_the_api_server(space, operator, board):
    """No address, no port-forward: the head is asked by the pod's proxy, and a job is followed to its end and by its id alone."""
    c = raycluster("c")
    c["spec"]["headGroupSpec"]["rayStartParams"] = {"dashboard-port": str(board.port)}
    space.apply(c)
    space.ready("c", 2)
    move_head(space, board.address)
    board.ends = ["SUCCEEDED", "FAILED"]
    out = submit(space, "--submission-id=one", "--", "python", "x.py")
    assert (out.returncode, out.stdout) == (0, "line one\nlast words\n"), out.stderr
    assert "job one is submitted\n" in out.stderr and "job one SUCCEEDED" in out.stderr
    assert [s["entrypoint"] for s in board.submissions] == ["python x.py"] and set(board.shown) == {(None, None)}
    out = submit(space, "--submission-id=one")
    assert (out.returncode, out.stdout, len(board.submissions)) == (0, "line one\nlast words\n", 1), out.stderr
    out = submit(space, "--submission-id=none-such")
    assert out.returncode == 1 and "Ray knows no job none-such" in out.stderr
    out = submit(space, "--", "false")
    assert (out.returncode, len(board.submissions)) == (1, 2) and "FAILED" in out.stderr, out.stderr
    out = mobula("submit", "--cluster", "none-such", "-n", space.name, ADMIN, "--", "true")
    assert out.returncode == 1 and "there is no RayCluster none-such" in out.stderr
