"""A RayService with real Ray: deployed, replaced, switched back and rolled worker by worker while a client sends requests."""

import http.client
import subprocess
import threading
import time

import real
from cluster import V1, condition, eventually

APP = """
from ray import serve

@serve.deployment(ray_actor_options={{"num_cpus": 0}})
class App:
    def __call__(self, request):
        return "{word}"

app = App.bind()
"""


# Each answer takes a second, so that some are always under way, and names the template of the worker that gave it.
ROLLED = """
import asyncio, os
from ray import serve

@serve.deployment(num_replicas=2, max_replicas_per_node=1, max_ongoing_requests=20, ray_actor_options={"num_cpus": 1})
class App:
    async def __call__(self, request):
        await asyncio.sleep(1)
        return os.environ["WORD"]

app = App.bind()
"""


def group(word, memory):
    template = real.template(memory)
    pod = template["spec"]
    pod["containers"][0]["env"] = [*real.PATIENT, {"name": "PYTHONPATH", "value": "/apps"}, {"name": "WORD", "value": word}]
    pod["containers"][0]["volumeMounts"].append({"name": "apps", "mountPath": "/apps"})
    pod["volumes"].append({"name": "apps", "configMap": {"name": "apps"}})
    return template


def config(module):
    return f"applications:\n- name: app\n  route_prefix: /\n  import_path: {module}:app\n"


def spec(word, **more):
    """A spec with application `word` from a ConfigMap. The cluster's spec contains the word, so another word needs another cluster."""
    return {"serveConfigV2": config(word), "rayClusterConfig": {
        "rayVersion": real.RAY, "headGroupSpec": {"rayStartParams": real.params(1), "template": group(word, "3Gi")}}, **more}


def rolled(word):
    """A spec with two workers that answer `word`, each with one replica of Serve. Another word is another template of the workers."""
    workers = {"groupName": "small", "replicas": 2, "minReplicas": 2, "maxReplicas": 4, "rayStartParams": real.params(1),
               "template": group(word, "2Gi")}
    return {"serveConfigV2": config("rolled"),
            "upgradeStrategy": {"type": "mobula.dev/RollingUpdate", "rollingUpdate": {"maxSurgePercent": 50}},
            "rayClusterConfig": {"rayVersion": real.RAY, "workerGroupSpecs": [workers],
                                 "headGroupSpec": {"rayStartParams": real.params(0), "template": group("head", "3Gi")}}}


def put_apps(space, apps):
    space.api.call("POST", space.path("configmaps"), {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "apps"}, "data": {f"{name}.py": text for name, text in apps.items()}})


def route(address, pod):
    """Routes a service's address to the device of a pod: kube-proxy redirects a connection only if the kernel has a route for it."""
    words = subprocess.run(["ip", "route", "get", pod], capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["ip", "route", "replace", f"{address}/32", "dev", words[words.index("dev") + 1]], check=True)


class Client:
    """Sends a request 20 ms after each answer, from so many threads, each on a connection of its own, and keeps the answers."""

    def __init__(self, address, threads=1):
        self.address, self.answers, self.failures, self.stopped = address, [], [], False
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def ask(self):
        link = http.client.HTTPConnection(self.address, 8000, timeout=10)
        try:
            link.request("GET", "/")
            answer = link.getresponse()
            return answer.status, answer.read().decode()
        finally:
            link.close()

    def run(self):
        while not self.stopped:
            try:
                status, text = self.ask()
                (self.answers if status == 200 else self.failures).append(text)
            except (OSError, http.client.HTTPException) as e:
                self.failures.append(repr(e))
            time.sleep(0.02)

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join(30)


def test_replaced_without_a_failed_request(space, operators):
    put_apps(space, {word: APP.format(word=word) for word in ("one", "two")})
    operators()
    space.serve("svc", spec("one", rayClusterDeletionDelaySeconds=300))
    path = space.path("rayservices", "svc", V1)

    def ready(word, client=None):
        def look():
            got = space.api.get(path)
            state = condition(got, "Ready")
            assert state and state["status"] == "True", state
            upgrade = condition(got, "UpgradeInProgress")
            assert upgrade["status"] == "False", upgrade
            return not client or client.ask() == (200, word)

        eventually(look, 2 * real.START_S, step=0.5)

    ready("one")
    address = space.api.get(space.path("services", "svc-serve-svc"))["spec"]["clusterIP"]
    cluster = space.api.get(path)["status"]["activeServiceStatus"]["rayClusterName"]
    route(address, real.head(space, cluster)["status"]["podIP"])
    client = Client(address)
    try:
        def answered():
            assert "one" in client.answers, client.failures[-1:]
            return True

        eventually(answered)
        before = len(client.failures)
        space.api.patch(path, {"spec": spec("two")})
        ready("two", client)
        space.api.patch(path, {"spec": spec("one")})
        ready("one", client)
    finally:
        client.stop()
    assert client.failures[before:] == [], f"{len(client.failures)} of {len(client.answers)} requests failed"
    assert {"one", "two"} == set(client.answers)


def test_rolled_without_a_failed_request(space, operators):
    put_apps(space, {"rolled": ROLLED})
    operator = operators()
    space.serve("svc", rolled("old"))
    path = space.path("rayservices", "svc", V1)

    def ready():
        got = space.api.get(path)
        state = condition(got, "Ready")
        assert state and state["status"] == "True", state
        assert got["status"]["numServeEndpoints"] == 3, got["status"]
        return got["status"]["activeServiceStatus"]["rayClusterName"]

    cluster = eventually(ready, 2 * real.START_S, step=0.5)
    address = space.api.get(space.path("services", "svc-serve-svc"))["spec"]["clusterIP"]
    route(address, real.head(space, cluster)["status"]["podIP"])
    old = {p["metadata"]["uid"] for p in real.workers(space, cluster)}
    client = Client(address, threads=8)

    def is_rolled():
        now = {p["metadata"]["uid"] for p in real.workers(space, cluster) if not p["metadata"].get("deletionTimestamp")}
        assert len(now) == 2 and not now & old, now & old
        upgrade = condition(space.api.get(path), "UpgradeInProgress")
        assert upgrade["status"] == "False", upgrade
        return ready() == cluster and client.ask() == (200, "new")

    try:
        eventually(lambda: "old" in client.answers)
        begun = len(client.answers), len(client.failures)
        space.api.patch(path, {"spec": rolled("new")})
        eventually(is_rolled, 3 * real.START_S, step=0.5)
    finally:
        client.stop()
    failures = client.failures[begun[1]:]
    print(f"{len(client.answers) - begun[0]} requests were answered while both workers were replaced, and {len(failures)} failed")
    drained = {line.partition("pod=")[2].split()[0] for line in operator.lines("rolling update: drain", "answer=accepted")}
    assert len(drained) == 2, drained
    assert "WorkerNotDrained" not in {e["reason"] for e in space.api.get(space.path("events"))["items"]}
    assert failures == [], f"{len(failures)} failed: {failures[:3]}"
    assert {"old", "new"} == set(client.answers)
