"""Fields of ray.io/v1."""

from fields import ABSENT, Field, no
from seen import V1, command, first, put_spec, settle

HEAD, SMALL = "headGroupSpec/", "workerGroupSpecs/0/"


def nothing(s, v):
    """Nothing in the objects shows it: it is taken, and the pods stay."""
    assert s.told


def count(value):
    return lambda s, v: _count(s, value(v))


def _count(s, wanted):
    assert len(s.workers) == wanted, f"{len(s.workers)} workers, wanted {wanted}"
    assert s.status["desiredWorkerReplicas"] == wanted, s.status["desiredWorkerReplicas"]


def see_version(s, v):
    new = v != ABSENT and tuple(int(n) for n in (v or "0.0").split(".")[:2]) >= (2, 53)
    for pod in s.pods:
        probe = first(pod)["readinessProbe"]
        assert ("httpGet" in probe) is new, f"rayVersion {v}: {probe}"


def see_suspend(s, v):
    on = v is True
    assert (len(s.pods), s.status["state"]) == ((0, "suspended") if on else (2, "ready")), s.status


def see_strategy(s, v):
    """What it says happens to pods when the template changes."""
    before = s.uids()
    spec = s.cluster["spec"]
    spec["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["image"] = "ray:next"
    put_spec(s.space, V1, s.name, spec)
    after = settle(s.space, V1, s.name)
    if v == "Recreate":
        assert first(after.worker)["image"] == "ray:next" and after.head["metadata"]["uid"] in before
    else:
        assert after.uids() == before, "the strategy None keeps pods"


def see_autoscaling(s, v):
    on = v is True
    assert ("--no-monitor" in command(s.head)) is on, command(s.head)
    assert all((p["spec"]["restartPolicy"] == "Never") is on for p in s.pods)


def see_annotation(s, v):
    annotations = s.service["metadata"].get("annotations", {})
    assert annotations.get("example.com/note") == (None if v == ABSENT else v)


def see_service_type(s, v):
    spec = s.service["spec"]
    assert spec["type"] == (v or "ClusterIP" if v != ABSENT else "ClusterIP"), spec
    assert (spec["clusterIP"] == "None") is (spec["type"] == "ClusterIP"), spec


def see_service_name(s, v):
    name = s.service["metadata"]["name"]
    assert name == (v if v not in (ABSENT, "") else f"{s.name}-head-svc") == s.status["head"]["serviceName"]
    assert f"{name}." in command(s.worker)


def see_service_ports(s, v):
    for port in [] if v == ABSENT else v:
        assert s.ports()[port["name"]] == (port["port"], port.get("targetPort", port["port"])), s.ports()
    assert "gcs-server" in s.ports(), s.ports()


def flag(group, name, default=None):
    """ray start is told this flag with this value, or not at all."""

    def see(s, v):
        text = command(s.head if group == "head" else s.worker)
        wanted = default if v == ABSENT else v
        assert (f" --{name}={wanted} " in text) if wanted is not None else (f"--{name}" not in text), text

    return see


def see_empty_flag(group, name):
    """A flag without a value is told as it stands; all else as flag()."""
    usual = flag(group, name)

    def see(s, v):
        if v != "":
            usual(s, v)
            return
        text = command(s.head if group == "head" else s.worker)
        assert f" --{name}='' " in text or f" --{name}= " in text, text

    return see


def see_gcs_port(s, v):
    port = 6379 if v == ABSENT else int(v)
    assert s.ports()["gcs-server"] == (port, port), s.ports()
    assert f":{port} " in command(s.worker), command(s.worker)


def see_dashboard(s, v):
    port = 8265 if v == ABSENT else int(v)
    assert f" --dashboard-port={port} " in command(s.head) or v == ABSENT
    assert f"localhost:{port}/api/gcs_healthz" in first(s.head)["readinessProbe"]["exec"]["command"][2]


def see_node_label(s, v):
    assert s.head["metadata"]["labels"].get("region") == (None if v == ABSENT else v)
    text = command(s.head)
    assert (f" --labels=region={v} " in text) if v != ABSENT else ("--labels" not in text), text


def image(group):
    def see(s, v):
        assert first(s.head if group == "head" else s.worker)["image"] == v

    return see


def see_cpu(s, v):
    amount = first(s.head)["resources"].get("limits", {}).get("cpu")
    assert amount == (None if v == ABSENT else v), amount
    whole = {"1m": "1", "1k": "1000"}.get(v, v)  # Ray counts whole CPUs, and a part of one as one
    assert (f" --num-cpus={whole} " in command(s.head)) or v == ABSENT, command(s.head)


def write_cpu(spec, v):
    resources = spec["headGroupSpec"]["template"]["spec"]["containers"][0]["resources"]
    for side in ("limits", "requests"):
        resources[side].pop("cpu")
        if v != ABSENT:
            resources[side]["cpu"] = v


def see_template_label(s, v):
    assert s.head["metadata"]["labels"].get("team") == (None if v == ABSENT else v)


def see_group_name(s, v):
    assert {p["metadata"]["labels"]["ray.io/group"] for p in s.workers} == {v} and len(s.workers) == 1


def write_hosts(spec, v):
    group = spec["workerGroupSpecs"][0]
    if v in (1024, 1025):
        group["replicas"] = 0  # a thousand pods say no more than none
    if v != ABSENT:
        group["numOfHosts"] = v


def see_hosts(s, v):
    hosts = 1 if v in (ABSENT, None) else v
    _count(s, 0 if hosts == 1024 else hosts)
    headless = [x for x in s.services if x["metadata"]["name"].endswith("-headless")]
    if hosts > 1:
        assert len(headless) == 1
        indices = {p["metadata"]["labels"]["ray.io/replica-host-index"] for p in s.workers}
        assert indices == {str(i) for i in range(len(s.workers))}, indices


def write_groups(spec, v):
    small = spec["workerGroupSpecs"][0]
    if v == ABSENT:
        del spec["workerGroupSpecs"]
    else:
        spec["workerGroupSpecs"] = [{**small, "groupName": g, "replicas": 1 if len(v) < 9 else 0} for g in v]


def see_groups(s, v):
    names = [] if v == ABSENT else v
    running = names if len(names) < 9 else []
    assert sorted(p["metadata"]["labels"]["ray.io/group"] for p in s.workers) == sorted(running)
    assert [g["name"] for g in s.status["groups"][1:]] == names


def with_replicas(n):
    def change(spec):
        spec["workerGroupSpecs"][0]["replicas"] = n

    return change


def with_service(spec):
    """A service of the user's from the beginning, so that changes of it are changes and not another kind of service."""
    spec["headGroupSpec"]["headService"] = {"spec": {"type": "ClusterIP"}}


def with_v2(spec):
    spec["autoscalerOptions"] = {"version": "v2"}


def clamped(low, high):
    return lambda v: max(low, min(high, 0 if v in (ABSENT, None) else v))


FIELDS = [
    Field("ray-version", V1, "rayVersion", "1.0.0", "999.999.999", "", no(7), "2.53.0", see_version),
    Field("suspend", V1, "suspend", False, True, None, no("yes"), True, see_suspend),
    Field("upgrade-strategy", V1, "upgradeStrategy/type", "None", "Recreate", no(""), no("Sometimes"), "Recreate", see_strategy),
    Field("autoscaling", V1, "enableInTreeAutoscaling", False, True, None, no("true"), True, see_autoscaling),
    Field("autoscaler-version", V1, "autoscalerOptions/version", "v1", "v2", no(""), no("v3"), "v2", nothing, keeps=True),
    Field("idle-timeout", V1, "autoscalerOptions/idleTimeoutSeconds", 0, 2147483647, None, no(-1), 300, nothing, keeps=True),
    Field("upscaling-mode", V1, "autoscalerOptions/upscalingMode", "Default", "Conservative", no(""), no("Wild"), "Aggressive", nothing,
          keeps=True),
    Field("service-annotation", V1, "headServiceAnnotations/example.com~note", "a", "x" * 200000, "", no(5), "b", see_annotation,
          keeps=True,
          write=lambda spec, v: spec.update(headServiceAnnotations={} if v == ABSENT else {"example.com/note": v})),
    Field("service-type", V1, HEAD + "serviceType", "ClusterIP", "LoadBalancer", "", no("External"), "NodePort", see_service_type,
          keeps=True),
    Field("service-name", V1, HEAD + "headService/metadata/name", "@x", "@" + "x" * 57, "", no("Not_A_Name"), "@-front", see_service_name),
    Field("service-ports", V1, HEAD + "headService/spec/ports", [{"name": "one", "port": 1}], [{"name": "last", "port": 65535}], [],
          no([{"port": 80}], "name"), [{"name": "web", "port": 80, "targetPort": 8265}], see_service_ports, keeps=True, base=with_service),
    Field("head-num-cpus", V1, HEAD + "rayStartParams/num-cpus", "0", "1000000", "", no(4), "2", see_empty_flag("head", "num-cpus"),
          base=lambda spec: spec["headGroupSpec"]["template"]["spec"]["containers"][0].pop("resources")),
    Field("gcs-port", V1, HEAD + "rayStartParams/port", "1", "65535", no(""), no("70000"), "6380", see_gcs_port),
    Field("dashboard-port", V1, HEAD + "rayStartParams/dashboard-port", "1", "65535", no(""), no("http"), "8266", see_dashboard),
    Field("head-resources", V1, HEAD + "resources/CPU", "0", "1000000", no("", "CPU"), no("lots", "CPU"), "2",
          flag("head", "num-cpus", "1")),
    Field("head-labels", V1, HEAD + "labels/region", "a", "a" * 63, "", no("not valid!", "region"), "b", see_node_label),
    Field("head-image", V1, HEAD + "template/spec/containers/0/image", "r", "registry.example.com/" + "x" * 230, no(""), no(5), "ray:3",
          image("head"), drop=no(ABSENT)),
    Field("head-cpu", V1, HEAD + "template/resources/cpu", "1m", "1k", no("", "cpu"), no("lots", "cpu"), "2", see_cpu, write=write_cpu),
    Field("head-template-label", V1, HEAD + "template/metadata/labels/team", "a", "a" * 63, "", no("no good", "label"), "b",
          see_template_label),
    Field("group-name", V1, SMALL + "groupName", "a", "g" * 63, no(""), no("a b"), "large", see_group_name, drop=no(ABSENT)),
    Field("replicas", V1, SMALL + "replicas", 0, 2147483647, None, no(-1), 3, count(clamped(0, 5)), keeps=True),
    Field("min-replicas", V1, SMALL + "minReplicas", 0, 5, None, no(6), 3, count(clamped(1, 5)), keeps=True),
    Field("max-replicas", V1, SMALL + "maxReplicas", 0, 2147483647, None, no(-1), 1, count(lambda v: 2 if v in (ABSENT, None) else min(2,
          v)),
          keeps=True, base=with_replicas(2)),
    Field("hosts", V1, SMALL + "numOfHosts", 1, 1024, None, no(1025), 2, see_hosts, write=write_hosts),
    Field("group-suspend", V1, SMALL + "suspend", False, True, None, no("on"), True, count(lambda v: 0 if v is True else 1)),
    Field("workers-to-delete", V1, SMALL + "scaleStrategy/workersToDelete", ["@-nobody"], [f"@-nobody-{i}" for i in range(1000)], [],
          no([5]),
          ["@-somebody"], nothing, keeps=True),
    Field("group-idle-timeout", V1, SMALL + "idleTimeoutSeconds", 0, 2147483647, None, no(-5), 30, nothing, keeps=True, base=with_v2),
    Field("worker-image", V1, SMALL + "template/spec/containers/0/image", "r", "registry.example.com/" + "x" * 230, no(""), no(5), "ray:3",
          image("worker"), drop=no(ABSENT)),
    Field("worker-flag", V1, SMALL + "rayStartParams/object-store-memory", "0", "99999999999", "", no(5), "1000000",
          see_empty_flag("worker", "object-store-memory")),
    Field("groups", V1, "workerGroupSpecs", ["a"], [f"g{i}" for i in range(256)], [], no(["a", "a"], "groupName"), ["a", "b"], see_groups,
          write=write_groups),
]
