"""Services of a control plane: Workloads that people deploy there become VersionedServices in the cluster of their cloud. The head of both
versions is one fake dashboard, at Ray's own port."""

import hashlib
import io
import urllib.request
import zipfile

import pytest
import yaml

from cluster import eventually
from dashboards import Serve, own_address
from hub import GROUP, PEOPLE, account, definitions, edge_operator, hubs, meet, register, status  # noqa: F401
from services import needs_address
from stores import KEYS, store, versitygw  # noqa: F401 (fixtures)
from test_versioned import MOBULA, Versioned, controller, route_of, weights  # noqa: F401

pytestmark = needs_address
CONFIG = {"name": "rag", "cloud": "edge", "compute_config": "small", "env_vars": {"MODE": "fast"},
          "applications": [{"name": "hello", "route_prefix": "/", "import_path": "module:hello"}]}


@pytest.fixture
def board():
    made = Serve(own_address(), 8265)
    yield made
    made.close()


@pytest.fixture
def ann(space, hubs, operators, tmp_path, request):  # noqa: F811
    """She is logged in; the operator of cloud "edge" runs, with a Gateway for services below s.example.org."""
    person = meet(space, hubs, tmp_path)
    person.login(account(space, "ann", *PEOPLE))
    where = register(person, "edge")
    policy = tmp_path / "policy.yaml"
    policy.write_text('hosts: ["*.s.example.org"]\n')
    usual = ["--gateway-name=public", f"--policy-file={policy}"]
    space.grant("--control-plane-url=https://hub.example", f"--cloud-deployment-id={where}")
    flags = getattr(request, "param", lambda usual: usual)(usual)
    edge_operator(person, space, operators, tmp_path, "edge", where, *flags)
    config = tmp_path / "small.yaml"
    config.write_text("head_node: {required_resources: {CPU: 1, memory: 4Gi}}\n")
    person.type("compute-config", "create", "small", "-f", config)
    return person


def tight(flag):
    """The policy of this flag, with room for one pod."""
    with open(flag.partition("=")[2], "a", encoding="utf-8") as file:
        file.write("maxTotalPods: 1\n")
    return flag


def deploy(ann, folder, *flags, code=0, **more):
    file = folder / "service.yaml"
    file.write_text(yaml.safe_dump(CONFIG | more))
    return ann.type("service", "deploy", "-f", file, *flags, code=code)


def versioned_of(space):
    return space.find(space.path("versionedservices", "rag", MOBULA))


def moved(service, goal):
    def look():
        service.hurry()
        return {name: weight for name, weight in weights(service.space).items() if weight} == goal

    eventually(look)


def test_deployed_moved_back_and_ended(controller, space, ann, board, tmp_path):  # noqa: F811
    service = Versioned(space)
    said = deploy(ann, tmp_path, "--version-name=v1", "--hostname=rag.s.example.org", image_uri="rayproject/ray:2.60.0")
    assert "rag.s.example.org" in said and "PENDING" in said, said
    service.serve("v1", board)
    said = ann.type("service", "wait", "rag", "--wait-timeout=90s")
    assert "service rag: RUNNING" in said, said
    made = service.get()
    cluster = made["spec"]["versions"][0]["rayServiceConfig"]["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    assert made["spec"]["gateway"] == {"name": "public", "namespace": space.name} and made["spec"]["hostnames"] == ["rag.s.example.org"]
    assert cluster["image"] == "rayproject/ray:2.60.0" and cluster["env"] == [{"name": "MODE", "value": "fast"}]
    assert cluster["resources"]["limits"]["memory"] == "4Gi"
    assert board.config["applications"] == CONFIG["applications"]
    told = status(space, "rag")
    assert told["urls"] == [{"name": "service", "url": "http://rag.s.example.org"}] and told["objects"][0]["kind"] == "VersionedService"

    # A second version gets most of the requests; the first one keeps its image, and is the one to go back to.
    deploy(ann, tmp_path, "--version-name=v2", "--canary-percent=60", image_uri="rayproject/ray:2.60.1")
    service.serve("v2", board)
    moved(service, {"rag-v1": 40, "rag-v2": 60})
    assert "service rag: RUNNING" in ann.type("service", "wait", "rag", "--wait-timeout=90s")
    assert [v["rayServiceConfig"]["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"]
            for v in service.get()["spec"]["versions"]] == ["rayproject/ray:2.60.0", "rayproject/ray:2.60.1"]

    # Logs of the replicas, from the head of a version, through operator and control plane.
    assert "service rag has no logs yet" in ann.type("service", "logs", "rag")
    board.logs = {("n1", "serve/a b.log"): "one\ntwo\n", ("n&2", "serve/\x1b.log"): None}
    assert ann.type("service", "logs", "rag") == (
        "==> serve/a b.log <==\none\ntwo\n==> serve/ .log <==\n(it cannot be read: "
        f"{board.address}:{board.port}: the dashboard answers with HTTP status 500: no such file)\n")
    board.logs = {("n1", f"serve/{n}.log"): "x" * 3000 + "\nlast\n" for n in range(10)}
    said = ann.type("service", "logs", "rag", "--version=v2")
    assert said.count("<==\nlast\n") == 8 and said.endswith("(2 more replicas)\n"), said
    assert 'the service has no version "v9"' in ann.type("service", "logs", "rag", "--version=v9", code=1)
    said = ann.type("service", "logs", "rag", "--follow", code=1)
    assert "--follow: the control plane has the end of the logs only: give --kubeconfig" in said, said
    board.logs = {}

    ann.type("service", "rollback", "rag")
    moved(service, {"rag-v1": 100})
    ann.type("service", "deploy", "rag", "--canary-percent=100")
    moved(service, {"rag-v2": 100})
    ann.type("service", "wait", "rag", "--wait-timeout=90s")
    eventually(lambda: [line.split()[:4] for line in ann.type("service", "list").splitlines()[1:]] == [["rag", "edge", "RUNNING", "-"]])

    ann.type("service", "terminate", "rag")
    eventually(lambda: not versioned_of(space))
    eventually(lambda: status(space, "rag")["state"] == "TERMINATED")
    eventually(lambda: not route_of(space))
    assert "was terminated, which cannot be taken back: mobula service delete rag" in deploy(ann, tmp_path, code=1)
    ann.type("service", "delete", "rag")
    eventually(lambda: ann.type("service", "list").count("\n") == 1)


@pytest.mark.parametrize("ann", [lambda usual: [*usual[:-1], tight(usual[-1])]], indirect=True, ids=["one pod"])
def test_a_rollout_waits_for_room_beside_the_version_that_it_replaces(controller, space, ann, board, tmp_path):  # noqa: F811
    service = Versioned(space)
    deploy(ann, tmp_path, "--version-name=v1", "--hostname=rag.s.example.org", image_uri="rayproject/ray:2.60.0")
    service.serve("v1", board)
    ann.type("service", "wait", "rag", "--wait-timeout=90s")
    said = deploy(ann, tmp_path, "--version-name=v2", "--wait", "--wait-timeout=5s", code=3, image_uri="rayproject/ray:2.60.1")
    assert "more than the policy's maxTotalPods" in said and "has not ended within --wait-timeout" in said, said
    assert [v["name"] for v in service.get()["spec"]["versions"]] == ["v1"]


def test_what_the_policy_refuses(controller, space, ann, tmp_path):  # noqa: F811
    apps = [{**CONFIG["applications"][0], "deployments": [{"name": "D", "ray_actor_options": {
        "runtime_env": {"working_dir": "http://10.0.0.1/x.zip"}}}]}]
    for n, (more, words) in enumerate([
            ({"hostname": "rag.example.com"}, "rule hosts: is not in the policy's list"),
            ({"hostname": "rag.s.example.org", "applications": apps}, "rule sources: "),
            ({"hostname": "rag.s.example.org", "applications": [{**CONFIG["applications"][0], "runtime_env": {"image_uri": "x"}}]},
             "rule images: names an image of its own")]):
        name, host = f"bad{n}", more.pop("hostname")
        said = deploy(ann, tmp_path, f"--hostname={host}", "--wait", code=1, image_uri="rayproject/ray:2.60.0", **more, **{"name": name})
        assert "REFUSED" in said and words in said, said
        assert not space.find(space.path("versionedservices", name, MOBULA))


@pytest.mark.parametrize("ann", [lambda usual: [*usual, "--versionedservices=false"], lambda _: []], indirect=True,
                         ids=["no kind", "no route"])
def test_an_operator_that_cannot_have_services(space, ann, tmp_path, request):
    said = deploy(ann, tmp_path, "--hostname=rag.s.example.org", "--wait", code=1, image_uri="rayproject/ray:2.60.0")
    wants = {"no kind": "mobula install --versionedservices", "no route": "mobula operator --gateway-name or --ingress-class"}
    want = wants[request.node.callspec.id]
    assert want in said, said


def test_what_the_command_refuses(ann, tmp_path):
    assert "--hostname is needed: cloud edge has no domain for services" in deploy(ann, tmp_path, code=1)
    assert '"http_options" is no field that a service can have here' in deploy(ann, tmp_path, code=1, http_options={})
    assert "there is no cloud far" in deploy(ann, tmp_path, code=1, cloud="far")
    assert "-f FILE is needed" in ann.type("service", "deploy", "rag", "--cloud=edge", "--hostname=a.b", code=1)
    for flag in "--gateway=mine", "--ingress-controller=other":
        said = deploy(ann, tmp_path, flag, code=1)
        assert "--gateway, --ingress-class, --ingress-controller and --istio-gateway are for a kubeconfig" in said
    assert "are of a new version: give that with -f" in ann.type("service", "deploy", "rag", "--cloud=edge", "--image-uri=x", code=1)
    assert 'no compute-config large' in deploy(ann, tmp_path, "--compute-config=large", code=1)
    ann.type("job", "submit", "--name", "rag", "--cloud", "edge", "--", "true")
    for verb in ("deploy", "status", "wait", "terminate", "delete"):
        said = deploy(ann, tmp_path, code=1) if verb == "deploy" else ann.type("service", verb, "rag", code=1)
        assert "workload rag is no service" in said, (verb, said)
    assert "true" in ann.type("job", "status", "rag", "-o", "yaml"), "it goes on"


def test_code_from_a_folder(controller, space, ann, tmp_path, store, monkeypatch):  # noqa: F811
    """The folder of the file goes to the bucket of the cloud, and all applications that have no code of their own get it."""
    work, own = tmp_path / "work", {"working_dir": "https://s.example.org/own.zip", "pip": ["own"]}
    work.mkdir()
    (work / "module.py").write_text("hello = 1\n")
    (work / "notes.md").write_text("left out\n")
    (tmp_path / "requirements.txt").write_text("# of the application\nemoji==2.0\n\n")
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    apps = [*CONFIG["applications"], {"name": "own", "route_prefix": "/own", "import_path": "m:own", "runtime_env": own}]
    code = {"working_dir": str(work), "excludes": ["*.md"], "requirements": str(tmp_path / "requirements.txt"), "applications": apps}
    flags = ("--version-name=v1", "--hostname=rag.s.example.org")
    said = deploy(ann, tmp_path, *flags, code=1, **(code | {"excludes": "*.md"}))
    assert "excludes is no list of texts" in said, said
    said = deploy(ann, tmp_path, *flags, code=1, **(code | {"cloud": None}))
    assert "--cloud NAME is needed: service rag does not exist yet" in said, said
    said = deploy(ann, tmp_path, *flags, "--bucket=s3://bucket", code=1, **(code | {"working_dir": "https://s.example.org/own.zip"}))
    assert "are for the folder of --working-dir, and that is a URL already" in said, said
    said = deploy(ann, tmp_path, *flags, code=1, **code)
    assert 'cloud "edge" has no bucket for the folder: give --bucket' in said, said
    ann.type("cloud", "update", "edge", "--cloud-storage-bucket-name", "s3://bucket", "--cloud-storage-bucket-endpoint", store.url)
    said = deploy(ann, tmp_path, *flags, **code)
    spec = eventually(lambda: space.find(space.path("workloads", "rag", GROUP)))["spec"]["service"]["versions"][0]
    url = spec["applications"][0]["runtime_env"]["working_dir"]
    assert spec["applications"][0]["runtime_env"] == {"working_dir": url, "pip": ["emoji==2.0"]}
    assert spec["applications"][1] == apps[1], "what an application has of its own stays"
    assert url.startswith("s3://bucket/service-dirs/") and f"storing: {url}, " in said, said
    packed = urllib.request.urlopen(ann.type("storage", "sign", url, "--endpoint", store.url).strip()).read()
    assert hashlib.sha256(packed).hexdigest() in url and zipfile.ZipFile(io.BytesIO(packed)).namelist() == ["dir/module.py"]
    said = deploy(ann, tmp_path, "--version-name=v2", **(code | {"cloud": None}))
    assert f"stored already: {url}" in said, "the same folder is stored once, and the cloud is that of the service"
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in said
