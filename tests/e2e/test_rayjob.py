"""RayJobs against the real API server. There is no Ray: heads have the address of a dashboard in this process."""

import http.server
import json
import signal
import socket
import threading

import pytest

from cluster import Audit, condition, eventually, kubectl, rayjob


def own_address():
    """An address of this machine that others could use: the operator connects to no other. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("10.255.255.255", 9))
        except OSError:
            return None
        address = s.getsockname()[0]
        return None if address.startswith("127.") else address


class Dashboard:
    """Jobs as Ray's dashboard has them. They run until the test says how they end."""

    def __init__(self, address):
        self.jobs, self.submissions, self.session = {}, [], "session_1"
        board = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                code, answer = board.answer(self.command, self.path, body)
                text = json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, method, path, body):
        if path == "/api/version":
            return 200, {"version": "4", "ray_version": "2.60.0", "session_name": self.session}
        name = path.removeprefix("/api/jobs/")
        if method == "POST" and not name:
            job = json.loads(body)
            self.submissions.append(job)
            self.jobs[job["submission_id"]] = {"status": "RUNNING", "message": "it runs", **job}
            return 200, {"submission_id": job["submission_id"]}
        name, _, what = name.partition("/")
        if name not in self.jobs:
            return 404, f"Job {name} does not exist"
        if what == "stop":
            self.end("STOPPED")
            return 200, {"stopped": True}
        return 200, {"logs": "line one\nlast words\n"} if what == "logs" else self.jobs[name]

    def end(self, status):
        for job in self.jobs.values():
            if job["status"] == "RUNNING":
                job.update(status=status, message=f"it is {status}")


@pytest.fixture
def board():
    address = own_address()
    if not address:
        pytest.fail("this machine has no address but loopback, which no head can have: connect it to a network")
    made = Dashboard(address)
    made.address = address
    yield made
    made.server.shutdown()


def start(space, board, name="j", **spec):
    job = rayjob(name, **spec)
    job["spec"]["rayClusterSpec"]["headGroupSpec"]["rayStartParams"] = {"dashboard-port": str(board.port)}
    space.start(job)
    serve(space, board, name)


def serve(space, board, name="j", other_than=None):
    """Waits for the head of the job's present cluster, and gives it the dashboard's address."""
    def look():
        cluster = space.job(name)["status"]["rayClusterName"]
        assert cluster != other_than
        pod = space.find(space.path("pods", f"{cluster}-head"))
        return pod and pod["status"].get("podIP") and pod

    eventually(lambda: "rayClusterName" in space.job(name).get("status", {}), 30)
    pod = eventually(look, 60)
    status = {"podIP": board.address, "podIPs": [{"ip": board.address}]}
    space.api.patch(space.path("pods", pod["metadata"]["name"]) + "/status", {"status": status})


def running(space, name="j"):
    def look():
        status = space.job(name).get("status", {})
        return status.get("jobStatus") == "RUNNING" and status

    return eventually(look, 60)


def test_a_job_runs_to_its_end(space, operator, board):
    start(space, board, shutdownAfterJobFinishes=True, metadata={"team": "a"}, entrypointNumCpus=1)
    status = running(space)
    assert [s["submission_id"] for s in board.submissions] == [status["jobId"]]
    assert board.submissions[0]["entrypoint"] == "python program.py" and board.submissions[0]["entrypoint_num_cpus"] == 1
    assert board.submissions[0]["metadata"] == {"team": "a"}
    board.end("SUCCEEDED")
    kubectl("-n", space.name, "wait", "--for=condition=Complete", "--timeout=30s", "rayjob/j")
    audit = Audit()
    eventually(lambda: not space.pods(), 60)
    assert condition(space.job("j"), "Valid")["status"] == "True"
    assert not audit.writes(operator.user, space.name)["patch rayjobs/status"], "written after its end"
    assert len(board.submissions) == 1


def test_it_is_submitted_once_though_the_operator_is_killed(space, operators, board):
    first = operators()
    start(space, board)
    running(space)
    first.stop(signal.SIGKILL)
    operators()
    board.end("SUCCEEDED")
    space.becomes("j", "Complete")
    assert len(board.submissions) == 1


def test_a_failed_job_is_tried_again_and_its_log_is_told(space, operator, board):
    start(space, board, backoffLimit=1)
    first = running(space)
    board.end("FAILED")
    serve(space, board, other_than=first["rayClusterName"])
    eventually(lambda: len(board.submissions) == 2, 60)
    board.end("FAILED")
    end = space.becomes("j", "Failed")
    assert end["reason"] == "AppFailed" and end["failed"] == 2 and "last words" in end["message"], end
    assert len({s["submission_id"] for s in board.submissions}) == 2


def test_a_restarted_head_has_lost_its_job(space, operator, board):
    start(space, board)
    running(space)
    board.session = "session_2"
    board.jobs.clear()
    assert space.becomes("j", "Failed")["reason"] == "HeadLost"
    assert len(board.submissions) == 1


def test_a_job_on_a_selected_cluster_is_stopped_before_it_goes(space, operator, board):
    start(space, board, "holder")
    running(space, "holder")
    cluster = space.job("holder")["status"]["rayClusterName"]
    space.start(rayjob("guest", clusterSelector={"ray.io/cluster": cluster}, rayClusterSpec=None))
    guest = running(space, "guest")
    assert space.job("guest")["metadata"]["finalizers"] == ["ray.io/rayjob-finalizer"]
    kubectl("-n", space.name, "delete", "rayjob", "guest", "--timeout=60s")
    assert board.jobs[guest["jobId"]]["status"] == "STOPPED"
    assert space.cluster(cluster)


def test_what_the_definition_refuses(space, operator):
    """Mistakes between fields are seen by the API server, others by the operator."""
    out = kubectl("-n", space.name, "apply", "-f", "-", stdin=json.dumps(rayjob("j", submissionMode="Nonsense")), check=False)
    assert out.returncode != 0 and "submissionMode" in out.stderr
    space.start(rayjob("k", runtimeEnvYAML="a: [1"))
    assert "spec.runtimeEnvYAML" in space.becomes("k", "ValidationFailed")["message"]
