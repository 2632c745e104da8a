"""Dashboards of heads where there is no Ray: the heads' pods are given the address of one in this process. Standard library only."""

import http.server
import json
import socket
import threading
import urllib.parse
import time

from cluster import eventually, kubectl, rayjob


def own_address():
    """An address of this machine that others could use: the operator connects to no other. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("10.255.255.255", 9))
        except OSError:
            return None
        address = s.getsockname()[0]
        return None if address.startswith("127.") else address


class Jobs:
    """Jobs as Ray's dashboard has them. They run until the test says how they end, or for so many looks when it has said that before."""

    def __init__(self, ends=(), looks=1):
        self.session = "session_1"
        self.ends, self.looks = list(ends), looks  # how the first, the second … job ends, and after how many looks at it
        self.jobs, self.submissions, self.asked = {}, [], []  # asked: (method, path) of all that came …
        self.shown, self.token = [], None  # … what each showed by Authorization and X-Ray-Authorization; the token that is asked for

    def reply(self, method, path, shown, body):
        """(status, JSON as bytes). shown: the values of the two headers."""
        self.asked.append((method, path))
        self.shown.append(shown)
        code, answer = self.refuse(*shown) or self.answer(method, path, body)
        return code, json.dumps(answer).encode()

    def refuse(self, *shown):
        """As Ray does it: the first of the two headers that is there decides."""
        given = next((s for s in shown if s), None)
        if not self.token or given == f"Bearer {self.token}":
            return None
        return (403, "Forbidden: Invalid authentication token") if given else (401, "Unauthorized: Missing authentication token")

    def answer(self, method, path, body):
        if path == "/api/version":
            return 200, {"version": "4", "ray_version": "2.60.0", "session_name": self.session}
        if path.startswith("/api/cluster_status?"):
            return 200, {"result": True, "data": {"clusterStatus": "Pending Demands:\n {'CPU': 1.0}: 4+ pending\x1b[31m"}}
        if path.startswith("/api/v0/tasks/summarize"):
            summary = {"cluster": {"summary": {"work": {"func_or_class_name": "work", "type": "NORMAL_TASK",
                                                        "state_counts": {"FINISHED": 7, "FAILED": 1}}}, "total_tasks": 8}}
            return 200, {"result": True, "msg": "", "data": {"result": {"total": 8, "result": {"node_id_to_summary": summary}}}}
        name = path.removeprefix("/api/jobs/")
        if method == "POST" and not name:
            return self.submit(json.loads(body))
        name, _, what = name.partition("/")
        if name not in self.jobs:
            return 404, f"Job {name} does not exist"
        if what == "stop":
            self.end("STOPPED", name)
            return 200, {"stopped": True}
        return (200, {"logs": "line one\nlast words\n"}) if what == "logs" else self.look(name)

    def submit(self, job):
        name = job["submission_id"]
        if name in self.jobs:
            return 500, f"ValueError: Job with submission_id {name} already exists. Please use a different submission_id."
        self.submissions.append(job)
        self.jobs[name] = {"status": "RUNNING", "message": "it runs", "looks": 0, **job}
        return 200, {"submission_id": name}

    def look(self, name):
        """Jobs end as it was said of them, in the order in which they were submitted."""
        number = list(self.jobs).index(name)
        if number < len(self.ends) and self.jobs[name]["looks"] == self.looks:
            self.end(self.ends[number], name)
        self.jobs[name]["looks"] += 1
        return 200, self.jobs[name]

    def end(self, status, name=None):
        for job in [self.jobs[name]] if name else self.jobs.values():
            if job["status"] == "RUNNING":
                job.update(status=status, message=f"it is {status}")
                if "start_time" in job:  # who submitted it tells times
                    job["end_time"] = int(time.time() * 1000)


class Dashboard(Jobs):
    """They are served at this address."""

    def __init__(self, address, port=0):
        super().__init__()
        self.address = address
        board = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                shown = self.headers.get("Authorization"), self.headers.get("X-Ray-Authorization")
                code, text = board.reply(self.command, self.path, shown, body)
                self.send_response(code)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((address, port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Serve(Dashboard):
    """A dashboard with Ray Serve. Applications have status DEPLOYING until the test sets another one."""

    def __init__(self, address, port=0):
        super().__init__(address, port)
        self.config, self.status, self.puts = None, "DEPLOYING", []
        self.refusal, self.proxy = None, "HEALTHY"
        self.logs = {}  # of replicas: text by (node, file); None: Ray cannot read it

    def reply(self, method, path, shown, body):
        at = urllib.parse.urlsplit(path)
        if at.path != "/api/v0/logs/file":
            return super().reply(method, path, shown, body)
        query = dict(urllib.parse.parse_qsl(at.query))
        assert query["format"] == "text", query
        text, lines = self.logs[query["node_id"], query["filename"]], int(query["lines"])
        if text is None:
            return 500, b"no such file"
        return 200, "".join(text.splitlines(keepends=True)[-lines if lines > 0 else 0:]).encode()  # -1: all

    def answer(self, method, path, body):
        if not path.startswith("/api/serve/applications/"):
            return super().answer(method, path, body)
        if method == "PUT":
            self.puts.append(json.loads(body))
            if self.refusal:
                return 400, self.refusal
            self.config = self.puts[-1]
            return 200, ""
        apps = {app["name"]: {"name": app["name"], "status": self.status, "message": f"it is {self.status}", "route_prefix": "/",
                              "deployed_app_config": app,
                              "deployments": {"D": {"name": "D", "status": "HEALTHY", "message": "", "target_num_replicas": 1, "replicas": [
                                  {"node_id": node, "replica_id": file, "log_file_path": f"/{file}"} for node, file in self.logs]}}}
                for app in (self.config or {}).get("applications", [])}
        return 200, {"applications": apps, "proxies": {"n1": {"node_ip": self.address, "status": self.proxy}}}

    def capacity(self):
        """The target_capacity that it was sent last."""
        return self.puts[-1].get("target_capacity") if self.puts else None

    def forget(self):
        """As after a restart of the head: no application is known."""
        self.config = None


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

    eventually(lambda: "rayClusterName" in space.job(name).get("status", {}))
    pod = eventually(look)
    status = {"podIP": board.address, "podIPs": [{"ip": board.address}]}
    space.api.patch(space.path("pods", pod["metadata"]["name"]) + "/status", {"status": status})


def tells(space, *words, name="j"):
    """Waits until the RayJob's message holds all of these."""
    def look():
        message = space.job(name).get("status", {}).get("message", "")
        assert all(word in message for word in words), message
        return True

    eventually(look)


def stop_guest(space, board):
    """A job on the cluster of job "holder" is deleted while it runs; gives (the cluster, the job as it was)."""
    cluster = space.job("holder")["status"]["rayClusterName"]
    space.start(rayjob("guest", clusterSelector={"ray.io/cluster": cluster}, rayClusterSpec=None))
    status = running(space, "guest")
    guest = space.job("guest")
    kubectl("-n", space.name, "delete", "rayjob", "guest", "--timeout=120s")
    assert board.jobs[status["jobId"]]["status"] == "STOPPED"
    return cluster, guest


def running(space, name="j"):
    def look():
        status = space.job(name).get("status", {})
        return status.get("jobStatus") == "RUNNING" and status

    return eventually(look)
