"""How the binary gets into the workers: ConfigMap mobula-tools holds the carried form of the operator's own executable."""

import base64
import subprocess

from cluster import PATIENCE, Audit, Refused, eventually, raycluster, write_carried

WAITER = "wait-gcs-ready"


def tools(space):
    try:
        return space.api.get(space.path("configmaps", "mobula-tools"))
    except Refused as e:
        assert e.status == 404
        return None


def workers(space):
    return [p for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "worker"]


def waiters(space):
    return [c for p in workers(space) for c in p["spec"].get("initContainers", []) if c["name"] == WAITER]


def test_the_configmap_holds_the_carried_form(space, operator, tmp_path):
    space.apply(raycluster("c", workers=2))
    space.ready("c", 3)
    data = base64.b64decode(eventually(lambda: tools(space))["binaryData"]["mobula"])
    copy = tmp_path / "mobula"
    assert data == write_carried(copy)
    out = subprocess.run([copy, "version"], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert out.stdout.startswith("mobula ")


def test_a_carried_operator_carries_on(space, operators, tmp_path):
    """An operator that was installed without a registry runs from a file in memory, has its sandbox, and makes the same ConfigMap."""
    copy = tmp_path / "mobula"
    carried = write_carried(copy)
    op = operators(program=copy).ready()
    space.apply(raycluster("c", workers=2))
    space.ready("c", 3)
    data = base64.b64decode(eventually(lambda: tools(space))["binaryData"]["mobula"])
    assert data == carried
    assert op.says("msg=started", "sandbox=on")


def test_workers_wait_with_it(space, operator):
    space.apply(raycluster("c", workers=2))
    space.ready("c", 3)
    assert len(waiters(space)) == 2
    c = waiters(space)[0]
    assert c["resources"] == workers(space)[0]["spec"]["containers"][0]["resources"]
    assert c["image"] == "ray:2" and "wait-gcs" in c["command"] + c.get("args", [])
    assert f"c-head-svc.{space.name}.svc.cluster.local:6379" in str(c)
    (volume,) = [v for v in workers(space)[0]["spec"]["volumes"] if v.get("configMap")]
    assert volume["configMap"]["name"] == "mobula-tools" and volume["configMap"]["defaultMode"] & 0o111
    head = next(p for p in space.pods("c") if p not in workers(space))
    assert not head["spec"].get("initContainers")


def test_it_is_applied_once(space, operator, operators):
    audit = Audit()
    for name in ("c", "d", "e"):
        space.apply(raycluster(name, workers=2))
    for name in ("c", "d", "e"):
        space.ready(name, 3)
    operator.stop()
    operators().ready()
    space.apply(raycluster("f", workers=2))
    space.ready("f", 3)
    assert audit.writes(operator.user)["patch configmaps"] == 1


def test_it_comes_back(space, operator):
    """It is looked at, at most every 15 s, when a worker is made."""
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    eventually(lambda: tools(space))
    space.api.call("DELETE", space.path("configmaps", "mobula-tools"))

    def back_after_another_worker():
        for pod in workers(space):
            space.api.call("DELETE", space.path("pods", pod["metadata"]["name"]))
        return tools(space)

    eventually(back_after_another_worker, step=1)


def test_another_binary_is_replaced(space, operators, tmp_path):
    carried = write_carried(tmp_path / "mobula")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mobula-tools"}, "binaryData": {"mobula": "AAAA"}}
    space.api.call("POST", space.path("configmaps"), body)
    operators()
    space.apply(raycluster("c", workers=1))
    eventually(lambda: base64.b64decode(tools(space)["binaryData"]["mobula"]) == carried)


def test_none_and_image(space, operators):
    first = operators("--tools=none")
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    assert not waiters(space) and not tools(space)
    first.stop()
    operators("--tools=image:registry.example/mobula:1")
    space.apply(raycluster("c", workers=2))
    space.ready("c", 3)
    assert [c["image"] for c in waiters(space)] == ["registry.example/mobula:1"] and not tools(space)


def test_no_right_to_it_is_told(space, operators):
    path = space.path("roles", "mobula", "/apis/rbac.authorization.k8s.io/v1")
    role = space.api.get(path)
    role["rules"] = [r for r in role["rules"] if "configmaps" not in r["resources"]]
    space.api.call("PUT", path, role)
    operator = operators()
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    line = operator.says("mobula-tools", "cannot get resource")
    assert "--tools=none" in line and space.name in line
