"""Fields of a RayCluster that are edited while it runs, on a real API server: without upgradeStrategy no pod is replaced, and the head
service, its EndpointSlice, status and new workers lead to the head that runs. (tests/world/t_fields edits all fields of the model.)"""

from cluster import V1, condition, eventually, raycluster

HEAD, WORKER = "/spec/headGroupSpec", "/spec/workerGroupSpecs/0"
POD = HEAD + "/template/spec"
EDITS = {
    "label": (HEAD + "/template/metadata", {"labels": {"app.kubernetes.io/name": "mine"}}),
    "created-by": (HEAD + "/template/metadata", {"labels": {"app.kubernetes.io/created-by": "me"}}),
    "identifier": (HEAD + "/template/metadata", {"labels": {"ray.io/identifier": "mine"}}),
    "image": (POD + "/containers/0/image", "ray:3"),
    "ports": (POD + "/containers/0/ports", [{"containerPort": 9265, "name": "dashboard"}]),
    "env": (POD + "/containers/0/env", [{"name": "RAY_ADDRESS", "value": "elsewhere:1"}]),
    "command": (POD + "/containers/0/command", ["sleep", "1"]),
    "account": (POD + "/serviceAccountName", "default"),
    "gcs-port": (HEAD + "/rayStartParams", {"port": "7000"}),
    "dashboard-port": (HEAD + "/rayStartParams", {"dashboard-port": "9000"}),
    "client-port": (HEAD + "/rayStartParams", {"ray-client-server-port": "9001"}),
    "metrics-port": (HEAD + "/rayStartParams", {"metrics-export-port": "9002"}),
    "no-port": (HEAD + "/rayStartParams", {"port": "none", "dashboard-port": "9000"}),
    "service-type": (HEAD + "/serviceType", "NodePort"),
    "service-name": (HEAD + "/headService", {"metadata": {"name": "other"}}),
    "service-notes": ("/spec/headServiceAnnotations", {"example.com/a": "b"}),
    "auth": ("/spec/authOptions", {"mode": "disabled"}),
    "version": ("/spec/rayVersion", "2.55.0"),
    "worker-image": (WORKER + "/template/spec/containers/0/image", "ray:3"),
    "worker-params": (WORKER + "/rayStartParams", {"num-cpus": "3"}),
}


def head_of(space, name):
    [head] = [p for p in space.pods(name) if p["metadata"]["labels"]["ray.io/node-type"] == "head"]
    return head


def addresses(space, service):
    query = f"endpointslices?labelSelector=kubernetes.io/service-name%3D{service}"
    slices = space.api.get(f"/apis/discovery.k8s.io/v1/namespaces/{space.name}/{query}")
    return {a for s in slices["items"] for e in s.get("endpoints") or [] for a in e["addresses"]}


def leads(space, name, before):
    """Whether the services, status and addresses still point to the head pod `before`."""
    cluster, head = space.cluster(name), head_of(space, name)
    assert head["metadata"]["uid"] == before["metadata"]["uid"], "the head was replaced"
    status = cluster["status"]
    assert status["observedGeneration"] == cluster["metadata"]["generation"]
    service = space.api.get(space.path("services", status["head"]["serviceName"]))
    assert service["spec"]["selector"].items() <= head["metadata"]["labels"].items()
    assert addresses(space, status["head"]["serviceName"]) == {head["status"]["podIP"]}
    ports = {p["name"]: p["targetPort"] for p in service["spec"]["ports"]}
    assert [ports.get(n) for n in ("gcs-server", "dashboard", "client", "metrics")] == [6379, 8265, 10001, 8080], ports
    return cluster


def test_twenty_fields_of_running_clusters(space, operator):
    assert len(EDITS) == 20
    for name in EDITS:
        space.apply(raycluster(name, workers=1))
    heads = {}
    for name in EDITS:
        space.ready(name, 2)
        heads[name] = head_of(space, name)
    for name, (path, value) in EDITS.items():
        space.api.patch(space.path("rayclusters", name, V1), [{"op": "add", "path": path, "value": value}], "json-patch")
    for name in EDITS:
        eventually(lambda: leads(space, name, heads[name]))
    for name in EDITS:
        valid = condition(space.cluster(name), "Valid")["status"]
        assert valid == ("False" if name == "no-port" else "True"), name
    for name in EDITS:
        if name == "no-port":
            continue  # an invalid spec changes nothing
        space.api.patch(space.path("rayclusters", name, V1), [{"op": "add", "path": WORKER + "/replicas", "value": 2}], "json-patch")
        eventually(lambda: len(space.pods(name)) == 3)
        cluster = eventually(lambda: leads(space, name, heads[name]))
        for pod in space.pods(name):
            if pod["metadata"]["labels"]["ray.io/node-type"] == "worker":
                env = {e["name"]: e.get("value", "") for e in pod["spec"]["containers"][0]["env"]}
                host, port = env["RAY_ADDRESS"].rsplit(":", 1)
                known = {cluster["status"]["head"]["serviceName"], f"{name}-head-svc"}
                assert port == "6379" and host.split(".")[0] in known, env["RAY_ADDRESS"]
    drifts = {name: condition(space.cluster(name), "TemplateDrift").get("message", "") for name in EDITS}
    assert "GCS port 6379 runs, 7000 is asked for" in drifts["gcs-port"] and "dashboard port" in drifts["dashboard-port"], drifts
    assert not drifts["service-notes"] and not drifts["service-type"], drifts
