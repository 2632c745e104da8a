"""The Helm chart that airgap/make-chart writes renders the objects that `mobula install --print` prints."""

import json
import os
import re
import shutil
import subprocess

import jsonschema
import pytest
import yaml

from cluster import ROOT, RUN, kubectl, manifests, mobula
from rig import RIG

HELM = "3.18.6"  # by the Go module proxy, as the rest of the rig
CACHE = RIG / "bin" / f"helm-{HELM}"


@pytest.fixture(scope="session")
def helm():
    found = CACHE / "helm"
    if not found.exists():
        env = {**os.environ, "GOBIN": str(CACHE), "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"}
        wanted = f"helm.sh/helm/v3/cmd/helm@v{HELM}"
        out = subprocess.run(["go", "install", wanted], env=env, capture_output=True, text=True, timeout=1200, check=False)
        assert out.returncode == 0, f"{wanted} cannot be built: {out.stderr}"
    return found


@pytest.fixture(scope="session")
def chart(tmp_path_factory):
    at = tmp_path_factory.mktemp("chart") / "mobula"
    version = mobula("version").stdout.split()[1]
    subprocess.run(["airgap/make-chart", at, version], check=True)
    return at


@pytest.fixture(scope="session")
def plane_chart(tmp_path_factory):
    at = tmp_path_factory.mktemp("chart") / "mobula-control-plane"
    version = mobula("version").stdout.split()[1]
    subprocess.run(["airgap/make-chart", at, version, "control-plane"], check=True)
    return at


def run_helm(helm, *words, namespace, config, status=0):
    """Runs it in a namespace; its texts on stdout and stderr."""
    out = subprocess.run([helm, *words, "--kubeconfig", config, "--namespace", namespace], capture_output=True, text=True, timeout=180,
                         check=False)
    assert out.returncode == status, (words, out.stderr)
    return out.stdout, out.stderr


def render(helm, chart, *values, check=True):
    command = [helm, "template", "mobula", chart, "--namespace", "ray", *values]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=check)


def objects(text):
    """By kind, namespace and name."""
    out = json.loads("[" + kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=text).stdout
                     .replace("}\n{", "},{") + "]")
    listed = [o for one in out for o in (one["items"] if one["kind"] == "List" else [one])]
    return {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o for o in listed}


@pytest.mark.parametrize("values,flags", [
    ("", ""),
    ("kinds=legacy", "--kinds=legacy"),
    ("kinds=all,tools=none", "--kinds=all --tools=none"),
    ("replicas=2,watchNamespaces={a,b}", "--replicas=2 --watch-namespace=a,b"),
    ("leaderElect=true,autoscaler=sidecar,rayAuth=true", "--leader-elect --autoscaler=sidecar --ray-auth"),
    ("routeCa=mobula-route-ca", "--route-ca=mobula-route-ca"),
    ("routeCa=corp,routeHosts={a.example.org,*.b.example.org}", "--route-ca=corp --route-hosts=a.example.org,*.b.example.org"),
    ("routeCa=corp,watchNamespaces={a,b}", "--route-ca=corp --watch-namespace=a,b"),
    ("serviceAuth=24h,watchNamespaces={a,b}", "--service-auth=24h --watch-namespace=a,b"),
    ("domain=ray.example.org,cloudProvider=azure,internalLoadBalancers=true,routeAddress=10.1.0.4",
     "--domain=ray.example.org --cloud-provider=azure --internal-load-balancers --route-address=10.1.0.4"),
    ("gatewayName=public,gatewayNamespace=infra,ingressClass=nginx",
     "--gateway-name=public --gateway-namespace=infra --ingress-class=nginx"),
    ("shapes=true", "--shapes"),
    ("controlPlaneUrl=https://hub.example:9443,cloudDeploymentId=cldrsrc_abcdefghijklmnopqrstuvwx,defaultImage=r.example/ray:2",
     "--control-plane-url=https://hub.example:9443 --cloud-deployment-id=cldrsrc_abcdefghijklmnopqrstuvwx --default-image=r.example/ray:2"),
    ("controlPlaneUrl=https://hub.example,cloudDeploymentId=cldrsrc_abcdefghijklmnopqrstuvwx,controlPlaneToken=edge/ANYSCALE_CLI_TOKEN,"
     "controlPlaneCa=ca/x.crt,shapes=true,cloudProvider=aws", "--control-plane-url=https://hub.example --cloud-provider=aws --shapes "
     "--cloud-deployment-id=cldrsrc_abcdefghijklmnopqrstuvwx --control-plane-token=edge/ANYSCALE_CLI_TOKEN --control-plane-ca=ca/x.crt"),
    ("cloudProvider=aws,karpenter=true,defaultPatches={market,zone},processTracing=true",
     "--cloud-provider=aws --karpenter --default-patches=market,zone --process-tracing"),
    ("workloadProxy=http://p:3128,workloadNoProxy=.a\\,10.0.0.0/8,workloadCa=corp-ca,sharedStorage=pvc:p,processTracing=true",
     "--workload-proxy=http://p:3128 --workload-no-proxy=.a,10.0.0.0/8 --workload-ca=corp-ca --shared-storage=pvc:p --process-tracing"),
    ("workloadServiceAccount=ray,workloadPullSecrets={a,b}", "--workload-service-account=ray --workload-pull-secrets=a,b"),
    ("autoscaler=off,rayAccess=proxy,submitter=pod", "--autoscaler=off --ray-access=proxy --submitter=pod"),
    ("egressAllow={a.example.com:443,10.0.0.0/8:1},egressStrict=true",
     "--egress-allow=a.example.com:443,10.0.0.0/8:1 --egress-strict"),
    ("allNamespaces=true,networkPolicy=false,raycronjobs=true", "--all-namespaces --no-network-policy --raycronjobs"),
    ("allNamespaces=true,replicas=2", "--all-namespaces --replicas=2"),
    ("registry=r.example/x,pullSecrets={a,b},openshift=true,cpu=500m,memory=128Mi",
     "--registry=r.example/x --pull-secret=a,b --openshift --resources=cpu=500m,memory=128Mi"),
    ("proxy=http://p.example:3128,noProxy=.a\\,10.0.0.0/8,egressAllow={a.example.com:8443,b.example.com},admissionPolicy=false",
     "--proxy=http://p.example:3128 --no-proxy=.a,10.0.0.0/8 --egress-allow=a.example.com:8443,b.example.com --no-admission-policy"),
    ("proxies=a.example:8443=http://u:p@p.example:3128\\,10.0.0.0/8=direct\\,.b.example=http://q.example/,noProxy=x,proxy=http://r.example",
     "--proxies=a.example:8443=http://u:p@p.example:3128,10.0.0.0/8=direct,.b.example=http://q.example/ --no-proxy=x "
     "--proxy=http://r.example"),
    ("proxy=http://$(PROXY_CREDENTIALS)@p.example:3128,proxySecret=proxy",
     "--proxy=http://$(PROXY_CREDENTIALS)@p.example:3128 --proxy-secret=proxy"),
    ("proxies=a.example=http://$(PROXY_CREDENTIALS)@p.example:3128,proxySecret=proxy/dmz",
     "--proxies=a.example=http://$(PROXY_CREDENTIALS)@p.example:3128 --proxy-secret=proxy/dmz"),
    ("controlPlaneUrl=https://hub.example,cloudDeploymentId=cldrsrc_abcdefghijklmnopqrstuvwx,egressCa=corp/x.pem,"
     "proxies=hub.example=http://p.example:3128", "--control-plane-url=https://hub.example --egress-ca=corp/x.pem "
     "--cloud-deployment-id=cldrsrc_abcdefghijklmnopqrstuvwx --proxies=hub.example=http://p.example:3128"),
    ("controlPlaneUrl=https://hub.example,cloudDeploymentId=cldrsrc_abcdefghijklmnopqrstuvwx,reportNodes=true,agent=true",
     "--control-plane-url=https://hub.example --cloud-deployment-id=cldrsrc_abcdefghijklmnopqrstuvwx --report-nodes --agent"),
    ("controlPlaneUrl=https://hub.example,cloudDeploymentId=cldrsrc_abcdefghijklmnopqrstuvwx,agent=true,agentDirect=true",
     "--control-plane-url=https://hub.example --cloud-deployment-id=cldrsrc_abcdefghijklmnopqrstuvwx --agent --agent-direct"),
    ("bucket=s3://ray/team-a,bucketEndpoint=https://minio.example:9000,bucketRegion=eu-1,bucketVirtualHost=true,bucketSecret=keys,"
     "bucketCa=corp/x.pem", "--bucket=s3://ray/team-a --bucket-endpoint=https://minio.example:9000 --bucket-region=eu-1 "
     "--bucket-virtual-host --bucket-secret=keys --bucket-ca=corp/x.pem"),
    ("bucket=gs://ray,bucketEndpoint=http://store.example", "--bucket=gs://ray --bucket-endpoint=http://store.example"),
    ("image=registry.example:5000/mobula:1,toolsResources=cpu=100m\\,memory=90Mi,agentResources=cpu=1",
     "--image=registry.example:5000/mobula:1 --tools-resources=cpu=100m,memory=90Mi --agent-resources=cpu=1"),
])
def test_the_chart_renders_what_install_prints(helm, chart, values, flags):
    rendered = render(helm, chart, *(["--set", values] if values else [])).stdout
    printed = manifests("--kinds=ray.io", "--namespace", "ray", *flags.split())
    made = {k: v for k, v in objects(printed).items() if k[0] != "CustomResourceDefinition"}
    assert objects(rendered) == made


@pytest.mark.parametrize("values,flags", [
    ("", ""),
    ("watchNamespaces={a,b},tlsNames={hub.example,10.0.0.1}", "--watch-namespace=a,b --tls-name=hub.example,10.0.0.1"),
    ("allNamespaces=true,replicas=1,tlsSecret=mine,networkPolicy=false",
     "--all-namespaces --replicas=1 --tls-secret=mine --no-network-policy"),
    ("registry=r.example/x,pullSecrets={p},openshift=true,cpu=750m,memory=256Mi,tlsSelfMade=own",
     "--registry=r.example/x --pull-secret=p --openshift --resources=cpu=750m,memory=256Mi --tls-self-made=own"),
])
def test_the_chart_of_a_control_plane(helm, plane_chart, values, flags):
    rendered = render(helm, plane_chart, *(["--set", values] if values else [])).stdout
    made = objects(manifests("--control-plane", "--namespace", "ray", *flags.split()))
    assert objects(rendered) == {k: v for k, v in made.items() if k[0] != "CustomResourceDefinition"}


PLACED = {
    "tolerations": [{"operator": "Exists"}], "nodeSelector": {"a": "b", "c/d": ""}, "podLabels": {"team": "1"},
    "podAnnotations": {"q": "x: <y>"}, "serviceAnnotations": {"s": "t"}, "extraEnv": [{"name": "A", "value": "b"}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
    "topologySpreadConstraints": [{"maxSkew": 1}], "priorityClassName": "high", "requests": {"cpu": 1, "memory": "32Mi"}, "cpu": 1,
    "memory": 67108864, "pullSecrets": ["123", "true"], "networkPolicy": False, "replicas": 2, "enabled": True, "global": {"x": 1}}


@pytest.mark.parametrize("plane", [False, True])
def test_one_file_of_values_for_both(helm, chart, plane_chart, tmp_path, plane):
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(PLACED | ({"tlsSecret": "1e3"} if plane else {"proxy": "http://p:1", "watchNamespaces": ["a", "b"]})))
    rendered = objects(render(helm, plane_chart if plane else chart, "-f", file).stdout)
    flags = ("--control-plane",) if plane else ()
    made = objects(manifests("--namespace", "ray", *flags, "--registry=localhost", f"--values={file}"))
    assert rendered == {k: v for k, v in made.items() if k[0] != "CustomResourceDefinition"}
    pods = [o["spec"]["template"]["spec"] for k, o in rendered.items() if k[0] == "Deployment"]
    assert pods[0]["imagePullSecrets"] == [{"name": "123"}, {"name": "true"}] and pods[0]["tolerations"] == [{"operator": "Exists"}]


def test_the_same_file_for_an_edge(tmp_path):
    """Its pod has what the operator's pod has; a flag wins over the file, and keys that an edge has no use for are refused by name."""
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps({k: v for k, v in PLACED.items() if k != "networkPolicy"}))
    edge = objects(mobula("edge", "--print", "--namespace=ray", "--registry=localhost", f"--values={file}", "--replicas=3").stdout)
    operator = objects(manifests("--namespace", "ray", "--registry=localhost", f"--values={file}"))
    deployment, there = edge[("Deployment", "ray", "mobula-edge")]["spec"], operator[("Deployment", "ray", "mobula")]["spec"]
    pod, like = deployment["template"], there["template"]
    assert deployment["replicas"] == 3 and pod["metadata"]["annotations"] == like["metadata"]["annotations"] == PLACED["podAnnotations"]
    assert PLACED["podLabels"].items() <= pod["metadata"]["labels"].items()
    for field in ("tolerations", "nodeSelector", "affinity", "topologySpreadConstraints", "priorityClassName", "imagePullSecrets"):
        assert pod["spec"][field] == like["spec"][field], field
    for field in ("image", "resources", "env"):
        assert pod["spec"]["containers"][0][field] == like["spec"]["containers"][0][field], field
    assert edge[("Service", "ray", "mobula-edge")]["metadata"]["annotations"] == PLACED["serviceAnnotations"]
    file.write_text("requests: {cpu: null, memory: 20Mi}\n")
    made = objects(mobula("edge", "--print", f"--values={file}").stdout)[("Deployment", "default", "mobula-edge")]
    assert made["spec"]["template"]["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "50m", "memory": "20Mi"}, "limits": {"cpu": "1", "memory": "64Mi"}}
    file.write_text("cpu: 2\nnetworkPolicy: false\n")
    refused = mobula("edge", "--print", f"--values={file}")
    assert refused.returncode == 2 and f"{file}:2: networkPolicy: unknown flag" in refused.stderr


def test_a_part_of_another_chart(helm, chart, tmp_path):
    shutil.copytree(chart, tmp_path / "charts/mobula")
    version = re.search(r"^version: (.+)$", (chart / "Chart.yaml").read_text(), re.M)[1]
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies:\n"
                                         f"- {{name: mobula, version: {version}, repository: '', condition: mobula.enabled}}\n")
    (tmp_path / "values.yaml").write_text("global: {clusterName: north-1}\nmobula: {enabled: true, registry: r.example}\n")
    assert ("Deployment", "ray", "mobula") in objects(render(helm, tmp_path).stdout)
    assert "Deployment" not in render(helm, tmp_path, "--set", "mobula.enabled=false").stdout


def test_values_of_an_older_chart(helm, chart, space, tmp_path):
    """helm upgrade --reuse-values passes only the old chart's values: values that the old chart lacked get their defaults."""
    def run(*words):
        return run_helm(helm, *words, namespace=space.name, config=RUN / "admin.kubeconfig")[0]

    shutil.copytree(chart, tmp_path / "old")
    kept = ("image", "registry", "replicas", "cpu", "memory", "kinds")
    lines = (chart / "values.yaml").read_text().splitlines(True)
    (tmp_path / "old/values.yaml").write_text("".join(line for line in lines if line.startswith(kept)))
    for name in ("serviceaccounts", "roles", "rolebindings", "networkpolicies"):
        kubectl("-n", space.name, "delete", name, "--all")
    (tmp_path / "old/values.schema.json").unlink()
    empty = "requests=null,podLabels=null,watchNamespaces=null,bucket=null"  # the older release keeps them, because its chart lacks them
    run("install", "m", tmp_path / "old", "--set", f"registry=r.example,{empty}")
    for how in ("--reuse-values", "--reset-then-reuse-values", "--set=requests.cpu=null"):
        run("upgrade", "m", chart, how, "--set", "registry=r.example")
        assert objects(run("get", "manifest", "m")) == objects(render(helm, chart, "-n", space.name, "--set", "registry=r.example").stdout)
    run("uninstall", "m")


def test_the_charts_bring_the_definitions(chart, plane_chart):
    optional = ("--raycronjobs", "--rayservices", "--versionedservices", "--no-admission-policy")
    for at, flags in (chart, optional), (plane_chart, ("--control-plane",)):
        brought = objects("\n---\n".join(p.read_text() for p in (at / "crds").iterdir()))
        printed = objects(manifests("--crds-only", *flags))
        assert brought == {k: v for k, v in printed.items() if k[0] == "CustomResourceDefinition"}


@pytest.mark.parametrize("values", ["kinds=Ray", "replicas=0", "replicas=17", "watchNamespaces={A_B}", "nonsense=1", "autoscaler=maybe",
                                    "proxies=a", "proxies=a=https://b", "egressCa=A",
                                    # and together, as mobula install does
                                    "controlPlaneUrl=https://hub.example", "noProxy=a",
                                    "submitter=pod,tools=none", "allNamespaces=true,watchNamespaces={a}", "agentDirect=true",
                                    "proxySecret=p", "proxySecret=p,proxy=http://p.example",
                                    "toolsResources=much", "agentResources=cpu", "pullSecrets={1}", "image=a b", "podLabels.a=1",
                                    "tolerations=all",
                                    "controlPlaneUrl=https://hub.example,cloudDeploymentId=cldrsrc_abcdefghijklmnopqrstuvwx,kinds=legacy"])
def test_the_schema_refuses(helm, chart, values):
    out = render(helm, chart, "--set", values, check=False)
    assert out.returncode != 0 and "values don't meet the specifications of the schema" in out.stderr


HEX = 64 * "a"
AGREED = {  # value of the chart, flag of install, texts that both accept, texts that both refuse
    "image": ("image", "a a:1 a/b_c.d:T.1 h.example/a h.example:5000/a/b@sha256:" + HEX + " localhost/a [fd00::1]:5000/a a__b Host/x",
              "http://h/a h//a a/ :1 a: a:-b a:b:c A h/A a@sha256:1 a@" + HEX + " a..b a___b -a h:0/a h_x.y:1/a https://h/a:1"),
    "registry": ("registry", "h h.example h.example:5000 h.example/a/b localhost:5000 10.0.0.1:5000/x",
                 "http://h.example https://h.example/a h//a h/A h.example:0 h.example: a@b"),
    "tools": ("tools", "configmap none image:a image:h.example/a:1", "image: image:http://h/a image:h//a image configmaps"),
    "pullSecrets": ("pull-secret", "a a.b a-1", "A a_b -a a- .a http://a"),
    "watchNamespaces": ("watch-namespace", "a a-1 1", "A a.b a_b -a a- http://a ns/a " + 64 * "a"),
    "egressAllow": ("egress-allow", "a.example a.example:8443 *.a.example 10.0.0.0/8 10.0.0.1:1 [fd00::1]:443 fd00::/8 x*.a.example",
                    "https://a.example a.example/x a.example:0 *.* a:b http://10.0.0.1 a.example:443/"),
    "proxy": ("proxy", "http://p p.example:3128 http://p.example:3128 http://u:w@p.example:3128/ http://10.0.0.1:1",
              "https://p.example http:// http://p.example:0"),
    "controlPlaneUrl": ("control-plane-url", "https://hub.example https://hub.example:8443 https://hub.example/a/b https://10.0.0.1",
                        "hub.example http://hub.example https:// https:///x https://hub.example:0 https://u:w@hub.example"),
    "defaultImage": ("default-image", "a h.example/ray:2.60.0", "http://h/a h//a a: A"),
    "controlPlaneToken": ("control-plane-token", "a a.b a/token a/ANYSCALE_CLI_TOKEN", "A a/ /a a/b/c -a"),
}
PLANE = {"controlPlaneUrl": "https://hub.example", "cloudDeploymentId": "cldrsrc_" + 24 * "a"}


@pytest.mark.parametrize("value", AGREED)
def test_the_schema_refuses_what_the_flag_refuses(chart, value):
    """Image references, hosts, names: the schema's patterns and the readers of the flags give the same verdict on each text."""
    flag, good, bad = AGREED[value]
    schema, usual = json.loads((chart / "values.schema.json").read_text()), yaml.safe_load((chart / "values.yaml").read_text())
    plane = PLANE if flag.startswith("control-plane") or flag == "default-image" else {}
    for text, well in [(t, True) for t in good.split()] + [(t, False) for t in bad.split()]:
        values = usual | plane | {value: [text] if schema["properties"][value]["type"] == "array" else text}
        flags = [f"--{re.sub('([A-Z])', lambda m: '-' + m[1].lower(), key)}={v}" for key, v in plane.items() if key != value]
        refused = mobula("install", "--print", *flags, f"--{flag}={text}")
        schema_takes = not list(jsonschema.Draft7Validator(schema).iter_errors(values))
        assert (refused.returncode == 0, schema_takes) == (well, well), (text, refused.stderr)


@pytest.mark.parametrize("values,text", [
    ("cloudDeploymentId=cldrsrc_abcdefghijklmnopqrstuvwx", "cloudDeploymentId needs controlPlaneUrl"),
    ("controlPlaneToken=a", "controlPlaneToken needs controlPlaneUrl"), ("egressCa=a", "egressCa needs controlPlaneUrl"),
    ("defaultImage=a", "defaultImage needs controlPlaneUrl"), ("agent=true", "agent needs controlPlaneUrl"),
    ("reportNodes=true", "reportNodes needs controlPlaneUrl"), ("anyscaleCliToken=x", "store it in a Secret")])
def test_a_value_that_cannot_be_used_is_named(helm, chart, values, text):
    out = render(helm, chart, "--set", values, check=False)
    assert out.returncode != 0 and text in out.stderr, out.stderr


def test_the_documents_helm_values(helm, chart, tmp_path):
    """The values of the vendor's documents, with the URL of the control plane: by helm and by --values."""
    values = PLANE | {"cloudProvider": "aws", "region": "us-west-2", "workloadServiceAccountName": "workers", "operatorIamIdentity": "x"}
    rendered = objects(render(helm, chart, *(w for k, v in values.items() for w in ("--set-string", f"{k}={v}"))).stdout)
    printed = manifests("-n", "ray", "--kinds=ray.io", "--registry=localhost", "--cloud-provider=aws", "--workload-service-account=workers",
                        "--control-plane-url=https://hub.example", f"--cloud-deployment-id={PLANE['cloudDeploymentId']}")
    assert rendered == {k: v for k, v in objects(printed).items() if k[0] != "CustomResourceDefinition"}
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values))
    out = mobula("install", "--print", "-n", "ray", "--kinds=ray.io", "--registry=localhost", "--values", str(file))
    assert {k: v for k, v in objects(out.stdout).items() if k[0] != "CustomResourceDefinition"} == rendered
    assert "value region has no effect" in out.stderr and "value operatorIamIdentity has no effect" in out.stderr, out.stderr
    file.write_text(json.dumps({"anyscaleCliToken": "secret"}))
    out = mobula("install", "--print", "--values", str(file))
    assert out.returncode == 2 and "store it in a Secret" in out.stderr and "secret\n" not in out.stderr, out.stderr


@pytest.mark.parametrize("values", ["kinds=all", "replicas=0", "tlsSelfMade=", "allNamespaces=true,watchNamespaces={a}", "tlsNames={a b}",
                                    "tlsNames={https://a}", "tlsSecret=-a", "image=http://h/a"])
def test_the_schema_of_a_control_plane_refuses(helm, plane_chart, values):
    out = render(helm, plane_chart, "--set", values, check=False)
    assert out.returncode != 0 and "values don't meet the specifications of the schema" in out.stderr


def test_kustomize_takes_the_manifests_of_a_bundle(tmp_path):
    """As they are, and in another namespace's place."""
    names = re.search(r"^resources: \[(.+)\]$", (ROOT / "airgap/bundle").read_text(), re.M)[1].split(", ")
    (tmp_path / "kustomization.yaml").write_text(re.search(r'KUSTOMIZATION = """(.+?)"""', (ROOT / "airgap/bundle").read_text(), re.S)[1])
    printed = [manifests("--crds-only"), manifests("--no-crds", "--create-namespace")]
    for name, text in zip(names, printed):
        (tmp_path / name).write_text(text)
    assert objects(kubectl("kustomize", tmp_path).stdout) == objects("\n---\n".join(printed))
    with (tmp_path / "kustomization.yaml").open("a") as more:
        more.write("images: [{name: localhost/mobula, newName: registry.example/mobula, newTag: 1.2.3}]\n")
    made = objects(kubectl("kustomize", tmp_path).stdout)
    pod = made[("Deployment", "mobula", "mobula")]["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "registry.example/mobula:1.2.3"
