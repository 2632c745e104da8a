"""A control plane under attack: silent connections, random tokens, requests without rights, texts of a captured operator."""

import base64
import contextlib
import http.client
import json
import re
import secrets
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import processes
import pytest

import hub as rig
from cluster import MOBULA, eventually

SILENT, THREADS, CALLS = 1500, 100, 60  # of the floods: silent connections; threads with random tokens, and calls of each thread
READ = {"apiGroups": ["mobula.dev"], "resources": ["clouds", "workloads"], "verbs": ["get", "list", "create"]}


@pytest.fixture(scope="module", autouse=True)
def definitions():
    rig.define()


@pytest.fixture
def hubs(space, tmp_path):
    with rig.hubs_in(space, tmp_path) as make:
        yield make


def bound(space, name):
    """A token with the audience of control planes, which no API server accepts."""
    return space.kubectl("create", "token", name, "--audience=mobula.dev/control-plane", "--duration=1h").stdout.strip()


def flood_of_connections(port):
    held = []
    for _ in range(SILENT):
        with contextlib.suppress(OSError):
            held.append(socket.create_connection(("127.0.0.1", port), timeout=10))
    return held


def flood_of_tokens(port, path):
    """Makes CALLS calls, each with a random token, and returns the statuses of the answers."""
    link, answers = None, []
    for _ in range(CALLS):
        try:
            link = link or http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            link.request("GET", path, headers={"Authorization": f"Bearer {secrets.token_hex(16)}"})
            answer = link.getresponse()
            answer.read()
            answers.append(answer.status)
            if answer.getheader("Connection") == "close":
                link.close()
                link = None
        except (OSError, http.client.HTTPException):
            link = None
    return answers


def test_known_callers_are_answered_in_a_flood(space, hubs):
    hub = hubs()
    rig.account(space, "ann", READ)
    rig.account(space, "edge", rig.operator_rule())
    ann, operator, cloud = bound(space, "ann"), bound(space, "edge"), rig.cloud(space)
    path = f"/v1/projects/{space.name}/clouds"
    assert hub.ask("GET", path, ann)[0] == 200
    assert hub.sync(operator, cloud, wait=0)[0] == 200
    over, failed, calls = threading.Event(), [], {"operator": 0, "person": 0}

    def ask(who, call):
        while not over.is_set():
            try:
                status, answer = call()
            except Exception as e:  # the connection was closed
                status, answer = 0, repr(e)
            calls[who] += 1
            if status != 200:
                failed.append((who, status, answer))
            time.sleep(0.2)

    revision = hub.sync(operator, cloud, wait=0)[1]["revision"]
    callers = [threading.Thread(target=ask, args=("operator", lambda: hub.sync(operator, cloud, revision=revision, wait=25))),
               threading.Thread(target=ask, args=("person", lambda: hub.ask("GET", path, ann)))]
    for caller in callers:
        caller.start()
    eventually(lambda: calls["person"] > 1)
    held = flood_of_connections(hub.port)
    with ThreadPoolExecutor(THREADS) as threads:
        answers = [status for one in threads.map(lambda _: flood_of_tokens(hub.port, path), range(THREADS)) for status in one]
    before = calls["person"]
    eventually(lambda: calls["person"] > before + 1)
    rig.job(space, "news")  # ends the operator's call
    eventually(lambda: calls["operator"] > 0)
    over.set()
    for link in held:
        link.close()
    rig.put(space, "Workload", "workloads", "last", {"cloud": "edge", "job": {"entrypoint": "true"}})
    for caller in callers:
        caller.join(60)
    assert not failed, failed[:5]
    assert set(answers) <= {401, 429} and answers.count(429) > answers.count(401), {s: answers.count(s) for s in set(answers)}


def test_strangers_learn_nothing(space, hubs):
    hub = hubs()
    nobody = rig.account(space, "nobody")
    rig.cloud(space, "edge")
    assert rig.job(space, "with", workingDir="upload:" + "a" * 64)
    answers = [hub.ask("GET", f"/v1/projects/{space.name}/workloads/{name}/folder", nobody) for name in ("with", "without")]
    assert answers[0] == answers[1] and answers[0][0] == 404, answers
    answers = [hub.ask("GET", f"/v1/projects/{project}/clouds", nobody)[0] for project in (space.name, "no-such-project")]
    assert answers == [403, 403]


def test_an_audience_of_its_own(space, hubs):
    hub = hubs()
    plain = rig.account(space, "ann", READ)
    path = f"/v1/projects/{space.name}/clouds"
    assert hub.ask("GET", path, bound(space, "ann"))[0] == 200
    assert hub.ask("GET", path, plain)[0] == 200
    other = space.kubectl("create", "token", "ann", "--audience=somebody.else", "--duration=1h").stdout.strip()
    assert hub.ask("GET", path, other)[0] == 401
    head, _, mac = bound(space, "ann").split(".")
    forged = base64.urlsafe_b64encode(json.dumps({"aud": ["mobula.dev/control-plane"], "sub": "root"}).encode()).decode().rstrip("=")
    assert hub.ask("GET", path, f"{head}.{forged}.{mac}")[0] == 401


def test_lasting_errors_and_two_tokens(space, hubs):
    hub = hubs()
    ann = rig.account(space, "ann", READ)
    rig.cloud(space)
    job = {"apiVersion": "mobula.dev/v1", "kind": "Workload", "metadata": {"name": "owned", "ownerReferences": [
        {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "b", "blockOwnerDeletion": True}]},
        "spec": {"cloud": "edge", "job": {"entrypoint": "true"}}}
    status, answer = hub.ask("POST", f"/v1/projects/{space.name}/workloads", ann, job)
    assert status == 403 and "blockOwnerDeletion" in answer["error"]["message"], answer
    with socket.create_connection(("127.0.0.1", hub.port), timeout=20) as link:
        link.sendall(f"GET /v1/projects/{space.name}/clouds HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {ann}\r\n"
                     "Authorization: Bearer bad\r\n\r\n".encode())
        assert link.recv(4096).startswith(b"HTTP/1.1 400 ")


def test_words_of_a_captured_operator(space, hubs, tmp_path):
    hub = hubs()
    ann = rig.account(space, "ann", READ)
    operator = rig.account(space, "edge", rig.operator_rule())
    cloud = rig.cloud(space)
    rig.job(space, "w1")
    uid = eventually(lambda: [w["uid"] for w in hub.sync(operator, cloud, wait=0)[1]["workloads"]], 20)[0]
    lines = "\x1b[2J\x1b]0;pwned\x07hi\njob w2: SUCCEEDED\nlog:\nthe log\x1b\njob w3: SUCCEEDED"
    assert hub.sync(operator, cloud, wait=0, statuses=[{"uid": uid, "generation": 1, "state": "FAILED", "message": lines,
                    "urls": [{"name": "a", "url": "javascript:alert(1)"}, {"name": "b", "url": "https://dashboard/"}]}])[0] == 200
    status = eventually(lambda: rig.status(space, "w1"))
    assert status["message"] == "[2J ]0;pwned hi job w2: SUCCEEDED\nlog:\nthe log \njob w3: SUCCEEDED", status
    assert [one["url"] for one in status["urls"]] == ["https://dashboard/"]
    token = tmp_path / "token"
    token.write_text(ann)
    way = ["--server", f"http://127.0.0.1:{hub.port}", "--token-file", token, "-n", space.name]
    said = subprocess.run([MOBULA, "job", "status", *way, "w1"], capture_output=True, text=True, timeout=60)
    assert not re.search(r"(?m)^job w[23]", said.stdout + said.stderr) and "\x1b" not in said.stdout + said.stderr, said


def test_own_token(space, tmp_path):
    """An operator does not start with its own token for a host outside the cluster."""
    config, token = processes.config_of(space, tmp_path, "default", "own"), tmp_path / "token"
    token.write_text(re.search(r'token: "(\S+)"', config.read_text()).group(1))
    flags = [MOBULA, "operator", "--kubeconfig", config, "--namespace", space.name, "--cloud-deployment-id", "cldrsrc_" + "a" * 24,
             "--control-plane-token-file", token, "--health-addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"]
    said = subprocess.run([*flags, "--control-plane-url", "https://hub.example"], capture_output=True, text=True, timeout=60)
    assert said.returncode == 1 and "outside the cluster" in said.stderr and "--control-plane-own-token" in said.stderr, said
    for more in (["--control-plane-url", "https://mobula-control-plane.hub.svc"], ["--control-plane-url", "https://hub.example",
                                                                                   "--control-plane-own-token"]):
        with subprocess.Popen([*flags, *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            line = process.stdout.readline()
            process.terminate()
            assert "outside the cluster" not in line + process.stdout.read(), line
