"""`mobula agent --bucket` stores log files while they are written; `mobula logs` reads them from the bucket."""

import gzip
import json
import os
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

from cluster import LEGACY, MOBULA, PATIENCE, RUN, container, eventually, raycluster
from dashboards import running, start
from hub import certificate
from processes import config_of
from stores import KEYS, free_port, run_versitygw, store  # noqa: F401 (store is a fixture)
from test_storage import storage

NAME = "ns/c/c-head.0123"


def clean(**more):
    return {**{k: v for k, v in os.environ.items() if not k.startswith("AWS_")}, **KEYS, "HOME": "/nonexistent", **more}


class Agent:
    def __init__(self, store, root, *flags, name=NAME, bucket="s3://bucket/team"):  # noqa: F811
        self.log = root.parent / f"agent-{time.monotonic_ns()}.log"
        command = [MOBULA, "agent", f"--bucket={bucket}", f"--logs-name={name}", f"--logs-dir={root}", f"--endpoint={store.url}",
                   "--logs-every=1s", *flags]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=clean())

    def kill(self):
        self.process.kill()
        self.process.wait(20)

    def end(self):
        eventually(lambda: "msg=started" in self.log.read_text())
        self.process.terminate()
        assert self.process.wait(40) == 0, self.log.read_text()
        text = self.log.read_text()
        assert KEYS["AWS_SECRET_ACCESS_KEY"] not in text
        return text


def names(store, prefix):  # noqa: F811
    return [line[34:] for line in storage(store, "ls", f"s3://bucket/{prefix}", "--recursive").decode().splitlines()]


def content(store, name=NAME, file="", prefix="team/"):  # noqa: F811
    """{file: content} of what is in the bucket, by the names of the objects alone."""
    found = {}
    for one in sorted(names(store, f"{prefix}logs/{name}/{file}")):
        match = re.fullmatch(rf"{prefix}logs/{name}/(.*)/([0-9a-f]{{16}})-(\d{{12}})\.gz", one)
        assert match, one
        piece = gzip.decompress(storage(store, "get", f"s3://bucket/{one}"))
        generation = found.setdefault(match[1], {}).setdefault(match[2], b"")
        assert len(generation) == int(match[3]), (one, len(generation))  # neither a gap nor an overlap
        found[match[1]][match[2]] += piece
    return {file: b"".join(text for _, text in sorted(all.items())) for file, all in found.items()}


class Ray(threading.Thread):
    """Writes lines to several files until it is told to stop, and renames one of them again and again, as Ray's rotation does."""

    def __init__(self, logs, files=4):
        super().__init__(daemon=True)
        self.logs, self.files, self.stop, self.lines = logs, [f"worker-{n}.out" for n in range(files)] + ["raylet.out"], False, 0

    def run(self):
        wide = "x" * 300
        while not self.stop:
            self.lines += 1
            for file in self.files:
                with (self.logs / file).open("a") as f:
                    f.write(f"line {self.lines} of {file} {wide}\n")
            if self.lines % 500 == 0:
                os.replace(self.logs / "raylet.out", self.logs / f"raylet.{self.lines // 500}.out")
            time.sleep(0.001)


def ray_folder(tmp_path, session="session_2026-01-01_00-00-00_000000_1"):
    logs = tmp_path / "ray" / session / "logs"
    (logs / "serve").mkdir(parents=True)
    (tmp_path / "ray" / "session_latest").symlink_to(session)
    return tmp_path / "ray", logs


def test_every_line_once(store, tmp_path):  # noqa: F811
    root, logs = ray_folder(tmp_path)
    (logs / "serve" / "replica.log").write_text("deep\n")
    (logs / "link.log").symlink_to("/etc/passwd")
    (logs / "large.log").write_bytes(b"".join(b"%07d %s\n" % (n, os.urandom(40).hex().encode()) for n in range(40000)))
    (logs / "one-line.log").write_bytes(b"y" * 2_500_000)
    ray = Ray(logs)
    ray.start()
    for _ in range(4):  # killed at any place, and another one goes on
        agent = Agent(store, root)
        time.sleep(2.6)
        agent.kill()
        time.sleep(0.5)  # what the killed one has sent arrives
    agent = Agent(store, root)
    time.sleep(2)
    ray.stop = True
    ray.join()
    with (logs / "worker-0.out").open("a") as f:
        f.write("no newline at the end")
    said = agent.end()
    assert "lost" not in said and "are not logs of this pod" not in said, said
    found = content(store)
    for file in ("worker-0.out", "worker-3.out", "large.log", "one-line.log", "serve/replica.log"):
        assert found[file] == (logs / file).read_bytes(), (file, len(found[file]), (logs / file).stat().st_size)
    assert "link.log" not in found
    rotated = sorted(logs.glob("raylet.*.out"), key=lambda path: int(path.name.split(".")[1]))
    want = b"".join(path.read_bytes() for path in [*rotated, logs / "raylet.out"] if path.exists())
    have = b"".join(text for file, text in sorted(found.items(), key=lambda item: item[0]) if file.startswith("raylet"))
    assert len(have.splitlines()) == len(set(have.splitlines())), names(store, f"team/logs/{NAME}/raylet")
    assert sorted(have.splitlines()) == sorted(want.splitlines())
    for name in names(store, "team/"):
        storage(store, "rm", f"s3://bucket/{name}")


def test_the_store_is_away(tmp_path):
    """What is written meanwhile is shipped later, also that of a file that was removed; a file that begins again is another generation."""
    gate = run_versitygw(tmp_path)
    gate.bucket("bucket")
    root, logs = ray_folder(tmp_path)
    (logs / "a.log").write_text("first\n")
    agent = Agent(gate, root)
    try:
        eventually(lambda: "a.log" in content(gate))
        gate.process.terminate()
        gate.process.wait(20)
        (logs / "a.log").write_text("")
        (logs / "removed.log").write_text("last words\n" * 100)
        time.sleep(2.5)
        (logs / "removed.log").unlink()
        (logs / "a.log").write_text("again\n")
        time.sleep(2.5)
        gate.start()
        eventually(lambda: content(gate).get("removed.log") == b"last words\n" * 100, 60)
        eventually(lambda: content(gate).get("a.log") == b"first\nagain\n", 60)
        said = agent.end()
        assert "lost" not in said, said
    finally:
        agent.process.kill()
        gate.stop()


def logs(store, *words, code=0, **env):  # noqa: F811
    out = subprocess.run([MOBULA, "logs", *words, "--bucket=s3://bucket/team", f"--endpoint={store.url}"], capture_output=True, timeout=120,
                         check=False, env=clean(KUBECONFIG="/nonexistent", **env))
    assert out.returncode == code, out
    return out.stdout.decode(), out.stderr.decode()


def test_reading_back(store, tmp_path):  # noqa: F811
    """After the cluster is gone: a list of what there is, a file, the driver's log of a job, all files in a folder."""
    head = tmp_path / "head"
    head.mkdir()
    root, folder = ray_folder(head)
    (folder / "job-driver-j-abcde.log").write_text("hello\nworld\n")
    (folder / "raylet.out").write_text("raylet 1\n" * 150000)
    (folder / "serve" / "replica.log").write_text("served\n")
    uid = "-".join(["0" * 8, "1" * 4, "2" * 4, "3" * 4, "4" * 12])
    for cluster, node in (("j-fghij", "j-fghij-head"), ("j-fghij", "j-fghij-g-worker-0"), ("other", "other-head")):
        Agent(store, root, name=f"ns/{cluster}/{node}.{uid}").end()
    listed, _ = logs(store, "cluster", "j-fghij", "-n", "ns")
    assert [line[34:] for line in listed.splitlines()] == [
        f"j-fghij/{node}.{uid}/{file}" for node in ("j-fghij-g-worker-0", "j-fghij-head")
        for file in ("job-driver-j-abcde.log", "raylet.out", "serve/replica.log")]
    assert logs(store, "cluster", "j-fghij", "-n", "ns", "--since", "1h")[0] == listed
    text, said = logs(store, "cluster", "j-fghij", "-n", "ns", "--node", "j-fghij-head", "--file", "raylet.out")
    assert text == "raylet 1\n" * 150000, said
    text, said = logs(store, "service", "j", "-n", "ns", "--file", "serve/*")
    assert text == "served\n" * 2 and said.count("==> j-fghij/") == 2
    assert logs(store, "service", "j", "-n", "ns", "--file", "s*/rep*.log")[0] == text
    said = logs(store, "cluster", "j-fghij", "-n", "ns", "--file", "worker-*.out", code=1)[1]
    assert "has logs of j-fghij, but none that --node, --file and --since leave" in said, said
    assert logs(store, "job", "j", "-n", "ns")[0] == "hello\nworld\n"  # its API server is away
    to = tmp_path / "got"
    to.mkdir()
    stranger = ["curl", "-sf", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", ":".join(list(KEYS.values())[:2]), "--path-as-is",
                f"{store.url}/bucket/team/logs/ns/j-fghij/../evil/{'0' * 16}-{'0' * 12}.gz"]
    if store.kind == "moto":  # as any pod with the bucket's keys can store it; the other store refuses the name
        subprocess.run([*stranger, "-T", root / "session_latest" / "logs" / "raylet.out"], check=True)
        assert "/ns/j-fghij/../evil/" in storage(store, "ls", "s3://bucket/team/", "--recursive").decode()
    said = logs(store, "job", "j", "-n", "ns", "--download", str(to))[1]
    assert "6 files below" in said, said
    assert (to / f"j-fghij/j-fghij-head.{uid}/raylet.out").read_text() == "raylet 1\n" * 150000
    assert len([p for p in to.rglob("*") if p.is_file()]) == 6
    if store.kind == "moto":
        subprocess.run([*stranger, "-X", "DELETE"], check=True)
    assert "has no such logs below team/logs/ns/none/" in logs(store, "cluster", "none", "-n", "ns", code=1)[1]
    assert "--bucket is needed" in subprocess.run([MOBULA, "logs", "service", "j"], capture_output=True, text=True, check=False).stderr
    one = f"team/logs/ns/j-fghij/j-fghij-head.{uid}/raylet.out/"
    first = sorted(names(store, one))[0]
    (tmp_path / "garbage").write_bytes(b"\x1f\x8b\x08\x00garbage that is no gzip file")
    storage(store, "put", f"s3://bucket/{first}", "-f", tmp_path / "garbage")
    assert "raylet.out" in logs(store, "cluster", "j-fghij", "-n", "ns", "--node", "j-fghij-head", "--file", "raylet.out", code=1)[1]
    storage(store, "rm", f"s3://bucket/{first}")
    said = logs(store, "cluster", "j-fghij", "-n", "ns", "--node", "j-fghij-head", "--file", "raylet.out")[1]
    assert "bytes before byte" in said and "are not in the bucket" in said, said
    for name in names(store, "team/"):
        storage(store, "rm", f"s3://bucket/{name}")


def bucket_with_keys(tmp_path):
    """A store with a bucket, and a folder with its keys as a mounted Secret has them."""
    gate, secret = run_versitygw(tmp_path), tmp_path / "secret"
    gate.bucket("bucket")
    secret.mkdir()
    for name, value in KEYS.items():
        (secret / name).write_text(value)
    return gate, secret


def bucket_of_an_operator(tmp_path):
    """A store, and the flags of an operator that stores logs there."""
    gate, secret = bucket_with_keys(tmp_path)
    return gate, ("--bucket=s3://bucket/team", f"--bucket-credentials-dir={secret}", f"--bucket-endpoint={gate.url}")


def test_an_operator_with_a_bucket(space, operators, tmp_path):
    """Every pod of Ray gets the container, with the bucket's Secret and CA; STORAGE_BUCKET names what is missing."""
    gate, secret = bucket_with_keys(tmp_path)
    port = free_port()
    ca, _ = certificate(tmp_path)
    flags = ("--bucket-secret=keys", f"--bucket-credentials-dir={secret}", f"--bucket-endpoint={gate.url}",
             f"--status-addr=127.0.0.1:{port}")

    def health():
        try:
            text = urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz/run").read()
        except urllib.error.HTTPError as e:
            text = e.read()
        except OSError:
            return None
        row = next((line for line in text.decode().splitlines() if line.startswith("STORAGE_BUCKET")), "")
        return row if "NotChecked" not in row else None

    try:
        first = operators("--bucket=s3://bucket/team", f"--bucket-ca-file={ca}", *flags)
        assert "OK      Usable" in eventually(health), health()
        space.apply(raycluster("c"))
        pods = eventually(lambda: (got := space.pods("c")) and len(got) == 2 and got)
        for pod in pods:
            (agent,) = [one for one in pod["spec"]["containers"] if one["name"] == "mobula-agent"]
            name = pod["metadata"]["name"]
            assert f"--logs-name={space.name}/c/$(POD_NAME).$(POD_UID)" in agent["command"], agent
            assert {"--bucket=s3://bucket/team", f"--endpoint={gate.url}"} < set(agent["command"]), agent
            assert pod["metadata"]["annotations"]["mobula.dev/bucket-ca"] == ca.read_text()
            assert KEYS["AWS_SECRET_ACCESS_KEY"] not in json.dumps(pod), name
            mounts = {one["mountPath"]: one["name"] for one in pod["spec"]["containers"][0]["volumeMounts"]}
            assert mounts["/tmp/ray"] == {m["mountPath"]: m["name"] for m in agent["volumeMounts"]}["/tmp/ray"] == "ray-logs"
        assert not [name for name in names(gate, "") if "mobula-check" in name], "the probe object was deleted"
        first.stop()
        operators("--bucket=s3://absent", *flags).says("the bucket cannot be used")
        row = eventually(health)
        assert "ERROR" in row and "write: PUT s3://absent/mobula-check-" in row and "create the bucket" in row, row
    finally:
        gate.stop()


def test_retention(space, operators, tmp_path):
    """The leader deletes the oldest logs above the bytes that stay, and nothing else of the bucket."""
    gate, flags = bucket_of_an_operator(tmp_path)
    root, folder = ray_folder(tmp_path)
    try:
        (folder / "old.log").write_bytes(os.urandom(30000))
        Agent(gate, root, name="ns/c/old.0").end()
        time.sleep(40)  # ages of objects are told apart by seconds, above 32 s by more
        (folder / "old.log").unlink()
        (folder / "new.log").write_bytes(os.urandom(20000))
        Agent(gate, root, name="ns/c/new.0").end()
        strangers = ["team/logs/ns/c/notes.txt", "team/work.zip", "logs/ns/c/old.0/f/0123456789abcdef-000000000000.gz"]
        (tmp_path / "big").write_bytes(bytes(100000))
        for name in strangers:
            storage(gate, "put", f"s3://bucket/{name}", "-f", tmp_path / "big")
        before = names(gate, "")
        op = operators(*flags, "--bucket-retention=30d", "--bucket-retention-bytes=40k")
        op.says("old logs were deleted from the bucket", "objects=1")
        after = names(gate, "")
        assert [name.split("/")[4:6] for name in set(before) - set(after)] == [["old.0", "old.log"]], after
        assert op.metrics()["mobula_logs_deleted_total"] == 1
        op.stop()
        operators(*flags, "--bucket-retention-bytes=1k").says("old logs were deleted from the bucket", "objects=1")
        assert sorted(names(gate, "team/logs/ns/c/") + names(gate, "team/w") + names(gate, "logs/")) == sorted(strangers)
    finally:
        gate.stop()


def test_pods_of_legacy_clusters(space, operators, tmp_path):
    """Their logs are stored and read as those of ray.io/v1 are."""
    gate, flags = bucket_of_an_operator(tmp_path)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"},
           "spec": {"restartPolicy": "Never", "containers": [container("ray-node")]}}
    types = [{"name": "head", "podConfig": pod}, {"name": "small", "minWorkers": 1, "maxWorkers": 1, "podConfig": pod}]
    try:
        operator = operators(*flags)
        space.apply({"apiVersion": "cluster.ray.io/v1", "kind": "RayCluster", "metadata": {"name": "old"},
                     "spec": {"maxWorkers": 1, "headPodType": "head", "podTypes": types}}, LEGACY)
        for pod in eventually(lambda: len(got := space.pods("old")) == 2 and got):
            (agent,) = [one for one in pod["spec"]["containers"] if one["name"] == "mobula-agent"]
            assert f"--logs-name={space.name}/old/$(POD_NAME).$(POD_UID)" in agent["command"], agent
            mounts = {one["mountPath"]: one["name"] for one in pod["spec"]["containers"][0]["volumeMounts"]}
            assert mounts["/tmp/ray"] == {m["mountPath"]: m["name"] for m in agent["volumeMounts"]}["/tmp/ray"], mounts
            (name,) = [flag.removeprefix("--logs-name=") for flag in agent["command"] if flag.startswith("--logs-name=")]
            name = name.replace("$(POD_NAME)", pod["metadata"]["name"]).replace("$(POD_UID)", pod["metadata"]["uid"])
            (tmp_path / name).mkdir(parents=True)
            root, folder = ray_folder(tmp_path / name)
            (folder / "raylet.out").write_text(f"of {pod['metadata']['name']}\n")
            Agent(gate, root, name=name).end()
        cluster = space.ready("old", 2, LEGACY)
        nodes = {f"{pod['metadata']['name']}.{pod['metadata']['uid']}": pod["metadata"]["name"] for pod in space.pods("old")}
        space.kubectl("delete", "rayclusters.cluster.ray.io", "old")
        eventually(lambda: not space.find(space.path("rayclusters", "old", "/apis/cluster.ray.io/v1")))
        operator.stop()  # stores what waits
        listed = [line[34:] for line in logs(gate, "cluster", "old", "-n", space.name)[0].splitlines()]
        assert sorted(listed) == sorted([f"old/{node}/raylet.out" for node in nodes] +
                                        [f"old/raycluster.{cluster['metadata']['uid']}/history.jsonl"]), listed
        for name in nodes.values():
            assert logs(gate, "cluster", "old", "-n", space.name, "--node", name, "--file", "raylet.out")[0] == f"of {name}\n"
    finally:
        gate.stop()


@pytest.mark.parametrize("flags, words", [
    (("--bucket=s3://abc", "--bucket-retention-bytes=many"), "--bucket-retention-bytes: "),
    (("--bucket-retention=30d",), "--bucket-… flags need --bucket"),
    (("--bucket=http://x/y",), "--bucket: "),
    (("--bucket=s3://abc", "--tools=none"), "--bucket needs --tools=configmap or image:REF"),
    (("--bucket-endpoint=https://x",), "--bucket-… flags need --bucket"),
    (("--bucket=s3://abc", "--bucket-secret=A_B"), "is not the name of a Secret"),
])
def test_wrong_flags(space, tmp_path, flags, words):
    space.grant()
    said = subprocess.run([MOBULA, "operator", "--kubeconfig", config_of(space, tmp_path), "--namespace", space.name, "--health-addr=",
                           "--metrics-addr=", *flags], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert said.returncode == 2 and words in said.stderr, said


def test_a_job_whose_cluster_is_gone(space, operator, board, tmp_path):
    """`mobula logs rayjob` reads from the head first, then from the bucket: while the RayJob exists, and after it was deleted."""
    gate = run_versitygw(tmp_path)
    gate.bucket("bucket")
    config = f"--kubeconfig={RUN / 'admin.kubeconfig'}"
    try:
        start(space, board, shutdownAfterJobFinishes=True)
        job = running(space)
        cluster = job["rayClusterName"]
        root, folder = ray_folder(tmp_path)
        (folder / f"job-driver-{job['jobId']}.log").write_text("all of it\n" * 1000)
        Agent(gate, root, name=f"{space.name}/{cluster}/{cluster}-head.{'0' * 36}").end()
        flags = ("rayjob", "j", "-n", space.name, config)
        assert logs(gate, *flags) == ("line one\nlast words\n", "")  # of the head
        board.end("SUCCEEDED")
        space.becomes("j", "Complete")
        eventually(lambda: not space.find(space.path("rayclusters", cluster, "/apis/ray.io/v1")))
        assert logs(gate, *flags) == ("all of it\n" * 1000, "")
        space.kubectl("delete", "rayjob", "j")
        text, _ = logs(gate, *flags)
        assert text == "all of it\n" * 1000  # the newest driver's log of its clusters
        gate.stop()
        assert "refused" in logs(gate, *flags, code=1)[1]
    finally:
        gate.stop()


def test_why_it_failed_last_night(space, operators, board, tmp_path):
    """Events and statuses are in the bucket as lines of JSON, and are read when RayJob, cluster and pods are gone."""
    gate, flags = bucket_of_an_operator(tmp_path)

    def history(*words):
        text, _ = logs(gate, *words, "-n", space.name, "--file", "history.jsonl")
        return [json.loads(line) for line in text.splitlines()]

    try:
        operator = operators(*flags)
        start(space, board, shutdownAfterJobFinishes=True)
        cluster = running(space)["rayClusterName"]
        board.end("FAILED")
        space.becomes("j", "Failed")
        space.kubectl("delete", "rayjob", "j")
        eventually(lambda: not space.find(space.path("rayclusters", cluster, "/apis/ray.io/v1")))
        operator.stop()  # stores what waits
        files = {line[34:] for line in logs(gate, "job", "j", "-n", space.name, "--since", "24h")[0].splitlines()}
        plain = {re.sub(r"\.[0-9a-f-]{36}/", "/", file) for file in files}
        assert plain == {"j/rayjob/history.jsonl", f"{cluster}/raycluster/history.jsonl"}
        node = next(file for file in files if file.startswith("j/")).split("/")[1]
        lines = history("job", "j", "--node", node)
        assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
        states = [line["status"].get("jobDeploymentStatus") for line in lines if line["type"] == "status"]
        assert states[-1] == "Failed" and "Running" in states, states
        last = [line["status"] for line in lines if line["type"] == "status"][-1]
        assert last["jobStatus"] == "FAILED" and "line one" in last["message"], last
        assert "SubmittedRayJob" in [line["reason"] for line in lines if line["type"] == "event"], lines
        (tasks,) = [line["tasks"] for line in lines if line["type"] == "tasks"]
        assert tasks["summary"]["work"]["state_counts"] == {"FINISHED": 7, "FAILED": 1} and tasks["total_tasks"] == 8, tasks
        lines = history("cluster", cluster)
        assert "CreatedHeadPod" in [line.get("reason") for line in lines], lines
        assert "ready" in [line["status"]["state"] for line in lines if line["type"] == "status"], lines
    finally:
        gate.stop()
