"""`mobula control-plane` on the real API server: its rights are those that `mobula install --control-plane` prints, its callers have
tokens of service accounts, and what they may do is RBAC."""

import base64
import hashlib
import http.client
import json
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path

import dashboards
from cluster import MOBULA, PATIENCE, ROOT, RUN, V1, Audit, eventually, kubectl, manifests, what, unless
from hub import GROUP, account, certificate, cloud, definitions, hubs, job, operator_rule, put, status  # noqa: F401
from processes import kubeconfig
from test_install import grants, objects, used


def test_a_workload_from_its_beginning_to_its_end(space, hubs):
    hub, op = hubs(), account(space, "edge-operator", operator_rule())
    where = cloud(space)
    put(space, "ComputeConfig", "computeconfigs", "small-v1", {"zones": ["a"]})
    code, first = hub.sync(op, where)
    assert (code, first["full"], first["workloads"]) == (200, True, [])
    told = []
    waits = threading.Thread(target=lambda: told.append(hub.sync(op, where, revision=first["revision"])))
    waits.start()
    made = job(space, "train", computeConfig={"name": "small:1"})
    waits.join(10)
    code, news = told[0]
    assert code == 200 and not news["full"], news
    work = news["workloads"][0]
    assert (work["uid"], work["name"], work["project"]) == (made["metadata"]["uid"], "train", space.name)
    assert work["spec"]["computeConfig"] == {"inline": {"zones": ["a"]}}

    report = {"uid": work["uid"], "generation": 1, "state": "RUNNING", "attempts": 1, "startedAt": "2026-11-25T10:00:00Z",
              "objects": [{"apiVersion": "ray.io/v1", "kind": "RayJob", "namespace": "x", "name": "train"}],
              "urls": [{"name": "dashboard", "url": "http://head:8265"}]}
    code, answer = hub.sync(op, where, revision=news["revision"], statuses=[report], wait=0)
    assert (code, answer["workloads"]) == (200, []), answer
    said = status(space, "train")
    assert (said["state"], said["observedGeneration"], said["startedAt"]) == ("RUNNING", 1, "2026-11-25T10:00:00Z"), said

    kubectl("delete", "workload", "train", "-n", space.name, "--wait=false")
    code, answer = hub.sync(op, where, revision=answer["revision"])
    assert answer["workloads"] == [{"uid": work["uid"], "delete": True}]
    assert space.find(space.path("workloads", "train", GROUP)), "it went before its operator had cleared it away"
    hub.sync(op, where, revision=answer["revision"], statuses=[{"uid": work["uid"], "generation": 1, "state": "DELETED"}], wait=0)
    assert not space.find(space.path("workloads", "train", GROUP))


def test_who_may_what(space, hubs):
    hub = hubs()
    where = cloud(space)
    op, other = account(space, "edge-operator", operator_rule()), account(space, "other-operator", operator_rule("other"))
    reader = account(space, "ann", {"apiGroups": ["mobula.dev"], "resources": ["workloads"], "verbs": ["get", "list"]})
    assert hub.sync(None, where)[0] == 401
    assert hub.sync("eyJhbGciOi.no.token", where)[0] == 401
    assert hub.sync(op, where)[0] == 200
    code, error = hub.sync(other, where)
    assert code == 403 and "other-operator may not sync" in error["error"]["message"], error
    workloads = f"/v1/projects/{space.name}/workloads"
    job(space, "train")
    assert [w["metadata"]["name"] for w in hub.ask("GET", workloads, reader)[1]["items"]] == ["train"]
    assert hub.ask("GET", f"{workloads}/train", reader)[1]["spec"]["cloud"] == "edge"
    assert hub.ask("DELETE", f"{workloads}/train", reader)[0] == 403
    assert hub.ask("GET", f"/v1/projects/{space.name}/clouds", reader)[0] == 403
    assert hub.ask("GET", "/v1/projects/default/workloads", reader)[0] == 403
    writer = account(space, "bob", {"apiGroups": ["mobula.dev"], "resources": ["workloads"], "verbs": ["create"]})
    object = {"apiVersion": "mobula.dev/v1", "kind": "Workload", "metadata": {"name": "by-bob"}, "spec": {"cloud": "edge", "cluster": {}}}
    assert hub.ask("POST", workloads, writer, object)[0] == 201
    assert hub.ask("POST", workloads, writer, object)[0] == 409
    code, error = hub.ask("POST", workloads, writer, {**object, "metadata": {"name": "bad"}, "spec": {"cloud": "edge"}})
    assert code == 422 and "one of cluster, job, service and workspace" in error["error"]["message"], error
    assert f'user=system:serviceaccount:{space.name}:bob verb=create resource=workloads' in hub.log()
    assert "eyJ" not in hub.log(), "a token stands in the log"


def test_an_operator_identity_is_the_only_one(space, hubs):
    hub = hubs()
    where = cloud(space, operatorIdentity=f"system:serviceaccount:{space.name}:edge-operator")
    op, other = account(space, "edge-operator", operator_rule()), account(space, "second", operator_rule())
    assert hub.sync(op, where)[0] == 200
    assert hub.sync(other, where)[0] == 403


def test_one_instance_holds_a_cloud_across_two_replicas(space, hubs):
    a, b = hubs("a"), hubs("b")
    where, op = cloud(space), account(space, "edge-operator", operator_rule())
    assert a.sync(op, where, "one")[0] == 200
    code, error = b.sync(op, where, "two")
    assert code == 409 and "instance one" in error["error"]["message"], error
    codes = []
    crowd = [threading.Thread(target=lambda hub=hub, n=n: codes.append(hub.sync(op, cloud_two, f"i{n}", wait=0)[0]))
             for n, hub in enumerate([a, b] * 4)]
    cloud_two = cloud(space, "far")
    kubectl("patch", "role", "edge-operator", "-n", space.name, "--type=json",
            "-p", '[{"op":"remove","path":"/rules/0/resourceNames"}]')
    eventually(lambda: a.sync(op, cloud_two, "first", wait=0)[0] != 403)
    kubectl("patch", "cloud", "far", "-n", space.name, "--subresource=status", "--type=merge", "-p", '{"status":{"session":null}}')
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert codes.count(200) == 1 and set(codes) == {200, 409}, codes


def test_a_killed_hub_loses_nothing(space, hubs):
    hub, op = hubs(), account(space, "edge-operator", operator_rule())
    where = cloud(space)
    job(space, "before")
    answer = eventually(lambda: (said := hub.sync(op, where, wait=0)[1])["workloads"] and said)
    assert [w["name"] for w in answer["workloads"]] == ["before"]
    hub.stop(signal.SIGKILL)
    job(space, "meanwhile")
    code, answer = hubs("next").sync(op, where, revision=answer["revision"])
    assert code == 200 and {w["name"] for w in answer["workloads"]} >= {"meanwhile"}


def test_https_with_a_certificate_that_is_replaced(space, hubs, tmp_path):
    cert, key = certificate(tmp_path)
    hub = hubs("tls", "--https-addr", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
    port = int(re.search(r"for=https-addr address=\S+ port=(\d+)", hub.log()).group(1))

    def ask():
        link = http.client.HTTPSConnection("localhost", port, timeout=20, context=ssl.create_default_context(cafile=cert))
        link.request("GET", "/readyz")
        return link.getresponse().status

    assert ask() == 200
    certificate(tmp_path)
    hub.process.send_signal(signal.SIGHUP)
    eventually(lambda: hub.log().count("certificate was read") == 2)
    assert ask() == 200


def test_a_certificate_that_is_made_and_shared(space, hubs, tmp_path):
    """By two replicas that start at once, as the installation lets them. Python's TLS is strict about extensions."""
    flags = ("--https-addr=127.0.0.1:0", "--tls-secret=mobula-control-plane-tls", "--tls-name=hub.example")
    pair = [hubs(name, *flags) for name in ("a", "b")]
    secret = space.api.get(f"/api/v1/namespaces/{space.name}/secrets/mobula-control-plane-tls")
    assert secret["type"] == "kubernetes.io/tls" and set(secret["data"]) == {"tls.crt", "tls.key", "ca.crt"}
    ca = tmp_path / "ca.crt"

    def public():
        made = space.find(f"/api/v1/namespaces/{space.name}/configmaps/mobula-control-plane-ca")
        return made and made["data"]["ca.crt"]

    ca.write_text(eventually(public, 20))

    def ask(hub):
        port = int(re.search(r"for=https-addr address=\S+ port=(\d+)", hub.log()).group(1))
        context = ssl.create_default_context(cafile=ca)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        link = http.client.HTTPSConnection("localhost", port, timeout=20, context=context)
        link.request("GET", "/readyz")
        return link.getresponse().status

    assert [ask(hub) for hub in pair] == [200, 200]

    # An ingress of another namespace gets the certificate by the commands of the docs, and the CA's key is not with it.
    text = (ROOT / "docs/control-plane.md").read_text()
    commands = re.findall(r"^    kubectl (-n hub create (?:role|rolebinding) read-tls .*)$", text, re.M)
    assert len(commands) == 2, commands
    for command in commands:
        kubectl(*command.replace("-n hub ", f"-n {space.name} ").split())
    for name, may in (("mobula-control-plane-tls", "yes"), ("mobula-control-plane-tls-ca", "no")):
        said = kubectl("auth", "can-i", "get", f"secrets/{name}", "-n", space.name,
                       "--as=system:serviceaccount:ingress-nginx:ingress-nginx", check=False).stdout.strip()
        assert said == may, (name, said)
    space.api.call("PATCH", f"/api/v1/namespaces/{space.name}/secrets/mobula-control-plane-tls", {"data": {"tls.crt": ""}},
                   "application/merge-patch+json")
    pair[0].process.send_signal(signal.SIGHUP)
    eventually(lambda: pair[0].log().count("certificate was read") == 2)
    assert ask(pair[0]) == 200


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_a_question_goes_to_the_replica_that_holds_the_call_and_its_answer_back(space, hubs):
    """The operator's call is held by one replica, a log is asked for at the other, and the operator answers to that other one."""
    ports = [free_port(), free_port()]
    a, b = (hubs(name, f"--https-addr=127.0.0.1:{port}", "--replica-addr=127.0.0.1", "--tls-secret=mobula-control-plane-tls")
            for name, port in zip("ab", ports, strict=True))
    where, op = cloud(space), account(space, "edge-operator", operator_rule())
    ann = account(space, "ann", {"apiGroups": ["mobula.dev"], "resources": ["workloads"], "verbs": ["get"]})
    work = job(space, "train")
    known = eventually(lambda: (said := a.sync(op, where, wait=0)[1])["workloads"] and said, 20)["revision"]
    asked, heard = [], []
    holds = threading.Thread(target=lambda: asked.append(a.sync(op, where, revision=known)))
    holds.start()
    eventually(lambda: space.api.get(space.path("clouds", "edge", GROUP))["status"]["session"].get("url", "").endswith(f":{ports[0]}"))
    path = f"/v1/projects/{space.name}/workloads/train/logs?lines=3"
    time.sleep(0.3)  # b's watch
    asks = threading.Thread(target=lambda: heard.append(b.ask("GET", path, ann)))
    asks.start()
    holds.join(20)
    question = asked[0][1]["questions"][0]
    assert (question["kind"], question["uid"], question["lines"]) == ("logTail", work["metadata"]["uid"], 3)
    answer = {"id": question["id"], "kind": "logTail", "text": "one\ntwo\n", "error": ""}
    assert b.sync(op, where, revision=known, wait=0, answers=[answer])[0] == 200
    asks.join(20)
    assert heard == [(200, "one\ntwo\n")]
    bob = account(space, "bob")
    assert b.ask("GET", path, bob)[0] == 403
    assert "eyJ" not in a.log() + b.log()


def test_the_command_line_writes_the_same_objects(space, hubs, tmp_path):
    """Without the hub's address: straight to Kubernetes, as kubectl."""
    hub = hubs()
    kubectl("create", "rolebinding", "carl", "-n", space.name, "--role=mobula-control-plane", f"--serviceaccount={space.name}:carl")
    config = kubeconfig(tmp_path / "carl.kubeconfig", space.name, f'token: "{account(space, "carl")}"')

    def run(*words, code=0):
        at = words.index("--") if "--" in words else len(words)
        command = [MOBULA, *words[:at], "--kubeconfig", config, *words[at:]]
        out = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert out.returncode == code, out
        return out

    said = run("cloud", "register", "--name", "edge", "--provider", "generic", "--compute-stack", "k8s", "--region", "hall-2",
               "--kubernetes-zones", "a,b").stderr
    where = re.search(r"cldrsrc_\w{24}", said).group()
    eventually(lambda: where in run("cloud", "list").stdout)
    assert json.loads(run("cloud", "get", "--name", "edge", "-o", "json").stdout)["spec"]["zones"] == ["a", "b"]
    file = tmp_path / "config.yaml"
    file.write_text("zones: [a]\n")
    for version in (1, 2):
        assert run("compute-config", "create", "--name", "small", "-f", file, "-o", "name").stdout == f"small:{version}\n"
    run("job", "submit", "--name", "train", "--cloud", "edge", "--compute-config", "small:2", "--env", "A=1", "--", "python", "main.py")
    op = account(space, "edge-operator", operator_rule())
    work = eventually(lambda: hub.sync(op, where, wait=0)[1]["workloads"], 10)[0]
    assert (work["name"], work["spec"]["job"]["entrypoint"], work["spec"]["env"]) == ("train", "python main.py", {"A": "1"})
    for state, code in (("FAILED", 1), ("SUCCEEDED", 0)):
        hub.sync(op, where, statuses=[{"uid": work["uid"], "generation": 1, "state": state}], wait=0)
        assert state in run("job", "wait", "--name", "train", "--timeout", "10s", code=code).stderr
    run("job", "terminate", "--name", "train")
    assert space.api.get(space.path("workloads", "train", GROUP))["spec"]["terminate"] is True
    run("job", "delete", "--name", "train")
    assert "there is no cloud none in project" in run("cloud", "get", "--name", "none", code=1).stderr
    assert "give its URL" in run("job", "submit", "--name", "x", "--cloud", "edge", "--working-dir", ".", "--", "true", code=1).stderr
    run("job", "submit", "--cloud", "edge", "--", "true")  # it gets a name
    run("job", "status", code=2)
    assert "is not NAME=VALUE" in run("job", "submit", "--name", "x", "--cloud", "edge", "--env", "A", "--", "true", code=1).stderr
    run("job", "submit", "--name", "words", "--cloud", "edge", "--", "python", "-c", "print(1, 'two')")
    assert space.api.get(space.path("workloads", "words", GROUP))["spec"]["job"]["entrypoint"] == "python -c 'print(1, '\\''two'\\'')'"
    bad = {"status": {"state": "FAILED", "reason": "\x1b[2J"}}
    space.api.call("PATCH", space.path("workloads", "words", GROUP) + "/status", bad, "application/merge-patch+json")
    assert "FAILED" in run("job", "status", "--name", "words").stdout and "\x1b" not in run("job", "list").stdout


def call_all(hub, space, person):
    """Everything that people may ask for."""
    specs = {"clouds": ("Cloud", {"provider": "generic"}), "computeconfigs": ("ComputeConfig", {"zones": ["a"]}),
             "workloads": ("Workload", {"cloud": "edge", "cluster": {}})}
    for plural, (kind, spec) in specs.items():
        path = f"/v1/projects/{space.name}/{plural}"
        object = {"apiVersion": "mobula.dev/v1", "kind": kind, "metadata": {"name": "x-v1"}, "spec": spec}
        code, made = hub.ask("POST", path, person, object)
        assert code == 201, made
        assert hub.ask("GET", path, person)[0] == 200
        code, made = hub.ask("GET", f"{path}/x-v1", person)
        made["metadata"]["labels"] = {"a": "b"}
        assert code == 200 and hub.ask("PUT", f"{path}/x-v1", person, made)[0] in (200, 409)  # 409: its status is being written
        assert hub.ask("DELETE", f"{path}/x-v1", person)[0] == 200


def certificates_are_kept(space, hub):
    """What somebody has changed is written again."""
    for kind, name, data in (("secrets", "mobula-control-plane-tls", "tls.crt"), ("configmaps", "mobula-control-plane-ca", "ca.crt")):
        path = f"/api/v1/namespaces/{space.name}/{kind}/{name}"
        eventually(lambda path=path: space.find(path))
        before = space.api.call("PATCH", path, {"data": {data: ""}}, "application/merge-patch+json")
        hub.process.send_signal(signal.SIGHUP)
        eventually(lambda path=path, data=data: space.api.get(path)["data"][data])
        assert before["data"][data] == ""


def test_an_operator_does_what_the_control_plane_holds(space, hubs, operators, tmp_path):
    """Both ends are this program, each with the rights that its installation prints and none beside: a job becomes pods, its state comes
    back, a dead control plane ends nothing, and a deletion all. Every right is used."""
    audit, hub = Audit(), hubs("hub", "--https-addr=127.0.0.1:0", "--tls-secret=mobula-control-plane-tls")
    certificates_are_kept(space, hub)
    where = cloud(space)
    usual = ("--kinds=ray.io", "--namespace", space.name)
    more = ("--control-plane-url=https://hub.example", f"--cloud-deployment-id={where}")
    space.grant(*usual)
    token_file = tmp_path / "token"
    token_file.write_text(account(space, "edge-operator", operator_rule()))
    operator = operators(f"--control-plane-url=http://127.0.0.1:{hub.port}", f"--cloud-deployment-id={where}",
                         f"--control-plane-token-file={token_file}", "--kinds=ray.io", "--raycronjobs=false",
                         "--versionedservices=false", "--rayservices=false")
    packed = b"a zip file"
    work = job(space, "train", image="rayproject/ray:2.52.0", workingDir=f"upload:{hashlib.sha256(packed).hexdigest()}")
    eventually(lambda: 'cannot create resource "rayjobs"' in status(space, "train").get("message", ""))
    space.grant(*usual, *more)
    eventually(lambda: status(space, "train").get("state") == "STARTING")
    made = space.api.get(space.path("rayjobs", "train", V1))
    assert made["metadata"]["labels"]["mobula.dev/workload-uid"] == work["metadata"]["uid"]
    cluster = eventually(lambda: space.api.get(space.path("rayjobs", "train", V1)).get("status", {}).get("rayClusterName"))
    eventually(lambda: len(space.pods(cluster)) == 1)
    eventually(lambda: "is not stored yet" in status(space, "train").get("message", ""))
    everything = {"apiGroups": ["mobula.dev"], "resources": ["*"], "verbs": ["*"]}
    root = account(space, "root", everything)
    said = hub.ask("PUT", f"/v1/projects/{space.name}/workloads/train/folder", root, {"data": base64.b64encode(packed).decode()})
    assert said == (200, {}), said
    mounted = next(v["configMap"]["name"] for v in space.pods(cluster)[0]["spec"]["volumes"] if v["name"] == "mobula-files")
    stored = eventually(lambda: space.find(space.path("configmaps", mounted)))
    assert stored["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    assert [base64.b64decode(data) for data in stored["binaryData"].values()] == [packed]
    put(space, "Workload", "workloads", "stays", {"cloud": "edge", "cluster": {}, "image": "rayproject/ray:2.52.0"})
    eventually(lambda: space.find(space.path("rayclusters", "stays", V1)))

    hub.stop(signal.SIGKILL)
    eventually(lambda: "the control plane cannot be used" in operator.log())
    assert space.api.get(space.path("rayjobs", "train", V1))["metadata"]["uid"] == made["metadata"]["uid"]
    again = hubs("again", f"--http-addr=127.0.0.1:{hub.port}")
    kubectl("delete", "workload", "train", "stays", "-n", space.name, "--timeout=60s")
    eventually(lambda: not space.api.get(space.path("rayjobs", group=V1))["items"] and not space.pods(cluster))
    assert operator.log().count("remote write") == 5
    maps = space.path("configmaps")
    eventually(lambda: not [m for m in space.api.get(maps)["items"] if m["metadata"]["name"].startswith("mobula-dir-")])

    call_all(again, space, root)
    hub_user = f"system:serviceaccount:{space.name}:mobula-control-plane"
    entries = {user: [e for e in audit.entries(user) if "objectRef" in e] for user in (hub_user, operator.user)}
    refused = {what(e) for user in entries for e in entries[user] if e["responseStatus"]["code"] == 403}
    assert refused <= {"patch rayjobs"}, refused  # that was before it was granted
    reviews = {("authentication.k8s.io", "tokenreviews", "create"), ("authorization.k8s.io", "subjectaccessreviews", "create")}
    assert used(entries[hub_user]) == reviews | grants(objects("--control-plane", "--namespace", space.name))
    remote = grants(objects("--no-crds", *usual, *more)) - grants(objects("--no-crds", *usual))
    policy = {("", "configmaps", "list"), ("", "configmaps", "watch")}
    assert remote - policy == {("ray.io", "rayjobs", "create")}  # asked for silently, with the apply that makes the object
    beyond = {what(e) for e in entries[operator.user] if e["objectRef"].get("namespace") != space.name}
    assert beyond == {"create selfsubjectrulesreviews"}, "a look beyond the namespace"


def test_an_operator_that_is_restarted_has_its_cloud_at_once(space, hubs, operators, tmp_path):
    """Without a Lease: one that ends in order has given its cloud back; one that was killed is waited for."""
    hub, where = hubs(), cloud(space)
    space.grant("--control-plane-url=https://hub.example", f"--cloud-deployment-id={where}")
    token_file = tmp_path / "token"
    token_file.write_text(account(space, "edge-operator", operator_rule()))
    operator = operators(f"--control-plane-url=http://127.0.0.1:{hub.port}", f"--cloud-deployment-id={where}",
                         f"--control-plane-token-file={token_file}")

    def session():
        return space.api.get(space.path("clouds", "edge", GROUP))["status"].get("session", {})

    def run(name, seconds=PATIENCE):
        job(space, name, image="rayproject/ray:2.52.0")
        eventually(lambda: space.find(space.path("rayjobs", name, V1)), seconds)

    run("first")
    first = session()["instance"]
    assert operator.stop() == 0
    assert session()["instance"] == "" and session()["lease"] == ""
    operator.start()
    run("second")
    assert session()["instance"] not in ("", first) and not operator.lines("CloudInUse"), operator.log()
    operator.stop(signal.SIGKILL)
    operator.start().says("409 CloudInUse", f"held by instance {session()['instance']}")
    run("third", 90)


def agent_reports(space, pod, shown, folder):
    """`mobula agent` of the head does both, here beside a GCS that is not there, and a dashboard that is."""
    (container,) = [c for c in pod["spec"]["containers"] if c["name"] == "mobula-agent"]
    program, command, *args = container["command"]
    assert (program, command) == ("/mobula/mobula", "agent"), container
    token_file = folder / "pod.token"
    token_file.write_text(shown)
    log = folder / "agent.log"
    board = dashboards.Dashboard("127.0.0.1")
    with log.open("wb") as out:
        own = (f"--token-file={token_file}", f"--gcs-addr=127.0.0.1:{free_port()}", f"--dashboard-addr=127.0.0.1:{board.port}")
        agent = subprocess.Popen([MOBULA, "agent", *unless(own, *args), *own], stdout=out, stderr=out)
    try:
        said = eventually(lambda: (ray := status(space, "stays")["ray"])["health"] == "UNHEALTHY" and ray)
        assert "refused" in said["message"], said
        said = eventually(lambda: (ray := status(space, "stays")["ray"]).get("dashboard") and ray)
        assert (said["dashboard"], said["version"]) == ("HEALTHY", "2.60.0"), said
        shown = subprocess.run([MOBULA, "job", "status", "--name", "stays", "-n", space.name, "--kubeconfig", RUN / "admin.kubeconfig"],
                               capture_output=True, text=True, check=True).stdout.splitlines()
        assert shown[0].split() == ["NAME", "CLOUD", "STATE", "REASON", "RAY", "CREATED"] and " UNHEALTHY " in shown[1], shown
        resident = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{agent.pid}/status").read_text())
        assert int(resident.group(1)) <= 4096, resident.group()
        assert "sandbox=on" in log.read_text() and "eyJ" not in log.read_text()
    finally:
        agent.terminate()
        board.close()
        assert agent.wait(20) == 0, log.read_text()


def test_a_pod_gets_a_credential_and_reports(space, hubs, operators, tmp_path):
    """Its token is reviewed in its own cluster, by the operator; who it is not, is told why."""
    hub = hubs()
    where, elsewhere = cloud(space), cloud(space, "far")
    flags = ("--kinds=ray.io", "--namespace", space.name, "--control-plane-url=https://hub.example", f"--cloud-deployment-id={where}",
             "--agent")
    space.grant(*flags)
    token_file = tmp_path / "token"
    token_file.write_text(account(space, "edge-operator", operator_rule()))
    operators(f"--control-plane-url=http://127.0.0.1:{hub.port}", f"--cloud-deployment-id={where}",
              f"--control-plane-token-file={token_file}", "--kinds=ray.io", "--raycronjobs=false",
              "--rayservices=false", "--versionedservices=false", "--tools=configmap", "--agent=direct")
    put(space, "Workload", "workloads", "stays", {"cloud": "edge", "cluster": {}, "image": "rayproject/ray:2.52.0"})
    pods = eventually(lambda: space.pods("stays"))
    pod, uid = pods[0]["metadata"]["name"], pods[0]["metadata"]["uid"]

    def shown(audience="mobula.dev/bootstrap", pod=pod):
        bound = ("--bound-object-kind=Pod", f"--bound-object-name={pod}") if pod else ()
        return kubectl("create", "token", "default", "-n", space.name, f"--audience={audience}", *bound).stdout.strip()

    def bootstrap(token, cloud=where):
        return hub.ask("POST", "/v1/bootstrap", token, {"cloud": cloud})

    code, refused = bootstrap(shown())
    assert code == 401 and "tokenreviews" in refused["error"]["message"], refused  # the right is the cluster's, not the namespace's
    documents = [o for o in objects(*flags) if o["kind"].startswith("ClusterRole")]
    kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(o) for o in documents))
    try:
        code, given = eventually(lambda: (said := bootstrap(shown()))[0] == 200 and said)
        assert (given["podUid"], given["podName"]) == (uid, pod)
        for token, words in ((shown("https://kubernetes.default.svc"), "for the audience mobula.dev/bootstrap"),
                             (shown(pod=None), "no pod"), ("eyJ.no.token", "does not accept")):
            code, refused = bootstrap(token)
            assert code == 401 and words in refused["error"]["message"], refused
        assert bootstrap(None)[0] == 401 and bootstrap(shown(), "cldrsrc_" + 24 * "a")[0] == 404
        report = {"ray": {"health": "HEALTHY", "version": "2.52.0", "nodesAlive": 1, "nodesDead": 0}}
        assert hub.ask("POST", "/v1/report", given["credential"], report)[0] == 200
        assert status(space, "stays")["ray"]["nodesAlive"] == 1
        assert hub.ask("POST", "/v1/report", given["credential"], report)[0] == 429
        assert hub.ask("POST", "/v1/report", given["credential"].replace(where, elsewhere), report)[0] == 401
        assert hub.ask("GET", f"/v1/projects/{space.name}/workloads", given["credential"])[0] == 401
        assert "eyJ" not in hub.log()
        agent_reports(space, pods[0], shown(), tmp_path)
    finally:
        kubectl("delete", "-f", "-", "--ignore-not-found", stdin="\n---\n".join(json.dumps(o) for o in documents))


def test_the_control_plane_is_installed_and_taken_away(space):
    """The API server takes all of it as it stands, and nothing of it is left afterwards; an operator beside it stays."""
    flags = ("--control-plane", "--namespace", space.name)
    text = manifests(*flags)
    kubectl("apply", "--server-side", "--validate=strict", "-f", "-", stdin=text)
    kubectl("apply", "--validate=strict", "-f", "-", stdin=manifests("--no-crds", "--namespace", space.name))
    assert kubectl("diff", "--server-side", "-f", "-", stdin=text).stdout == ""
    gone = subprocess.run([MOBULA, "uninstall", "--apply", *flags], capture_output=True, text=True, timeout=120, check=False,
                          env={"KUBECONFIG": str(RUN / "admin.kubeconfig")})
    assert gone.returncode == 0, gone.stderr
    kinds = "deployments,services,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets"
    left = kubectl("-n", space.name, "get", kinds, "-o", "name").stdout.split()
    assert left and not [name for name in left if "control-plane" in name], left
    assert f"mobula-control-plane.{space.name}" not in kubectl("get", "clusterrolebindings", "-o", "name").stdout
