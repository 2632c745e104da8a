"""The commands that the documents print, typed in order against a control plane, and what they say when it does not go well."""

import base64
import hashlib
import io
import json
import os
import re
import stat
import threading
import zipfile

import pytest
import yaml

import archives
from cluster import RUN, V1, another_rig, eventually, kubectl, manifests, workspace
from hub import GROUP, PEOPLE, account, certificate, definitions, deployment_id, edge, hubs, meet, operator_rule, token  # noqa: F401
from processes import kubeconfig

pytestmark = pytest.mark.slow


@pytest.fixture
def person(space, hubs, tmp_path):  # noqa: F811
    return meet(space, hubs, tmp_path)


def report(person, operator, where, name, state, **more):
    uid = person.space.api.get(person.space.path("workloads", name, GROUP))["metadata"]["uid"]
    code, answer = person.hub.sync(operator, where, statuses=[{"uid": uid, "generation": 1, "state": state, **more}], wait=0)
    assert code == 200, answer


def spec(person, name, kind="clouds"):
    return person.space.api.get(person.space.path(kind, name, GROUP))["spec"]


def test_the_documents_commands_in_their_order(person, tmp_path):
    """With what stands in <angle brackets> there filled in, and mobula in the place of the original's name."""
    space, operator = person.space, account(person.space, "operator", operator_rule("prod"))
    said = person.login(account(space, "ann", *PEOPLE))
    file = person.home / "mobula" / "login"
    assert str(file) in said and stat.S_IMODE(file.stat().st_mode) == 0o600 and "eyJ" not in said

    said = person.type("cloud", "register", "--name", "prod", "--provider", "generic", "--compute-stack", "k8s", "--region", "hall-2",
                       "--cloud-storage-bucket-name", "s3://artifacts", "--cloud-storage-bucket-endpoint", "https://object.example/",
                       "--nfs-mount-target", "10.0.0.9", "--nfs-mount-path", "/export")
    where = deployment_id(said)
    assert f"mobula install --apply --namespace=ray --watch-namespace={space.name} --registryless --control-plane-token=prod" in said
    assert f"--control-plane-url=https://localhost:{person.port} --cloud-deployment-id={where}\n" in said
    for words in (f"kubectl -n {space.name} create token prod-operator --audience=mobula.dev/control-plane --duration=8760h > token",
                  "kubectl -n ray create secret generic prod --from-file=token",
                  "kubectl -n ray create configmap mobula-control-plane-ca --from-file=ca.crt\n"):
        assert f"  {words}" in said, said
    assert spec(person, "prod") == {"provider": "generic", "region": "hall-2", "networking": "private",
                                    "objectStorage": {"bucket": "s3://artifacts", "endpoint": "https://object.example/"},
                                    "fileStorage": {"nfs": {"server": "10.0.0.9", "path": "/export"}}}
    # "If you forget your cloud deployment ID, you can retrieve it"
    eventually(lambda: f"deploymentId: {where}" in person.type("cloud", "config", "get", "--name", "prod"))

    file = tmp_path / "config.yaml"
    file.write_text("cloud: prod\nzones: [a]\nhead_node: {instance_type: 2CPU-8GB}\n"
                    "worker_nodes: [{instance_type: 2CPU-8GB, min_nodes: 0, max_nodes: 5, market_type: PREFER_SPOT}]\n")
    assert person.type("compute-config", "create", "--name", "small", "-f", file, "-o", "name") == "small:1\n"

    said = person.type("job", "submit", "--cloud", "prod", "--working-dir",
                       "https://github.com/anyscale/docs_examples/archive/refs/heads/main.zip", "-o", "name", "--",
                       "python", "hello_world.py")
    name = said.strip()
    assert re.fullmatch(r"job-[a-z0-9]{5}", name)
    assert spec(person, name, "workloads")["workingDir"].startswith("https://github.com/")
    report(person, operator, where, name, "RUNNING")
    assert re.search(rf"{name} +prod +RUNNING", person.type("job", "list")) and "RUNNING" in person.type("job", "status", "--name", name)
    report(person, operator, where, name, "SUCCEEDED")
    assert "SUCCEEDED" in person.type("job", "wait", "--name", name)

    person.type("job", "delete", "--name", name)
    person.type("compute-config", "archive", "--name", "small-v1")
    person.type("cloud", "delete", "--name", "prod")
    assert "prod" not in person.type("cloud", "list")
    person.type("logout")
    assert not (person.home / "mobula" / "login").exists()
    assert "eyJ" not in person.hub.log()


def test_each_job_runs_in_the_cluster_of_its_cloud(person, operators, tmp_path):
    """Two clusters, each with its API server and its operator, call one control plane."""
    person.login(account(person.space, "ann", *PEOPLE))
    with another_rig("west") as api, workspace(api, person.space.name) as west:
        west.kubectl("apply", "-f", "-", stdin=manifests("--crds-only"))
        west.kubectl("wait", "--for=condition=Established", "crd/rayclusters.ray.io", "crd/rayjobs.ray.io", "--timeout=60s")
        spaces = {"east": person.space, "west": west}
        made = {name: edge(person, space, operators, tmp_path, name) for name, space in spaces.items()}
        for name in spaces:
            person.type("job", "submit", "--name", f"to-{name}", "--cloud", name, "--image-uri", "rayproject/ray:2.52.0", "--", "true")
        for name, space in spaces.items():
            eventually(lambda space=space: len(space.pods()) == 1)
            assert [j["metadata"]["name"] for j in space.api.get(space.path("rayjobs", group=V1))["items"]] == [f"to-{name}"]
            assert space.pods()[0]["metadata"]["name"].startswith(f"to-{name}-")
            eventually(lambda name=name: "STARTING" in person.type("job", "status", "--name", f"to-{name}"))
        assert made["west"].stop() == 0


def test_a_cloud_is_registered_with_the_words_of_both_documents(person):
    person.login(account(person.space, "ann", *PEOPLE))
    common = ("--region", "us-west-2", "--compute-stack", "k8s", "--kubernetes-zones", "us-west-2a,us-west-2b")
    said = person.type("cloud", "register", "--name", "old-aws", "--provider", "aws", *common, "--kubernetes-namespaces", "ray,other",
                       "--kubernetes-ingress-external-address", "ray.example",
                       "--kubernetes-dataplane-identity", "arn:aws:iam::1:role/data",
                       "--anyscale-iam-role-id", "arn:aws:iam::1:role/plane", "--s3-bucket-id", "arn:aws:s3:::bucket", "--efs-id", "fs-1")
    assert "--namespace=ray " in said and "--anyscale-iam-role-id: of no use here" in said
    old = spec(person, "old-aws")
    assert old == {"provider": "aws", "region": "us-west-2", "networking": "private", "zones": ["us-west-2a", "us-west-2b"],
                   "objectStorage": {"bucket": "s3://bucket"}, "fileStorage": {"id": "fs-1"}, "ingress": {"address": "ray.example"}}
    person.type("cloud", "register", "--name", "new-aws", "--provider", "aws", *common,
                "--anyscale-operator-iam-identity", "arn:aws:iam::1:role/op", "--cloud-storage-bucket-name",
                "s3://bucket", "--file-storage-id", "fs-1")
    assert spec(person, "new-aws") == {k: v for k, v in old.items() if k != "ingress"}
    person.type("cloud", "register", "--name", "old-gcp", "--provider", "gcp", "--region", "us-west1", "--compute-stack", "k8s",
                "--kubernetes-namespaces", "ray", "--kubernetes-ingress-external-address", "10.1.2.3", "--kubernetes-zones", "us-west1-a",
                "--kubernetes-dataplane-identity", "d@p.iam", "--project-id", "p", "--anyscale-service-account-email", "a@p.iam",
                "--provider-name", "pool", "--cloud-storage-bucket-name", "bucket", "--vpc-name", "vpc", "--filestore-instance-id", "fi",
                "--filestore-location", "us-west1-a")
    assert spec(person, "old-gcp")["objectStorage"] == {"bucket": "gs://bucket"}
    assert "only k8s is known" in person.type("cloud", "register", "--name", "vm", "--compute-stack", "vm", code=1)
    # what was registered can be changed, by flags and by a file, and null takes a member away
    person.type("cloud", "update", "--name", "new-aws", "--region", "us-east-1", "--networking-mode", "PUBLIC")
    change = person.home / "change.yaml"
    change.write_text("zones: [us-east-1a]\nfileStorage: null\n")
    person.type("cloud", "config", "update", "--name", "new-aws", "-f", change)
    assert spec(person, "new-aws") == {"provider": "aws", "region": "us-east-1", "networking": "public", "zones": ["us-east-1a"],
                                       "objectStorage": {"bucket": "s3://bucket"}}


def folder(path, **files):
    path.mkdir()
    for name, text in files.items():
        (path / name.replace("_", ".")).write_text(text)
    return path


@pytest.mark.parametrize("past", [False, True], ids=["through the control plane", "past it"])
def test_a_folder_goes_along_with_a_job(person, tmp_path, past):
    """Packed as a zip file that others can read, stored beside the workload, which owns it, by whoever may, through the API or past it."""
    space = person.space
    maps = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}
    bearer = account(space, "ann", *PEOPLE, *([maps] if past else []))
    person.login(bearer)
    way = ("--kubeconfig", kubeconfig(tmp_path / "ann.kubeconfig", space.name, f'token: "{bearer}"')) if past else ()
    person.type("cloud", "register", "--name", "edge", *way)
    work = folder(tmp_path / "work", main_py="print(1)\n" * 1000, secret_txt="password", _gitignore="*.txt\n", big_bin="x")
    (work / "link").symlink_to("/etc/passwd")
    (tmp_path / "requirements.txt").write_text("# ours\nemoji\n\nnumpy==2\n")
    said = person.type("job", "submit", "--name", "train", "--cloud", "edge", "--working-dir", work, "--exclude", "big.*", "--requirements",
                       tmp_path / "requirements.txt", "--py-modules", "https://a.example/m.zip", *way, "--", "python", "main.py")
    assert "left out: link: a symbolic link" in said and re.search(r"work: 2 files, packed \d+ bytes", said)
    made = spec(person, "train", "workloads")
    assert made["requirements"] == ["emoji", "numpy==2"] and made["pyModules"] == ["https://a.example/m.zip"]
    word, hash_of = made["workingDir"].split(":")
    workload = space.api.get(space.path("workloads", "train", GROUP))
    stored = space.api.get(space.path("configmaps", f"mobula-dir-{workload['metadata']['uid']}-{hash_of[:16]}"))
    assert stored["metadata"]["ownerReferences"][0]["uid"] == workload["metadata"]["uid"]
    packed = base64.b64decode(stored["binaryData"][f"{hash_of[:16]}.zip"])
    assert word == "upload" and hashlib.sha256(packed).hexdigest() == hash_of
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        assert files.testzip() is None and files.namelist() == ["dir/.gitignore", "dir/main.py"]
        assert files.read("dir/main.py") == b"print(1)\n" * 1000 and len(packed) < 1000


def test_another_reader_finds_all_entries(person, tmp_path):
    """Python's zipfile reads every kind of entry back: empty files and folders, other alphabets, bytes that do not compress."""
    space = person.space
    person.login(account(space, "ann", *PEOPLE))
    person.type("cloud", "register", "--name", "edge")
    work = archives.fill(tmp_path)
    person.type("job", "submit", "--name", "train", "--cloud", "edge", "--working-dir", work, "--", "python", "main.py")
    [stored] = [m for m in space.api.get(space.path("configmaps"))["items"] if m["metadata"]["name"].startswith("mobula-dir-")]
    [packed] = stored["binaryData"].values()
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(packed))) as files:
        assert files.testzip() is None
        names = set(files.namelist())
        assert {f"dir/{name}": files.read(f"dir/{name}") for name in archives.NAMES} == {f"dir/{n}": t for n, t in archives.NAMES.items()}
        assert {f"dir/{name}/" for name in archives.EMPTY} <= names, names
        assert not [i.filename for i in files.infolist() if i.filename.startswith("/") or ".." in i.filename]


def test_a_folder_that_cannot_go_along(person, tmp_path):
    person.login(account(person.space, "ann", *PEOPLE))
    person.type("cloud", "register", "--name", "edge")
    submit = ("job", "submit", "--name", "train", "--cloud", "edge", "--working-dir")
    large = folder(tmp_path / "large", main_py="x")
    (large / "noise").write_bytes(os.urandom(600_000))
    said = person.type(*submit, large, "--", "true", code=1)
    assert "(2 files, 600001 bytes) packs to more than the 524288 bytes that the control plane stores" in said
    assert "The largest, in bytes: noise 600000, main.py 1." in said and "--exclude '/noise'" in said
    assert "No such file" in person.type(*submit, tmp_path / "none", "--", "true", code=1)
    assert "no file in it" in person.type(*submit, folder(tmp_path / "empty"), "--", "true", code=1)
    assert "train" not in person.type("job", "list")
    # where it cannot be stored there is no job that waits for it
    bearer = account(person.space, "carl", *PEOPLE)
    config = kubeconfig(tmp_path / "carl.kubeconfig", person.space.name, f'token: "{bearer}"')
    said = person.type(*submit, folder(tmp_path / "small", main_py="x"), "--kubeconfig", config, "--", "true", code=1)
    assert "configmaps" in said and "the job is deleted" in said
    left = person.space.find(person.space.path("workloads", "train", GROUP))  # it stays until its operator has seen that it goes
    assert not left or left["metadata"]["deletionTimestamp"]


def test_what_an_operator_reports_is_shown(person):
    operator = account(person.space, "operator", operator_rule())
    person.login(account(person.space, "ann", *PEOPLE))
    where = deployment_id(person.type("cloud", "register", "--name", "edge"))
    assert re.search(r"OPERATOR +FAILED +does not call.*never", person.type("cloud", "verify", "--name", "edge", code=3))
    assert "has reported no nodes" in person.type("node", "list", "--cloud", "edge", code=1)
    checks = [{"name": "KUBERNETES_VERSION", "state": "OK"}, {"name": "STORAGE_BUCKET", "state": "ERROR", "message": "no bucket"}]
    nodes = [{"name": "gpu-1", "zone": "a", "cpu": "64", "memory": "256Gi", "gpu": "8"}]
    for components, code in ((checks[:1], 0), (checks, 3)):
        health = {"checkedAt": "2026-11-25T10:00:00Z", "components": components}
        assert person.hub.sync(operator, where, health=health, nodes={"hash": "1", "items": nodes}, wait=0)[0] == 200
        said = eventually(lambda code=code: person.type("cloud", "verify", "--name", "edge", code=code))
        assert re.search(r"OPERATOR +PASSED", said) and re.search(r"KUBERNETES_VERSION +PASSED", said)
    assert re.search(r"STORAGE_BUCKET +FAILED +no bucket", said)
    assert re.search(r"gpu-1 +a +64 +256Gi +8", person.type("node", "list", "--cloud", "edge"))


def test_waiting_for_a_job(person):
    """0: it succeeded; 1: it did not; 3: it goes on."""
    operator = account(person.space, "operator", operator_rule())
    person.login(account(person.space, "ann", *PEOPLE))
    where = deployment_id(person.type("cloud", "register", "--name", "edge"))
    person.type("job", "submit", "--name", "train", "--cloud", "edge", "--", "python", "main.py")
    wait = ("job", "wait", "--name", "train")
    assert "has not ended within --timeout" in person.type(*wait, "--timeout", "1s", code=3)

    def interrupt(process):
        process.stdin.close()
        process.stdin = None
        eventually(lambda: process.stderr.readline().startswith("job train: "))
        process.terminate()

    assert "ended by a signal; the job goes on" in person.type(*wait, code=3, after=interrupt, stdin=None)
    report(person, operator, where, "train", "FAILED", message="exit status 2")
    assert "FAILED: exit status 2" in person.type(*wait, code=1)
    assert "there is no job none in project" in person.type("job", "wait", "--name", "none", code=1)
    person.type("job", "terminate", "--name", "train")
    assert spec(person, "train", "workloads")["terminate"] is True


def test_a_job_is_waited_for_while_the_control_plane_is_away(person):
    """However long: the job goes on without it, and a status of 1 would say that it has failed."""
    operator = account(person.space, "operator", operator_rule())
    person.login(account(person.space, "ann", *PEOPLE))
    where = deployment_id(person.type("cloud", "register", "--name", "edge"))
    person.type("job", "submit", "--name", "train", "--cloud", "edge", "--", "true")

    def stop(process):
        eventually(lambda: process.stderr.readline().startswith("job next: "))
        person.hub.stop()

    def answer(process):
        assert re.search("no answer|the operator of cloud", process.stderr.readline())
        assert "is asked about until there is an answer" in process.stderr.readline()
        report(person, operator, where, "train", "SUCCEEDED", message="log:\none\ntwo")

    said = person.type("job", "logs", "-f", "train", after=answer)
    assert said.startswith("one\ntwo\n") and "its log is gone: these are the last lines, from its status" in said, said
    person.type("job", "submit", "--name", "next", "--cloud", "edge", "--", "true")
    said = person.type("job", "wait", "next", "--timeout", "15s", code=3, after=stop)
    assert "asked about until there is an answer" in said and "has not ended within --timeout" in said


def test_names_and_what_is_said_of_them(person, tmp_path):
    """A name needs no --name, one that is not there gets the nearest, and a job for a cloud that nobody has registered is none."""
    operator = account(person.space, "operator", operator_rule())
    person.login(account(person.space, "ann", *PEOPLE))
    where = deployment_id(person.type("cloud", "register", "--name", "edge"))
    person.type("cloud", "register", "--name", "a-cloud-with-a-longer-name")
    head, *rows = person.type("cloud", "list").splitlines()
    assert len(rows) == 2 and all(row.index("generic") == head.index("PROVIDER") for row in rows)
    assert "exists (use another name)" in person.type("cloud", "register", "--name", "edge", code=1)
    assert "did you mean edge?" in person.type("cloud", "get", "edg", code=1)
    assert "did you mean edge?" in person.type("node", "list", "egde", code=1)
    assert "did you mean edge?" in person.type("job", "submit", "--cloud", "eddge", "--", "true", code=1)
    assert person.type("job", "list", "-o", "name") == ""
    for name, cloud in (("train", "edge"), ("other", "a-cloud-with-a-longer-name")):
        said = person.type("job", "submit", "--name", name, "--cloud", cloud, "--", "true")
        assert re.search(rf"{name} +{cloud} +PENDING", said)
    assert person.type("job", "list", "--cloud", "edge", "-o", "name") == "train\n"
    text = person.type("job", "list", "--cloud", "edge", "-o", "json")
    assert [j["metadata"]["name"] for j in json.loads(text)["items"]] == ["train"] and "managedFields" not in text
    assert "managedFields" not in person.type("job", "status", "train", "-o", "yaml")
    report(person, operator, where, "train", "FAILED", message="exit status 2\nlog:\none\ntwo\nthree")
    assert "job train: FAILED: exit status 2\n    log:\n    one\n" in person.type("job", "status", "train")
    assert person.type("job", "wait", "train", code=1).count("FAILED: exit status 2\n    log:\n    one\n") == 1
    assert person.type("job", "logs", "-f", "train", "--tail", "2").startswith("two\nthree\n")
    person.type("job", "submit", "--name", "no", "--cloud", "edge", "--", "true")
    report(person, operator, where, "no", "REFUSED", message="policy: frozen")
    said = person.type("job", "wait", "no", code=1)
    assert "is refused, and starts by itself when the policy or the namespaces there are put right: mobula job terminate no" in said
    assert "train is being deleted" in person.type("job", "delete", "train")
    assert re.search(r"train +edge +DELETING", person.type("job", "list"))
    assert "want mobula job submit|list|" in person.type("job", "submti", code=2)
    assert "a command behind -- are needed" in person.type("job", "submit", "--cloud", "edge", "main.py", code=2)
    assert "-o is table, json" in person.type("job", "list", "-o", "wide", code=2)


def test_a_compute_config_with_a_mistake_is_not_stored(person, tmp_path):
    """Neither by the command, which says where it is, nor by the control plane, whose API server would drop what it does not know."""
    bearer = account(person.space, "ann", *PEOPLE)
    person.login(bearer)
    file = tmp_path / "small.yaml"
    file.write_text("head_nod: {required_resources: {CPU: 1, memory: 2Gi}}\n")
    said = person.type("compute-config", "create", "--name", "small", "-f", file, code=1)
    assert f"{file}:1: head_nod: is no field of a compute config" in said
    body = {"apiVersion": "mobula.dev/v1", "kind": "ComputeConfig", "metadata": {"name": "small-v1"}, "spec": {"head_nod": {}}}
    code, answer = person.hub.ask("POST", f"/v1/projects/{person.space.name}/computeconfigs", bearer, body)
    assert code == 400 and 'unknown field "spec.head_nod"' in answer["error"]["message"]
    file.write_text("head_node: {required_resources: {CPU: 1, memory: 2Gi}}\n")
    for version in (1, 2):
        assert person.type("compute-config", "create", "small", "-f", file, "-o", "name") == f"small:{version}\n"
    assert person.type("compute-config", "get", "small:1", "-o", "name") == "small:1\n"
    assert "small:2" in person.type("compute-config", "get", "small")  # the newest


def test_the_log_that_is_gone_with_its_cluster(person):
    """What was shown before is not undone by it, nobody waits for it, and status says what is kept."""
    space, operator = person.space, account(person.space, "operator", operator_rule())
    person.login(account(space, "ann", *PEOPLE))
    where = deployment_id(person.type("cloud", "register", "--name", "edge"))
    person.type("job", "submit", "--name", "train", "--cloud", "edge", "--", "true")
    answers = [{"text": "one\ntwo\n"}, {"error": "the log is gone", "code": 404}, {"error": "the log is gone", "code": 404}]

    def answer():
        told, revision = [], ""
        while answers or told:
            code, news = person.hub.sync(operator, where, revision=revision, answers=told, wait=1)
            assert code == 200, news
            revision = news["revision"]
            told = [{"id": q["id"], "kind": "logTail", **answers.pop(0)} for q in news.get("questions", [])]
            if len(answers) == 2 and told:
                report(person, operator, where, "train", "SUCCEEDED")

    thread = threading.Thread(target=answer)
    thread.start()
    said = person.type("job", "logs", "-f", "train")
    assert said.startswith("one\ntwo\n") and "the log may have gone on: 404: the operator of cloud" in said
    said = person.type("job", "logs", "-f", "train", code=1)
    assert "job train is over, and its status has no lines of its log: 404: the operator of cloud" in said, said
    thread.join(30)
    assert not thread.is_alive() and not answers, "each question was asked once"


def test_the_log_of_a_job_is_asked_of_its_operator(person):
    space, operator = person.space, account(person.space, "operator", operator_rule())
    person.login(account(space, "ann", *PEOPLE))
    where = deployment_id(person.type("cloud", "register", "--name", "edge"))
    person.type("job", "submit", "--name", "train", "--cloud", "edge", "--", "python", "main.py")
    lines, over = [f"line {i}" for i in range(30)], threading.Event()

    def answer():
        """As the operator: each window of ten lines is six lines further."""
        answers, revision, at = [], "", 10
        while not over.is_set():
            code, news = person.hub.sync(operator, where, revision=revision, answers=answers, wait=1)
            assert code == 200, news
            revision, answers = news["revision"], []
            for question in news.get("questions", []):
                answers.append({"id": question["id"], "kind": "logTail", "text": "\n".join(lines[at - 10:at]) + "\n"})
                at = min(at + 6, 30)
                if at == 30:
                    report(person, operator, where, "train", "SUCCEEDED")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        assert person.type("job", "logs", "--name", "train", "--tail", "10") == "\n".join(lines[:10]) + "\n"
        assert person.type("job", "logs", "--name", "train", "-f", "--tail", "10") == "\n".join(lines[6:]) + "\n"
    finally:
        over.set()
        thread.join()
    assert "from 1 to 10000" in person.type("job", "logs", "--name", "train", "--tail", "10001", code=1)


def test_a_cloud_goes_when_its_work_is_over(person):
    space, operator = person.space, account(person.space, "operator", operator_rule())
    person.login(account(space, "ann", *PEOPLE))
    where = deployment_id(person.type("cloud", "register", "--name", "edge"))
    person.type("cloud", "register", "--name", "other")
    for name in ("over", "runs"):
        person.type("job", "submit", "--name", name, "--cloud", "edge", "--", "true")
    report(person, operator, where, "over", "SUCCEEDED")
    said = person.type("cloud", "delete", "--name", "edge", code=1)
    assert "Cloud edge: 1 workloads of it have not ended, such as runs: end them (mobula job terminate), or give --force" in said
    person.type("cloud", "delete", "--name", "other")
    report(person, operator, where, "runs", "FAILED")
    person.type("cloud", "delete", "--name", "edge")
    person.type("cloud", "register", "--name", "edge")
    person.type("job", "submit", "--name", "again", "--cloud", "edge", "--", "true")
    person.type("cloud", "delete", "--name", "edge", "--force")
    assert "edge" not in person.type("cloud", "list")


@pytest.mark.parametrize("form", ["table", "yaml", "json", "name"])
def test_every_list_in_every_form(person, tmp_path, form):
    space, operator = person.space, account(person.space, "operator", operator_rule())
    person.login(account(space, "ann", *PEOPLE))
    where = deployment_id(person.type("cloud", "register", "--name", "edge"))
    node = {"name": "gpu-1", "zone": "a", "cpu": "8", "memory": "32Gi", "gpu": "1", "accelerator": "T4", "pressure": ["NotReady"]}
    code, answer = person.hub.sync(operator, where, wait=0, nodes={"hash": "a", "items": [node]})
    assert code == 200, answer
    (tmp_path / "c.yaml").write_text("zones: [a]\nhead_node: {instance_type: 2CPU-8GB}\n")
    person.type("compute-config", "create", "--name", "small", "-f", tmp_path / "c.yaml")
    person.type("job", "submit", "--name", "train", "--cloud", "edge", "--", "true")
    said = person.type("cloud", "verify", "--name", "edge", "-o", form)
    if form in ("yaml", "json"):
        assert [row["name"] for row in (yaml.safe_load(said) if form == "yaml" else json.loads(said))] == ["OPERATOR"], said
    assert form != "name" or said == "OPERATOR\n", said
    for words, named in ((("cloud", "list"), "edge"), (("cloud", "get", "--name", "edge"), "edge"), (("job", "list"), "train"),
                         (("job", "status", "--name", "train"), "train"), (("compute-config", "list"), "small:1"),
                         (("compute-config", "get", "--name", "small-v1"), "small:1"), (("node", "list", "--cloud", "edge"), "gpu-1")):
        said = person.type(*words, "-o", form)
        one = words[1] not in ("list",)
        if form in ("yaml", "json"):
            read = yaml.safe_load(said) if form == "yaml" else json.loads(said)
            named = named.replace(":", "-v")  # as the API server names the object
            assert named in json.dumps(read), (words, said)
            assert one or words[0] == "node" or [o["metadata"]["name"] for o in read["items"]] == [named], (words, said)
        elif form == "name":
            assert said == f"{named}\n", (words, said)
        else:
            head, row = said.splitlines()[:2]
            assert head.startswith("NAME") and row.startswith(named), (words, said)


def test_what_goes_wrong_is_said_with_what_to_do(person, tmp_path):
    space = person.space
    kubectl("create", "serviceaccount", "gone", "-n", space.name)
    bearer = token(space, "gone")
    assert "no token for" in person.type("cloud", "list", "--server", "https://localhost:1", code=1)
    assert "unknown CA" in person.type("login", "--server", f"https://localhost:{person.port}", stdin=bearer, code=1)
    (tmp_path / "other").mkdir()
    other, _ = certificate(tmp_path / "other")
    said = person.type("login", "--server", f"https://localhost:{person.port}", "--ca-file", other, stdin=bearer, code=1)
    assert "mobula login --ca-file FILE" in said
    said = person.type("login", "--server", f"https://127.0.0.1:{person.port}", "--ca-file", person.ca, stdin=bearer, code=1)
    assert "name the server as its certificate does" in said
    assert "https:// is needed" in person.type("login", "--server", "http://10.0.0.1", stdin=bearer, code=1)
    assert "does not accept the token" in person.login("none.of.these", code=1)
    assert not (person.home / "mobula" / "login").exists(), "nothing is kept that does not work"
    person.login(bearer)
    assert "403" in (said := person.type("cloud", "list", code=1)) and "have this verb given to the user by a Role" in said
    kubectl("delete", "serviceaccount", "gone", "-n", space.name)
    eventually(lambda: "it has expired or was revoked" in person.type("cloud", "list", code=1))
    (person.home / "mobula" / "login").chmod(0o644)
    assert "can be read by others" in person.type("cloud", "list", code=1)
    (person.home / "mobula" / "login").chmod(0o600)
    person.hub.stop()
    assert "does it run, and does this machine reach it" in person.type("cloud", "list", code=1)


def test_a_kubeconfig_goes_past_the_control_plane(person, tmp_path):
    space = person.space
    bearer = account(space, "carl", *PEOPLE)
    person.login(bearer)
    person.hub.stop()
    config = kubeconfig(tmp_path / "carl.kubeconfig", space.name, f'token: "{bearer}"')
    person.type("cloud", "register", "--name", "edge", "--kubeconfig", config)
    assert json.loads(person.type("cloud", "get", "--name", "edge", "-o", "json", "--kubeconfig", config))["spec"]["provider"] == "generic"
    person.type("job", "submit", "--name", "train", "--cloud", "edge", "--kubeconfig", config, "--", "true")
    assert "has no RayJob yet" in person.type("job", "logs", "--name", "train", "--kubeconfig", config, code=1)
    person.type("job", "terminate", "--name", "train", "--kubeconfig", config)
    assert spec(person, "train", "workloads")["terminate"] is True


def test_a_ca_for_the_control_plane_alone(person, operators, tmp_path):
    """--egress-ca-file stands beside the control plane's own CA, as behind a proxy that opens TLS, and is nothing to the API server."""
    space = person.space
    person.login(account(space, "ann", *PEOPLE))
    where = deployment_id(person.type("cloud", "register", "--name", "edge", "--provider", "generic", "--region", "hall-2"))
    (tmp_path / "other").mkdir()
    other, _ = certificate(tmp_path / "other")
    bearer = tmp_path / "edge.token"
    bearer.write_text(account(space, "edge", operator_rule("edge")))
    space.grant("--control-plane-url=https://hub.example", f"--cloud-deployment-id={where}")
    flags = (f"--cloud-deployment-id={where}", f"--control-plane-url=https://localhost:{person.port}",
             f"--control-plane-token-file={bearer}", f"--control-plane-ca-file={other}")
    without = operators(*flags)
    without.says("certificate is signed")
    assert "HEALTHY" not in person.type("cloud", "list").replace("UNHEALTHY", "")
    without.stop()
    operators(*flags, f"--egress-ca-file={person.ca}")
    eventually(lambda: re.search(r"edge +generic +hall-2 +HEALTHY", person.type("cloud", "list")))

    config = kubeconfig(tmp_path / "config", space.name, 'token: "t"', ca=other)
    refused = operators(*flags, f"--egress-ca-file={RUN / 'pki' / 'ca.crt'}", config=config)
    refused.says("the API server cannot be used", "step=tls-trust")
