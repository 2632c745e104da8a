"""Fields of cluster.ray.io/v1."""

from fields import ABSENT, Field, no
from seen import LEGACY, command, env, first


def several(value):
    """What follows from the number of workers."""
    return lambda s, v: _count(s, value(v))


def _count(s, wanted):
    assert len(s.workers) == wanted, f"{len(s.workers)} workers, wanted {wanted}"


def see_head_type(s, v):
    assert s.head["metadata"]["labels"]["ray-user-node-type"] == v


def rename_head(spec, value):
    spec["podTypes"][0]["name"] = value


def write_head_type(spec, value):
    if value == ABSENT:
        del spec["headPodType"]
    else:
        spec["headPodType"] = value


def see_ports(s, v):
    usual = {"client": (10001, 10001), "dashboard": (8265, 8265), "ray-serve": (8000, 8000), "gcs-server": (6379, 6379)}
    given = {p["name"]: (p["port"], p["targetPort"]) for p in ([] if v == ABSENT else v)}
    taken = {port for port, _ in given.values()}
    wanted = {**{k: p for k, p in usual.items() if p[0] not in taken}, **given}
    assert s.ports() == wanted, f"{s.ports()}, wanted {wanted}"


def see_resource(s, v):
    told = env(s.worker, "RAY_OVERRIDE_RESOURCES")
    assert (f'"Custom":{v}' in told) if v != ABSENT else ("Custom" not in told), told


def see_image(s, v):
    assert first(s.worker)["image"] == v


def see_head_commands(s, v):
    text = command(s.head).replace(" --block", "").replace(" --no-monitor", "")  # the operator's own, behind "ray start"
    for one in ["ray stop", "ray start --head"] if v in (ABSENT, []) else v:
        assert one in text, text


def see_setup(s, v):
    text = command(s.worker)
    for one in [] if v == ABSENT else v:
        assert f"{one}; " in text, text
    assert "ray start" in text and (v not in (ABSENT, []) or "echo" not in text), text


def nothing(s, v):
    assert s.told


MANY = [f"echo {'x' * 200} {i}" for i in range(100)]

FIELDS = [
    Field("max-workers", LEGACY, "maxWorkers", 1, 100000, None, no(0), 5, nothing, keeps=True),
    Field("idle-timeout-minutes", LEGACY, "idleTimeoutMinutes", 0, 2147483647, None, no(-1), 9, nothing, keeps=True),
    Field("head-pod-type", LEGACY, "headPodType", "h", "h" * 63, no(""), no("nobody"), "boss", see_head_type, drop=no(ABSENT),
          also=lambda spec, v: rename_head(spec, v) if v not in ("", "nobody", ABSENT) else None, write=write_head_type),
    Field("head-service-ports", LEGACY, "headServicePorts", [{"name": "client", "port": 1, "targetPort": 1}],
          [{"name": "client", "port": 65535, "targetPort": 65535}], [], no([{"name": "x", "port": 0, "targetPort": 1}], "port"),
          [{"name": "dashboard", "port": 80, "targetPort": 8265}], see_ports, keeps=True),
    Field("min-workers", LEGACY, "podTypes/1/minWorkers", 0, 3, None, no(4), 2, several(lambda v: 0 if v == ABSENT else v), keeps=True),
    Field("type-max-workers", LEGACY, "podTypes/1/maxWorkers", 1, 2147483647, None, no(0, "Workers"), 2, several(lambda v: 1),
          keeps=True),
    Field("ray-resources", LEGACY, "podTypes/1/rayResources/Custom", 0, 1000000, no(None), no("5"), 2, see_resource),
    Field("pod-image", LEGACY, "podTypes/1/podConfig/spec/containers/0/image", "r", "registry.example.com/" + "x" * 230, no(""), no(5),
          "ray:3", see_image, drop=no(ABSENT)),
    Field("head-start-commands", LEGACY, "headStartRayCommands", ["ray start --head"], [*MANY, "ray start --head"], [],
          no([5], "headStart"), ["ray stop", "ray start --head --num-cpus=1"], see_head_commands),
    Field("worker-setup-commands", LEGACY, "workerSetupCommands", ["true"], MANY, [], no("echo"), ["echo one", "echo two"], see_setup),
]
