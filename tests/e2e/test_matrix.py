"""Changes of an installation by each tool: install --apply, kubectl (client and server side), kustomize, Helm. Each test starts with the
objects of an older version, and runs with the rights that docs/install.md grants to an admin of namespaces (definitions excepted). Each
step is compared with the inventory: all objects are as `mobula` would write them. Objects that a tool leaves behind are reported, and the
next upgrade deletes them."""

import functools
import json
import re
import shlex
import shutil
import subprocess

import pytest
import yaml

from cluster import ROOT, RUN, eventually, kubectl, manifests, mobula
from test_apply import left_in, made, of_the_cluster, place, run  # noqa: F401 fixtures
from test_chart import chart, helm, run_helm  # noqa: F401 fixtures
from test_half import in_full, make_older

pytestmark = pytest.mark.slow
STEPS = (("--replicas=2",), (), ("--shapes", "--kinds=all", "--ray-auth"), (), ("--watch-namespace=TEAM",),
         ("--requests=cpu=20m,memory=16Mi",), ("--no-network-policy",), ())
VALUES = {"replicas": 1, "shapes": False, "kinds": "ray.io", "rayAuth": False, "watchNamespaces": [], "networkPolicy": True,
          "requests": {"cpu": "10m", "memory": "8Mi"}}
OF_STEPS = ({"replicas": 2}, {}, {"shapes": True, "kinds": "all", "rayAuth": True}, {}, {"watchNamespaces": ["TEAM"]},
            {"requests": {"cpu": "20m", "memory": "16Mi"}}, {"networkPolicy": False}, {})
OLDER = "0.0.9"
MORE = {"cluster.ray.io": ["rayclusters"], "ray.io": ["raycronjobs", "rayservices"], "mobula.dev": ["versionedservices"],
        "gateway.networking.k8s.io": ["gateways", "httproutes", "grpcroutes"], "networking.istio.io": ["virtualservices"]}


def recipe():
    """The rights that docs/install.md grants, as arguments of kubectl."""
    page = (ROOT / "docs/install.md").read_text()
    return re.search(r"^    kubectl create clusterrole ray-admin (.+)$", page, re.M)[1]


@functools.cache
def granted():
    """The page's rules, and those for --kinds=all, which the page leaves to the message of the 403."""
    page = json.loads(kubectl("create", "role", "ann", *shlex.split(recipe()), "--dry-run=client", "-o", "json").stdout)["rules"]
    return page + [{"apiGroups": [group], "resources": [kind, f"{kind}/status", f"{kind}/finalizers"], "verbs": ["*"]}
                   for group, kinds in MORE.items() for kind in kinds]


def grant(api, namespace, user):
    group = "rbac.authorization.k8s.io"
    path, subject = f"/apis/{group}/v1/namespaces/{namespace}", {"apiGroup": group, "kind": "User", "name": user}
    api.call("POST", f"{path}/roles", {"metadata": {"name": "ann-ray"}, "rules": granted()})
    for kind, name in (("Role", "ann-ray"), ("ClusterRole", "admin")):
        api.call("POST", f"{path}/rolebindings", {
            "metadata": {"name": f"ann-{name}"}, "subjects": [subject], "roleRef": {"apiGroup": group, "kind": kind, "name": name}})


class Place:
    """The namespaces of an installation, and the kubeconfig of the user who changes it."""

    def __init__(self, api, name, folder):
        self.name, self.team, self.folder, self.ann = name, f"{name}-team", folder, folder / "ann"
        user = f"ann-of-{name}"
        admin = (RUN / "admin.kubeconfig").read_text()
        self.ann.write_text(admin.replace("user: {client-certificate", f"user: {{as: {user}, client-certificate"))
        api.call("POST", "/api/v1/namespaces", {"metadata": {"name": self.team}})
        for namespace in (self.name, self.team):
            grant(api, namespace, user)
        for namespace in (self.name, self.team):
            for right in ("events.events.k8s.io", "deployments.apps"):  # bindings take effect a moment later
                may = ("-n", namespace, "auth", "can-i", "create", right)
                eventually(lambda may=may: kubectl(*may, kubeconfig=self.ann, check=False).stdout == "yes\n")

    def flags(self, n):
        return ("--no-crds", *(f.replace("TEAM", self.team) for f in STEPS[n]))

    def text(self, n):
        return manifests("--namespace", self.name, *self.flags(n))

    def mobula(self, *words, status=0):
        return run(*words, kubeconfig=self.ann, status=status)

    def kubectl(self, *words, **options):
        return kubectl(*words, kubeconfig=self.ann, **options)

    def there(self):
        found = {(kind.split(".")[0], name) for kind, _, name in (o.partition("/") for o in left_in(self.name))}
        return {f for f in found if f[0] not in ("pod", "lease") and not f[1].startswith("ann-")}

    def has(self, n):
        there, wanted = self.there(), {(kind.lower(), name) for kind, ns, name in parsed(self.text(n)) if ns == self.name}
        assert there == wanted, (n, there ^ wanted)

    def has_nothing(self):
        assert self.there() == set() and of_the_cluster(self.name) == set()
        assert not [o for o in left_in(self.team) if "/ann-" not in o]


@pytest.fixture
def at(api, made, tmp_path):  # noqa: F811
    found = Place(api, made, tmp_path)
    yield found
    api.call("DELETE", f"/api/v1/namespaces/{found.team}")


def parsed(text):
    """The objects of YAML documents, by kind, namespace and name."""
    return {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o for o in yaml.load_all(text, yaml.CSafeLoader) if o}


# ---- mobula, kubectl, kustomize: compared by mobula upgrade --dry-run ----

def by_kubectl(at, text, flags):
    at.kubectl("apply", "-f", "-", stdin=text)


def by_kubectl_on_the_server(at, text, flags):
    at.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)


def by_kustomize(at, text, flags):
    (at.folder / "mobula.yaml").write_text(text)
    (at.folder / "kustomization.yaml").write_text("resources: [mobula.yaml]\n")
    at.kubectl("apply", "-k", at.folder)


def older(text):
    """The text of a chart or of manifests with an older version number."""
    return text.replace(mobula("version").stdout.split()[1], OLDER)


def judge(at, n):
    """Checks that an upgrade would only take over fields of kubectl and delete objects that kubectl left behind, and upgrades."""
    flags = ("--namespace", at.name, *at.flags(n), "--drop-flags")
    shown, _ = at.mobula("upgrade", *flags, "--dry-run", status=None)
    assert not re.findall(r"^[+-](?![+-]{2} ).*", shown, re.M) and "+++ created" not in shown, (n, shown)
    at.mobula("upgrade", *flags)
    at.has(n)


@pytest.mark.parametrize("apply", [by_kubectl, by_kubectl_on_the_server, by_kustomize])
def test_each_change_by_kubectl_and_kustomize(at, apply):
    apply(at, older(at.text(0)), at.flags(0))
    for n in range(len(STEPS)):
        apply(at, at.text(n), at.flags(n))
        judge(at, n)
    at.mobula("uninstall", "--apply", "--namespace", at.name)
    at.has_nothing()


def test_each_change_by_mobula_and_back(at):
    """Each upgrade, its rollback, and the rollback of the rollback. A further upgrade would change nothing."""
    by_kubectl(at, older(at.text(0)), at.flags(0))
    at.mobula("upgrade", "--namespace", at.name, *at.flags(0))
    for n in range(1, len(STEPS)):
        flags = ("--namespace", at.name, *at.flags(n), "--drop-flags")
        at.mobula("upgrade", *flags)
        at.has(n)
        at.mobula("rollback", "--namespace", at.name, "--more-rights")
        at.has(n - 1)
        at.mobula("rollback", "--namespace", at.name, "--more-rights")
        assert at.mobula("upgrade", *flags, "--dry-run")[0] == "", n
    at.mobula("uninstall", "--apply", "--namespace", at.name)
    at.has_nothing()


# ---- Helm: compared with mobula's printed objects after the API server's defaulting ----

class Release:
    """A release of the chart, or of an umbrella chart that depends on it."""

    def __init__(self, at, helm, chart, whole=False):  # noqa: F811
        self.at, self.by, self.helm, self.whole = at, at.ann, helm, whole
        self.chart = self.made_of(chart, at.folder / "now", whole)
        self.old = self.made_of(chart, at.folder / "older", whole, older)

    @staticmethod
    def made_of(chart, folder, whole, rewritten=str):  # noqa: F811
        part = folder / "charts/mobula" if whole else folder
        shutil.copytree(chart, part)
        (part / "Chart.yaml").write_text(rewritten((part / "Chart.yaml").read_text()))
        version = re.search(r"^version: (.+)$", (part / "Chart.yaml").read_text(), re.M)[1]
        if whole:
            (folder / "Chart.yaml").write_text(f"apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies:\n- {{name: mobula, "
                                               f"version: {version}, repository: '', condition: mobula.enabled}}\n")
        return folder

    def type(self, *words, status=0):
        return "".join(run_helm(self.helm, *words, namespace=self.at.name, config=self.by, status=status))

    def values(self, n, every=False):
        """The values of a step. every: also values that reset the changes of earlier steps."""
        values = {"admissionPolicy": False} | (VALUES if every else {}) | OF_STEPS[n]
        text = json.dumps({"mobula": values} if self.whole else values).replace("TEAM", self.at.team)
        (self.at.folder / "values.json").write_text(text)
        return ("--values", self.at.folder / "values.json")

    def upgrade(self, n, *how, chart=None):  # noqa: F811
        every = any("reuse" in word for word in how)
        self.type("upgrade", "--install", "ray", chart or self.chart, "--skip-crds", *self.values(n, every), *how)


def judged(at, n, text=str):
    """Checks that the objects are the printed ones with the API server's defaults, and that no others exist."""
    printed = parsed(text(manifests("--namespace", at.name, "--registry=localhost", "--kinds=ray.io", *at.flags(n))))
    assert at.there() == {(kind.lower(), name) for kind, namespace, name in printed if namespace == at.name}, n
    wanted = [o | {"metadata": o["metadata"] | {"name": o["metadata"]["name"] + "-j"}} for o in printed.values()]
    would = read_json(kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin="\n---\n".join(map(json.dumps, wanted))))
    found = read_json(kubectl("get", "-o", "json", "-f", "-", stdin="\n---\n".join(map(json.dumps, printed.values()))))
    for want, have in zip(would, found, strict=True):
        drop = ("metadata", "status")
        assert {k: v for k, v in have.items() if k not in drop} == {k: v for k, v in want.items() if k not in drop}, n
        for words in ("labels", "annotations"):
            more = have["metadata"].get(words, {})
            assert more.get("app.kubernetes.io/managed-by") in (None, "Helm")
            assert (want["metadata"].get(words) or {}).items() <= more.items(), (n, more)


def read_json(out):
    text, found = out.stdout, json.JSONDecoder()
    objects = []  # of a List, or of concatenated objects
    while text.strip():
        one, end = found.raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        objects += one["items"] if one["kind"] == "List" else [one]
    return objects


@pytest.mark.parametrize("how", ["--reuse-values", "--reset-then-reuse-values", "umbrella"])
def test_each_change_by_helm(at, helm, chart, how):  # noqa: F811
    whole = how == "umbrella"
    release = Release(at, helm, chart, whole)
    release.upgrade(0, chart=release.old)
    judged(at, 0, older)
    for n in range(len(STEPS)):
        release.upgrade(n, *(() if whole else (how,)))
        judged(at, n)
    release.type("uninstall", "ray")
    at.has_nothing()


def test_each_change_by_helm_and_back(at, helm, chart):  # noqa: F811
    release = Release(at, helm, chart)
    release.upgrade(0, chart=release.old)
    for n in range(len(STEPS)):
        release.upgrade(n)
        release.type("rollback", "ray")
        judged(at, max(n - 1, 0), str if n else older)
        release.type("rollback", "ray")
        judged(at, n)
    release.type("uninstall", "ray")
    at.has_nothing()


def test_each_change_by_helm_template_and_kubectl(at, helm, chart):  # noqa: F811
    release = Release(at, helm, chart)
    for n in (0, *range(len(STEPS))):
        text = release.type("template", "ray", release.chart if at.there() else release.old, *release.values(n))
        by_kubectl_on_the_server(at, text, None)
        judge_of_chart(at, n)
    at.mobula("uninstall", "--apply", "--namespace", at.name)
    at.has_nothing()


def of_chart(at, n):
    """The flags of mobula that are the values of the chart."""
    kinds = () if any("--kinds" in flag for flag in STEPS[n]) else ("--kinds=ray.io",)
    return ("--namespace", at.name, "--registry=localhost", *kinds, *at.flags(n))


def judge_of_chart(at, n):
    at.mobula("upgrade", *of_chart(at, n), "--drop-flags")
    judged(at, n)


def test_helm_takes_an_installation_over(at, helm, chart):  # noqa: F811
    """Helm refuses mobula's objects without --take-ownership. With it Helm owns them, and mobula refuses to change them. It shows the
    differences, and the command of Helm that makes them."""
    release = Release(at, helm, chart)
    at.mobula("install", "--apply", *of_chart(at, 0))
    at.mobula("upgrade", *of_chart(at, 1), "--drop-flags")
    at.mobula("upgrade", *of_chart(at, 0))
    words = ("upgrade", "--install", "ray", release.chart, "--skip-crds", *release.values(0))
    assert "invalid ownership metadata" in release.type(*words, status=1)
    release.type(*words, "--take-ownership")
    judged(at, 0)
    for command in (("upgrade", *of_chart(at, 1), "--drop-flags"), ("rollback", "--namespace", at.name),
                    ("uninstall", "--apply", "--namespace", at.name)):
        _, said = at.mobula(*command, status=1)
        assert "belongs to the Helm release ray" in said, said
        judged(at, 0)
    shown, said = at.mobula("upgrade", *of_chart(at, 1), "--drop-flags", "--dry-run", status=3)
    assert f"helm upgrade ray CHART --namespace={at.name} --reset-then-reuse-values" in said, said
    assert f"--- PodDisruptionBudget mobula in {at.name}\n+++ deleted" in shown and "Helm" not in shown, shown
    assert re.findall(r"^[-+] .*replicas.*", shown, re.M) == ["-  replicas: 2", "+  replicas: 1"], shown
    judged(at, 0)
    for n in range(1, len(STEPS)):
        release.upgrade(n)
        judged(at, n)
        assert at.mobula("upgrade", *of_chart(at, n), "--dry-run")[0] == ""
    release.type("uninstall", "ray")
    at.has_nothing()


def test_helm_leaves_definitions_to_one_command(api, at, helm, chart):  # noqa: F811
    """helm upgrade does not update definitions. check reports a missing field, and the command that updates them beside the release."""
    release = Release(at, helm, chart)
    release.by = RUN / "admin.kubeconfig"
    make_older(api)
    try:
        release.type("install", "ray", release.old)
        release.type("upgrade", "ray", release.chart)
        assert not in_full(api)
        said, _ = run("check", "-n", at.name, "--operator-namespace", at.name, status=4)
        assert "rayclusters.ray.io" in said and "it differs at spec.properties.suspend" in said, said
        command = re.search(r"mobula (install --apply --crds-only --namespace=\S+) brings ours", said)[1]
        done, _ = run(*shlex.split(command))
        assert in_full(api) and f"ValidatingAdmissionPolicy/mobula.{at.name} passed over: it belongs to a Helm release" in done, done
        assert "it differs at" not in run("check", "-n", at.name, "--operator-namespace", at.name, status=None)[0]
        release.type("uninstall", "ray")
        at.has_nothing()
    finally:
        run("install", "--apply", "--crds-only", "--namespace", at.name)
        run("uninstall", "--apply", "--namespace", at.name)


# ---- kustomize: images, namespace, name prefix ----

def test_kustomize_changes_an_image(made, tmp_path):  # noqa: F811
    """Kustomize may change images, as docs/commands.md says; upgrade takes the change over."""
    (tmp_path / "mobula.yaml").write_text(manifests("--no-crds", "--namespace", made))
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [mobula.yaml]\nimages: [{name: localhost/mobula, newName: registry.example/mobula, newTag: '7'}]\n")
    kubectl("apply", "-k", tmp_path)
    run("upgrade", "--no-crds", "--namespace", made, "--image=registry.example/mobula:7", "--dry-run", status=3)  # fields of kubectl
    run("upgrade", "--no-crds", "--namespace", made, "--image=registry.example/mobula:7")
    run("uninstall", "--apply", "--namespace", made)


def test_kustomize_with_another_namespace(made, tmp_path):  # noqa: F811
    """Arguments and bindings keep the namespace that the manifests were printed for: check reports it."""
    (tmp_path / "mobula.yaml").write_text(manifests("--no-crds", "--namespace", "elsewhere"))
    (tmp_path / "kustomization.yaml").write_text(f"namespace: {made}\nresources: [mobula.yaml]\n")
    kubectl("apply", "-k", tmp_path)
    said, _ = run("check", "-n", made, "--operator-namespace", made, status=3)
    assert f"the manifests of namespace {made} were printed for namespace elsewhere" in said and f"--namespace={made} prints those" in said
    kubectl("delete", "-k", tmp_path, "--wait=false")


def test_kustomize_with_a_prefix(made, tmp_path):  # noqa: F811
    """The pod runs, but mobula's commands do not find its Deployment, and the admission policy restricts an account that does not exist, as
    docs/commands.md says. check reports it."""
    (tmp_path / "mobula.yaml").write_text(manifests("--namespace", made))
    (tmp_path / "kustomization.yaml").write_text("namePrefix: x-\nresources: [mobula.yaml]\n")
    kubectl("apply", "--server-side", "--force-conflicts", "-k", tmp_path)
    try:
        kubectl("-n", made, "rollout", "status", "deployment/x-mobula", "--timeout=120s")
        said, _ = run("check", "-n", made, "--operator-namespace", made, status=3)
        assert f"the operator's Deployment in namespace {made} is called x-mobula, as by kustomize's namePrefix" in said
        assert "kubectl delete -k FOLDER" in said
        policy = kubectl("get", "validatingadmissionpolicy", f"x-mobula.{made}", "-o", "yaml").stdout
        assert f"system:serviceaccount:{made}:mobula" in policy and "x-mobula" not in policy.split("\nspec:\n")[1]
        assert "no installation in namespace" in run("uninstall", "--apply", "--namespace", made)[1]
    finally:
        kinds = "validatingadmissionpolicies,validatingadmissionpolicybindings"
        kubectl("delete", *(o for o in kubectl("get", kinds, "-o", "name").stdout.split() if f"/x-mobula.{made}" in o))


# ---- the charts of earlier commits ----

FIRST, SHARED_NAMES, BEFORE_PLACEMENT = "396b1140260e", "3641fe07e306", "319613799fda"


@pytest.fixture
def earlier(request, tmp_path):
    """The chart that an earlier commit makes of its own templates, as version 0.0.9."""
    source = tmp_path / "source"
    source.mkdir()
    tree = subprocess.run(["git", "archive", request.param, "airgap", "src", "include"], cwd=ROOT, capture_output=True, check=False)
    assert tree.returncode == 0, f"a clone with history is needed, for commit {request.param}: {tree.stderr.decode()}"
    subprocess.run(["tar", "x", "-C", source], input=tree.stdout, check=True)
    subprocess.run(["airgap/make-chart", tmp_path / "earlier", OLDER], cwd=source, check=True)
    return tmp_path / "earlier"


def values_of(chart):  # noqa: F811
    """What an admin of namespaces sets, of the values that the chart knows."""
    words = [w for w in ("admissionPolicy=false", "registry=localhost") if f"\n{w.split('=')[0]}:" in (chart / "values.yaml").read_text()]
    return [word for value in words for word in ("--set", value)]


@pytest.mark.parametrize("earlier,how", [
    (FIRST, ("--reuse-values", "--set", "image=")),  # the value image of that chart names the old version
    (SHARED_NAMES, ("--reset-then-reuse-values",)), (BEFORE_PLACEMENT, ("--reuse-values",))], indirect=["earlier"])
def test_helm_upgrades_an_earlier_chart(at, helm, chart, earlier, how):  # noqa: F811
    release = Release(at, helm, chart)
    words = ("upgrade", "ray", release.chart, "--skip-crds", *release.values(1), *how)
    release.type("install", "ray", earlier, "--skip-crds", *values_of(earlier))
    before = at.there()
    release.type(*words)
    judged(at, 1)
    release.type("rollback", "ray")
    assert at.there() == before
    release.type(*words)
    judged(at, 1)
    release.type("uninstall", "ray")
    at.has_nothing()


@pytest.mark.parametrize("earlier,apply", [
    (FIRST, ()), (SHARED_NAMES, ("--server-side", "--field-manager=mobula")), (BEFORE_PLACEMENT, ("--server-side",))],
    indirect=["earlier"])
def test_upgrade_of_the_objects_of_an_earlier_chart(at, helm, earlier, apply):  # noqa: F811
    """kubectl applies them; with the field manager mobula as install --apply of that version did."""
    text, _ = run_helm(helm, "template", "ray", earlier, *values_of(earlier), namespace=at.name, config=at.ann)
    at.kubectl("apply", *apply, "-f", "-", stdin=text)
    before = at.there()
    at.mobula("upgrade", *of_chart(at, 1), "--drop-flags")
    judged(at, 1)
    at.mobula("rollback", "--namespace", at.name, "--more-rights")
    assert at.there() == before
    at.mobula("upgrade", *of_chart(at, 1), "--drop-flags")
    judged(at, 1)
    at.mobula("uninstall", "--apply", "--namespace", at.name)
    at.has_nothing()
