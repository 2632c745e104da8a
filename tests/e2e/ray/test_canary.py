"""Canary releases of a VersionedService on real Ray behind nginx, configured from its Ingresses: traffic is split, pinned and rolled back
while a client counts failed requests."""

import json
import time

import pytest
import real
from cluster import RUN, V1, eventually, kubectl, mobula
from ingress import Client, Ingress, ask
from test_rayservice import APP, spec

MOBULA = "/apis/mobula.dev/v1"
HOST = "rag.example.org"
RATE = 200  # requests a second, as far as the machine allows


@pytest.fixture
def ingress(space, tmp_path):
    made = Ingress(space, tmp_path)
    yield made
    made.close()


class Service:
    """VersionedService "rag", changed by commands. Version v1 answers "one", v2 "two"."""

    def __init__(self, space, folder, ingress):
        self.space, self.folder, self.ingress = space, folder, ingress
        self.path = space.path("versionedservices", "rag", MOBULA)
        space.api.call("POST", space.path("configmaps"), {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "apps"},
            "data": {f"{word}.py": APP.format(word=word) for word in ("one", "two")}})

    def command(self, verb, *words):
        out = mobula("service", verb, "rag", *words, "-n", self.space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}")
        assert out.returncode == 0, out.stdout + out.stderr
        return out.stdout

    def deploy(self, word, *flags):
        file = self.folder / f"{word}.yaml"
        file.write_text(json.dumps({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "rag"}, "spec": spec(word)}))
        self.command("deploy", f"-f={file}", f"--version-name={'v1' if word == 'one' else 'v2'}", *flags)

    def get(self):
        return self.space.api.get(self.path)

    def settled(self, phase="Complete", **weights):
        """Waits until the rollout has ended with these weights and nginx has them."""
        def look():
            got = self.get()
            status, rollout = got.get("status", {}), got.get("status", {}).get("rollout", {})
            assert rollout.get("phase") == phase and status["observedGeneration"] == got["metadata"]["generation"], status
            assert {v["name"]: v["weight"] for v in status["versions"] if v["weight"]} == weights, status
            return True

        eventually(look, 2 * real.START_S, 0.2)

    def ask(self, **headers):
        return ask(self.ingress.port, {"Host": HOST, **{k.replace("_", "-"): v for k, v in headers.items()}})

    def forget(self, version):
        """Ends the time for which a version without requests is kept, and waits until the version is deleted."""
        path = self.space.path("rayservices", f"rag-{version}", V1)

        def look():
            if self.space.find(path):
                self.space.api.patch(self.path + "/status", {"status": {"rollout": {"endTime": "2026-01-01T00:00:00Z"}}})
            return not self.space.find(path)

        eventually(look, real.START_S, 0.5)


def divided(service, client):
    """Checks that version v1 gets nine of ten requests, and that header X-ANYSCALE-VERSION pins v2."""
    client.rate, began = RATE, time.monotonic() + 1
    eventually(lambda: sum(client.since(began).values()) >= 1500, step=0.5)
    shares = client.since(began)
    print(f"\nat 90 to 10: {shares} in {time.monotonic() - began:.1f} s")
    assert set(shares) == {"one", "two"} and 0.06 < shares["two"] / sum(shares.values()) < 0.14, shares  # 5 standard deviations
    for name in ("v2", "canary"):
        assert [service.ask(X_ANYSCALE_VERSION=name) for _ in range(20)] == 20 * [(200, "two")]


def test_requests_are_divided_and_none_fails(space, operators, ingress, tmp_path):
    """All to v1, 90 to 10, rolled back, all to v2. At the end the head of v2 is killed: only then may requests fail."""
    operators()
    service = Service(space, tmp_path, ingress)
    service.deploy("one", "--ingress-class=nginx", f"--hostname={HOST}")
    service.settled(v1=100)
    client = Client(ingress, HOST, RATE // 10)  # more would slow down Ray's start
    try:
        eventually(lambda: client.says("one"))
        began = time.monotonic()
        service.deploy("two", "--canary-percent=10")
        service.settled(v1=90, v2=10)
        eventually(lambda: client.says("one", "two", seconds=5))
        divided(service, client)
        service.command("rollback", "--wait")
        eventually(lambda: client.says("one"))
        space.api.patch(service.path, {"spec": {"rollout": {"stepPercent": 50}}})
        service.deploy("two", "--canary-percent=100")
        service.settled(v2=100)
        eventually(lambda: client.says("two"))
        service.forget("v1")
        eventually(lambda: client.says("two"))
        print(f"{len(client.answers)} requests, {len(client.failures(began))} failed, nginx was configured {ingress.reloads} times")
        assert not client.failures(began), client.failures(began)[:5]
        client.rate, killed = RATE // 10, time.monotonic()
        cluster = space.api.get(space.path("rayservices", "rag-v2", V1))["status"]["activeServiceStatus"]["rayClusterName"]
        kubectl("-n", space.name, "delete", "pod", real.head(space, cluster)["metadata"]["name"], "--wait=false")
        eventually(lambda: client.failures(killed))
        eventually(lambda: client.says("two"), real.START_S)
        print(f"the head was killed: {len(client.failures(killed))} failed in {time.monotonic() - killed:.0f} s")
    finally:
        client.stop()
