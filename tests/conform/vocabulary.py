"""The words that requests are made of: kinds, and bodies of them that are mostly right."""

import copy
from pathlib import Path

NAMES = ("a", "b", "c")
MANAGERS = ("alice", "bob", "carol")
TIMES = ("2021-01-01T00:00:00Z", "2021-02-03T04:05:06Z")
MICROTIMES = ("2021-01-01T00:00:00.000000Z", "2021-02-03T04:05:06.789012Z")


class Kind:
    def __init__(self, kind, base, plural, make, change, status=None, custom=False, weight=2):
        self.kind, self.base, self.plural, self.make, self.change = kind, base, plural, make, change
        self.status, self.custom, self.weight = status, custom, weight
        self.version = base.removeprefix("/apis/").removeprefix("/api/")
        group = self.version.rpartition("/")[0]
        self.key = kind + (f".{group}" if custom else "")  # as servers.Memory names it

    def path(self, name="", sub=""):
        return f"{self.base}/namespaces/@ns()/{self.plural}" + (f"/{name}" if name else "") + (f"/{sub}" if sub else "")

    def typed(self, body):
        return {"apiVersion": self.version, "kind": self.kind, **body}


def some(rng, values, least=0):
    return rng.sample(list(values), rng.randint(least, len(values)))


def mostly(rng, right, *wrong):
    """The right value, or once in a while a wrong one."""
    return rng.choice(wrong) if wrong and rng.random() < 0.06 else right


# ---- bodies: make(rng) gives what stands beside metadata; change(rng) a merge patch of it ----


def configmap(rng):
    body = {}
    if rng.random() < 0.8:
        body["data"] = {k: rng.choice(["1", "2", "", "text\nwith lines"]) for k in some(rng, ["k", "l", "m.txt"], 1)}
    if rng.random() < 0.1:
        body["binaryData"] = {"b": mostly(rng, "AAEC", "not base64")}
    if rng.random() < 0.05:
        body["immutable"] = True
    if rng.random() < 0.03:
        body["data"] = {mostly(rng, "k", "no/slash", ""): "1"}
    return body


def configmap_change(rng):
    return {"data": {rng.choice("klm"): rng.choice(["1", "2", "3", None])}}


def secret(rng):
    body = {"stringData": {k: rng.choice(["1", "2"]) for k in some(rng, ["k", "l"], 1)}}
    if rng.random() < 0.5:
        body = {"data": {"d": mostly(rng, "MTIz", "%%%")}}
    if rng.random() < 0.3:
        body["type"] = rng.choice(["Opaque", "conform.test/kind"])
    return body


def secret_change(rng):
    return {"data": {rng.choice("kd"): rng.choice(["MQ==", "Mg==", None])}}


def account(rng):
    body = {}
    if rng.random() < 0.3:
        body["automountServiceAccountToken"] = rng.random() < 0.5
    if rng.random() < 0.3:
        body["imagePullSecrets"] = [{"name": n} for n in some(rng, ["p", "q"], 1)]
    return body


def account_change(rng):
    return {"automountServiceAccountToken": rng.choice([True, False, None])}


def service(rng):
    ports = [{"name": n, "port": mostly(rng, p, 0, 70000 + p)} for n, p in some(rng, [("gcs", 6379), ("client", 10001), ("http", 8265)], 1)]
    if len(ports) == 1 and rng.random() < 0.5:
        del ports[0]["name"]
    for p in ports:
        if rng.random() < 0.3:
            p["targetPort"] = mostly(rng, rng.choice([8080, "web"]), 0, "not_a_name")
        if rng.random() < 0.2:
            p["protocol"] = mostly(rng, rng.choice(["TCP", "UDP"]), "tcp")
        if rng.random() < 0.1:
            p["appProtocol"] = "http"
    spec = {"ports": ports, "selector": {"ray.io/cluster": rng.choice("xy")}}
    if rng.random() < 0.4:
        spec["clusterIP"] = mostly(rng, "None", "300.1.1.1", "1.2.3.4")
        if rng.random() < 0.3:
            del spec["ports"]
    if rng.random() < 0.2:
        spec["type"] = mostly(rng, rng.choice(["ClusterIP", "NodePort"]), "Nonsense")
        if spec["type"] == "NodePort":
            spec.pop("clusterIP", None)
    if rng.random() < 0.2:
        spec["publishNotReadyAddresses"] = True
    if rng.random() < 0.1:
        spec["sessionAffinity"] = mostly(rng, "None", "Sometimes")
    return {"spec": spec}


def service_status(rng):
    condition = {"type": "Ready", "status": rng.choice(["True", "False"]), "reason": "Why", "message": "m", "lastTransitionTime": TIMES[0]}
    return {"status": {"conditions": [condition]}}


def service_change(rng):
    return {"spec": rng.choice([{"selector": {"ray.io/cluster": rng.choice("xyz")}}, {"publishNotReadyAddresses": rng.choice([True, None])},
                                {"selector": {"extra": rng.choice(["1", None])}}, {"ports": [{"port": rng.choice([80, 81])}]},
                                {"sessionAffinity": rng.choice(["None", "None", "Other"])}])}


def container(rng, name="ray-head"):
    c = {"name": name, "image": rng.choice(["ray:2.52.0", "registry.local/ray", "ray@sha256:" + "0" * 64, "ray:latest"])}
    if rng.random() < 0.6:
        c["resources"] = {"limits": {"cpu": rng.choice(["1", "500m", "1000m", "0.5"]), "memory": rng.choice(["1Gi", "1024Mi", "1G"])}}
        if rng.random() < 0.5:
            c["resources"]["requests"] = {"cpu": rng.choice(["100m", "0.1", "1"])}
    if rng.random() < 0.4:
        c["env"] = [{"name": n, "value": rng.choice(["1", "", "x y"])} for n in some(rng, ["A", "B", "C"], 1)]
        if rng.random() < 0.5:
            c["env"].append({"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
    if rng.random() < 0.4:
        c["ports"] = [{"containerPort": p, "name": n} for n, p in some(rng, [("gcs", 6379), ("http", 8265)], 1)]
    if rng.random() < 0.3:
        c["command"] = ["/bin/sh", "-c", "ray start --head"]
    if rng.random() < 0.3:
        c["readinessProbe"] = rng.choice([{"exec": {"command": ["true"]}}, {"httpGet": {"port": 8265}}, {"tcpSocket": {"port": "http"}},
                                          {"httpGet": {"path": "/x", "port": 80}, "periodSeconds": 3}])
    if rng.random() < 0.3:
        c["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
    if rng.random() < 0.2:
        c["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    if rng.random() < 0.05:
        c["name"] = rng.choice(["Upper", "", "two.dots"])
    if rng.random() < 0.03:
        del c["image"]
    return c


def pod_spec(rng):
    spec = {"containers": [container(rng)]}
    if rng.random() < 0.3:
        spec["containers"].append(container(rng, mostly(rng, "side", "ray-head")))
    if rng.random() < 0.3:
        spec["initContainers"] = [container(rng, "wait")]
    spec["volumes"] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": rng.choice(["1Gi", "512Mi"])}}]
    if rng.random() < 0.2:
        spec["volumes"].append(rng.choice([{"name": "conf", "configMap": {"name": "a"}}, {"name": "sec", "secret": {"secretName": "a"}},
                                           {"name": "plain", "emptyDir": {}}, {"name": "host", "hostPath": {"path": "/tmp"}}]))
    if rng.random() < 0.3:
        spec["restartPolicy"] = mostly(rng, rng.choice(["Always", "Never", "OnFailure"]), "Sometimes")
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"kubernetes.io/os": "linux"}
    if rng.random() < 0.2:
        spec["tolerations"] = [{"key": "ray.io/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    if rng.random() < 0.2:
        spec["terminationGracePeriodSeconds"] = rng.choice([0, 5, 60])
    if rng.random() < 0.2:
        spec["automountServiceAccountToken"] = False
    if rng.random() < 0.1:
        spec["serviceAccountName"] = mostly(rng, "default", "missing")
    if rng.random() < 0.15:
        spec["nodeName"] = "gone"
    if rng.random() < 0.2:
        spec["securityContext"] = {"runAsNonRoot": True, "fsGroup": 1000}
    if rng.random() < 0.03:
        spec["containers"] = []
    return spec


def pod(rng):
    return {"spec": pod_spec(rng)}


def pod_change(rng):
    return {"spec": rng.choice([{"activeDeadlineSeconds": rng.choice([100, 50, None])}, {"terminationGracePeriodSeconds": 7},
                                {"restartPolicy": "Never"}, {"nodeName": "other"}, {"schedulerName": "x"},
                                {"containers": [{"name": "ray-head", "image": "ray:new"}]},
                                {"tolerations": [{"key": "new", "operator": "Exists"}]}, {"hostNetwork": True}])}


def pod_status(rng):
    condition = {"type": rng.choice(["Ready", "PodScheduled"]), "status": rng.choice(["True", "False"])}
    if rng.random() < 0.5:
        condition.update(reason="R", message="m", lastTransitionTime=rng.choice(TIMES))
    status = {"phase": rng.choice(["Pending", "Running", "Failed", "Succeeded"]), "conditions": [condition]}
    if rng.random() < 0.3:
        status["podIP"] = rng.choice(["10.244.0.5", "10.244.0.6"])
    if rng.random() < 0.3:
        status["message"] = "said by a kubelet"
    if rng.random() < 0.3:
        status["containerStatuses"] = [{"name": "ray-head", "ready": True, "restartCount": rng.choice([0, 1]), "image": "ray:2.52.0",
                                        "imageID": "", "state": {"running": {"startedAt": TIMES[0]}}}]
    return {"status": status}


def role(rng):
    rules = [{"apiGroups": [rng.choice(["", "ray.io"])], "resources": some(rng, ["pods", "pods/resize", "rayclusters"], 1),
              "verbs": some(rng, ["get", "list", "watch", "patch"], 1)} for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.2:
        rules[0]["resourceNames"] = mostly(rng, ["a"], [])
    if rng.random() < 0.08:
        del rules[-1][rng.choice(["apiGroups", "resources", "verbs"])]
    if rng.random() < 0.04:
        rules[0]["nonResourceURLs"] = ["/metrics"]
    return {"rules": rules} if rng.random() < 0.95 else {}


def role_change(rng):
    one = {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get"]}
    return {"rules": rng.choice([None, role(rng).get("rules"), [one]])}


def subject(rng):
    kind = mostly(rng, rng.choice(["ServiceAccount", "ServiceAccount", "User", "Group"]), "Robot", "")
    of = {"kind": kind, "name": mostly(rng, rng.choice(NAMES), "", "Not_Lower")}
    if kind == "ServiceAccount":
        of["namespace"] = mostly(rng, "@ns()", "")
    if rng.random() < 0.3:
        of["apiGroup"] = mostly(rng, "" if kind == "ServiceAccount" else "rbac.authorization.k8s.io", "ray.io")
    return of


def binding(rng):
    kind, name = mostly(rng, rng.choice(["Role", "ClusterRole"]), "Pod", ""), mostly(rng, rng.choice("ab"), "", "a/b")
    body = {"roleRef": {"kind": kind, "name": name}}
    if rng.random() < 0.5:
        body["roleRef"]["apiGroup"] = mostly(rng, "rbac.authorization.k8s.io", "ray.io", "")
    if rng.random() < 0.9:
        body["subjects"] = [subject(rng) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.03:
        del body["roleRef"]
    return body


def binding_change(rng):
    return rng.choice([{"subjects": [subject(rng)]}, {"subjects": None}, {"roleRef": {"name": rng.choice("ab")}}])


def lease(rng):
    spec = {"holderIdentity": rng.choice(["one", "two"]), "leaseDurationSeconds": mostly(rng, 5, 0, -1),
            "renewTime": rng.choice(MICROTIMES), "acquireTime": rng.choice(MICROTIMES), "leaseTransitions": mostly(rng, 1, -1)}
    return {"spec": {k: spec[k] for k in some(rng, sorted(spec))}}


def lease_change(rng):
    return {"spec": {"holderIdentity": rng.choice(["one", "two", ""]), "renewTime": rng.choice(MICROTIMES)}}


def event(rng):
    body = {"involvedObject": {"kind": "Pod", "name": rng.choice(NAMES), "namespace": mostly(rng, "@ns()", "default", ""),
                               "apiVersion": "v1", "uid": "@uid(Pod/a)"},
            "reason": rng.choice(["Created", "Failed"]), "message": "what happened", "type": mostly(rng, "Normal", "Odd"),
            "source": {"component": "conform"}, "firstTimestamp": TIMES[0], "lastTimestamp": rng.choice(TIMES), "count": rng.choice([1, 2])}
    if rng.random() < 0.3:
        body.update(eventTime=rng.choice(MICROTIMES), reportingComponent=mostly(rng, "ray.io/mobula", "not qualified!"),
                    reportingInstance=mostly(rng, "m-1", ""), action=mostly(rng, "Create", ""))
    return body


def event_change(rng):
    return {"count": rng.choice([2, 3]), "lastTimestamp": rng.choice(TIMES)}


def new_event(rng):
    body = {"eventTime": rng.choice(MICROTIMES), "reportingController": mostly(rng, "ray.io/mobula", "", "no spaces allowed"),
            "reportingInstance": mostly(rng, "m-1", "", "x" * 129), "action": mostly(rng, "Create", ""),
            "reason": mostly(rng, "Created", ""), "note": mostly(rng, "what happened", "n" * 1025),
            "type": mostly(rng, rng.choice(["Normal", "Warning"]), "Odd", ""),
            "regarding": {"kind": "Pod", "name": rng.choice(NAMES), "namespace": mostly(rng, "@ns()", "default")}}
    if rng.random() < 0.3:
        body["series"] = {"count": 2, "lastObservedTime": rng.choice(MICROTIMES)}
    return body


def new_event_change(rng):
    return {"series": {"count": rng.choice([2, 3]), "lastObservedTime": rng.choice(MICROTIMES)}}


def some_of(rng, **values):
    return {k: values[k] for k in some(rng, sorted(values))}


def group(rng, name):
    g = {"groupName": name, "replicas": mostly(rng, rng.choice([0, 1, 3]), -1, "two", 1.5, 2**31), "minReplicas": 0, "maxReplicas": 10,
         "rayStartParams": {}, "template": {"spec": {"containers": [{"name": "ray-worker", "image": "ray:2"}]}}}
    if rng.random() < 0.3:
        del g["minReplicas"], g["maxReplicas"]
    if rng.random() < 0.2:
        g["scaleStrategy"] = {"workersToDelete": ["w-1"]}
    if rng.random() < 0.2:
        g["idleTimeoutSeconds"] = 60
    if rng.random() < 0.04:
        g.update(rng.choice([{"maxReplicas": 0, "minReplicas": 1}, {"suspend": True}, {"groupName": "small"},
                             {"rayStartParams": {"labels": "a=b"}}, {"resources": {"CPU": "1"}, "rayStartParams": {"num-cpus": "1"}}]))
    if rng.random() < 0.05:
        del g[rng.choice(["groupName", "template"])]
    return g


def raycluster(rng):
    spec = {"rayVersion": "2.52.0",
            "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"},
                              "template": {"spec": {"containers": [{"name": "ray-head", "image": "ray:2", "unknown": {"kept": True}}]}}},
            "workerGroupSpecs": [group(rng, n) for n in some(rng, ["small", "large"])]}
    if rng.random() < 0.3:
        spec["enableInTreeAutoscaling"] = mostly(rng, True, "yes")
        spec["autoscalerOptions"] = {"upscalingMode": mostly(rng, "Default", "Whatever"), "idleTimeoutSeconds": mostly(rng, 60, "long")}
    if rng.random() < 0.2:
        spec["suspend"] = mostly(rng, False, None)
    if rng.random() < 0.1:
        spec["headGroupSpec"]["serviceType"] = mostly(rng, "ClusterIP", "Nonsense")
    if rng.random() < 0.1:
        spec["managedBy"] = mostly(rng, rng.choice(["ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"]), "me")
    if rng.random() < 0.1:
        spec["gcsFaultToleranceOptions"] = some_of(rng, redisAddress="redis:6379", backend=rng.choice(["redis", "rocksdb"]),
                                                   storage={"size": "1Gi"})
    if rng.random() < 0.1:
        spec["authOptions"] = some_of(rng, mode=mostly(rng, "token", "trust"), enableK8sTokenAuth=True, secretName="s")
    if rng.random() < 0.04:
        del spec[rng.choice(["headGroupSpec", "rayVersion", "workerGroupSpecs"])]
    if rng.random() < 0.08:
        spec["notAField"] = rng.choice([1, "x", {"y": []}])
    return {"spec": spec}


def raycluster_change(rng):
    return {"spec": rng.choice([{"suspend": rng.choice([True, False, None])}, {"rayVersion": rng.choice(["2.9.0", "2.40.0"])},
                                {"workerGroupSpecs": [group(rng, "small")]}, {"headGroupSpec": {"rayStartParams": {"x": "1"}}},
                                {"workerGroupSpecs": None}, {"headGroupSpec": None}, {"notAField": 1}])}


def conditions(rng):
    return [{"type": t, "status": rng.choice(["True", "False"]), "reason": "Why", "message": mostly(rng, "said", None),
             "lastTransitionTime": mostly(rng, TIMES[0], "yesterday")} for t in some(rng, ["HeadPodReady", "Valid"], 1)]


def raycluster_status(rng):
    status = {"state": rng.choice(["ready", "", "suspended"]), "desiredWorkerReplicas": rng.choice([0, 3]),
              "observedGeneration": mostly(rng, 1, "one"), "conditions": conditions(rng)}
    return {"status": {k: status[k] for k in some(rng, sorted(status), 1)}}


def legacy(rng):
    types = [{"name": n, "podConfig": {"metadata": {"generateName": "x-"}, "spec": {"containers": [{"name": "ray", "image": "ray:1"}]}},
              "minWorkers": mostly(rng, 0, -1), "maxWorkers": rng.choice([1, 5]), "rayResources": {"CPU": 1}}
             for n in ["head", *some(rng, ["worker", "other"])]]
    if rng.random() < 0.2:
        types[-1]["setupCommands"] = mostly(rng, ["true"], "true", [1])
    spec = {"headPodType": mostly(rng, "head", 7, "h" * 254), "podTypes": types, "maxWorkers": mostly(rng, 3, -3, "3"),
            "upscalingSpeed": mostly(rng, rng.choice([1, 1.0, 0.5]), -0.5)}
    if rng.random() < 0.2:
        spec["headServicePorts"] = [{"name": "client", "port": 10001, "targetPort": rng.choice([10001, "client"])}]
    if rng.random() < 0.04:
        del spec[rng.choice(["headPodType", "podTypes"])]
    if rng.random() < 0.05:
        spec["surprise"] = True
    return {"spec": spec}


def legacy_change(rng):
    return {"spec": rng.choice([{"maxWorkers": rng.choice([1, 2, None])}, {"idleTimeoutMinutes": rng.choice([1, 5])},
                                {"upscalingSpeed": rng.choice([1, 2.5])}, {"headStartRayCommands": ["ray stop"]}])}


def legacy_status(rng):
    return {"status": {"phase": rng.choice(["Running", "Updating"]), "autoscalerRetries": mostly(rng, 0, "none"), "anything": {"goes": 1}}}


def rayjob(rng):
    spec = {"entrypoint": "python x.py"}
    if rng.random() < 0.8:
        spec["rayClusterSpec"] = raycluster(rng)["spec"]
    if rng.random() < 0.3:
        spec["clusterSelector"] = mostly(rng, {"ray.io/cluster": "c"}, {}, {"app": "x"})
    if rng.random() < 0.3:
        spec["submissionMode"] = rng.choice(["K8sJobMode", "HTTPMode", "SidecarMode", mostly(rng, "InteractiveMode", "Pigeon")])
    if rng.random() < 0.3:
        spec["backoffLimit"] = mostly(rng, rng.choice([0, 2]), -1)
    if rng.random() < 0.4:
        spec["shutdownAfterJobFinishes"] = rng.random() < 0.8
    if rng.random() < 0.2:
        spec["ttlSecondsAfterFinished"] = rng.choice([0, 60])
    if rng.random() < 0.2:
        spec["suspend"] = rng.choice([True, False, None])
    if rng.random() < 0.2:
        spec["deletionStrategy"] = rng.choice([{"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteNone"}},
                                               {"onSuccess": {"policy": "DeleteSelf"}}, {"deletionRules": [deletion_rule(rng)]}])
    if rng.random() < 0.15:
        spec["managedBy"] = mostly(rng, rng.choice(["ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"]), "me")
    return {"spec": spec}


def deletion_rule(rng):
    condition = {k: v for k, v in (("jobStatus", "FAILED"), ("jobDeploymentStatus", "Failed"), ("ttlSeconds", 5)) if rng.random() < 0.5}
    return {"policy": "DeleteWorkers", "condition": condition}


def rayjob_change(rng):
    return {"spec": rng.choice([{"suspend": rng.choice([True, False, None])}, {"entrypoint": rng.choice(["python y.py", None])},
                                {"managedBy": rng.choice(["ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue", None])},
                                {"shutdownAfterJobFinishes": rng.choice([True, None])}, {"submissionMode": "SidecarMode"},
                                {"rayClusterSpec": {"suspend": True}}, {"backoffLimit": rng.choice([1, None])}])}


def rayjob_status(rng):
    status = {"jobStatus": rng.choice(["PENDING", "SUCCEEDED", ""]), "jobDeploymentStatus": rng.choice(["Running", "Complete"]),
              "startTime": mostly(rng, TIMES[0], "soon", None), "failed": mostly(rng, 1, "none"), "conditions": conditions(rng),
              "rayClusterStatus": {"anything": {"goes": 1}}}
    return {"status": {k: status[k] for k in some(rng, sorted(status), 1)}}


def raycronjob(rng):
    spec = {"schedule": mostly(rng, "*/5 * * * *", "", 5), "jobTemplate": rayjob(rng)["spec"]}
    if rng.random() < 0.1:
        del spec[rng.choice(sorted(spec))]
    if rng.random() < 0.3:
        spec["concurrencyPolicy"] = mostly(rng, rng.choice(["Allow", "Forbid", "Replace"]), "Perhaps")
    if rng.random() < 0.3:
        spec["suspend"] = rng.choice([True, False, None])
    if rng.random() < 0.3:
        spec["timeZone"] = mostly(rng, "Europe/Berlin", "")
    if rng.random() < 0.2:
        spec["startingDeadlineSeconds"] = mostly(rng, 10, 0)
    if rng.random() < 0.2:
        spec["failedJobsHistoryLimit"] = mostly(rng, rng.choice([0, 3]), -1)
    return {"spec": spec}


def raycronjob_change(rng):
    return {"spec": rng.choice([{"suspend": rng.choice([True, False, None])}, {"schedule": rng.choice(["@daily", "0 1 * * *", None])},
                                {"concurrencyPolicy": rng.choice(["Forbid", "Other", None])}, {"successfulJobsHistoryLimit": 5},
                                {"jobTemplate": {"entrypoint": rng.choice(["python y.py", None])}}])}


def raycronjob_status(rng):
    status = {"lastScheduleTime": mostly(rng, TIMES[0], "soon"), "missedRuns": mostly(rng, 1, "none"), "conditions": conditions(rng),
              "active": [{"anything": "goes"}]}
    return {"status": {k: status[k] for k in some(rng, sorted(status), 1)}}


def rayservice(rng):
    spec = {"serveConfigV2": mostly(rng, "applications: []", 5)}
    if rng.random() < 0.9:
        spec["rayClusterConfig"] = raycluster(rng)["spec"]
    if rng.random() < 0.3:
        spec["upgradeStrategy"] = {"type": mostly(rng, rng.choice(["NewCluster", "None"]), "Rolling")}
    if rng.random() < 0.2:
        options = {"gatewayClassName": mostly(rng, "any", 5), "stepSizePercent": mostly(rng, 10, "ten"), "intervalSeconds": 30,
                   "maxSurgePercent": rng.choice([None, 20])}
        spec["upgradeStrategy"] = {"type": "NewClusterWithIncrementalUpgrade",
                                   "clusterUpgradeOptions": {k: v for k, v in options.items() if rng.random() < 0.95}}
    if rng.random() < 0.3:
        spec["rayClusterDeletionDelaySeconds"] = mostly(rng, rng.choice([0, 60]), -1)
    if rng.random() < 0.2:
        spec["suspend"] = rng.choice([True, False, None])
    if rng.random() < 0.15:
        spec["managedBy"] = mostly(rng, "ray.io/kuberay-operator", "me")
    return {"spec": spec}


def rayservice_change(rng):
    return {"spec": rng.choice([{"suspend": rng.choice([True, False, None])}, {"serveConfigV2": rng.choice(["a: 1", None])},
                                {"excludeHeadPodFromServeSvc": rng.choice([True, None])}, {"serveService": {"spec": {"type": "NodePort"}}},
                                {"managedBy": rng.choice(["ray.io/kuberay-operator", None])}, {"rayClusterConfig": {"suspend": True}}])}


def rayservice_status(rng):
    status = {"serviceStatus": mostly(rng, "Running", 1), "numServeEndpoints": mostly(rng, 2, "none"), "conditions": conditions(rng),
              "lastUpdateTime": mostly(rng, TIMES[0], "soon"), "activeServiceStatus": {"rayClusterName": "a", "anything": {"goes": 1}}}
    return {"status": {k: status[k] for k in some(rng, sorted(status), 1)}}


KINDS = [
    Kind("ConfigMap", "/api/v1", "configmaps", configmap, configmap_change, weight=5),
    Kind("Pod", "/api/v1", "pods", pod, pod_change, pod_status, weight=5),
    Kind("Service", "/api/v1", "services", service, service_change, service_status, weight=3),
    Kind("Secret", "/api/v1", "secrets", secret, secret_change, weight=1),
    Kind("ServiceAccount", "/api/v1", "serviceaccounts", account, account_change, weight=1),
    Kind("Role", "/apis/rbac.authorization.k8s.io/v1", "roles", role, role_change, weight=1),
    Kind("RoleBinding", "/apis/rbac.authorization.k8s.io/v1", "rolebindings", binding, binding_change, weight=1),
    Kind("Event", "/api/v1", "events", event, event_change),
    Kind("Event", "/apis/events.k8s.io/v1", "events", new_event, new_event_change),
    Kind("Lease", "/apis/coordination.k8s.io/v1", "leases", lease, lease_change),
    Kind("RayCluster", "/apis/ray.io/v1", "rayclusters", raycluster, raycluster_change, raycluster_status, custom=True, weight=5),
    Kind("RayJob", "/apis/ray.io/v1", "rayjobs", rayjob, rayjob_change, rayjob_status, custom=True, weight=3),
    Kind("RayCluster", "/apis/cluster.ray.io/v1", "rayclusters", legacy, legacy_change, legacy_status, custom=True, weight=3),
    Kind("RayCronJob", "/apis/ray.io/v1", "raycronjobs", raycronjob, raycronjob_change, raycronjob_status, custom=True),
    Kind("RayService", "/apis/ray.io/v1", "rayservices", rayservice, rayservice_change, rayservice_status, custom=True),
]
DEFINED = {path.stem for path in (Path(__file__).resolve().parents[2] / "airgap/crds").glob("*ray.io.yaml")}
assert DEFINED == {f"{k.plural}.{k.version.split('/')[0]}" for k in KINDS if k.custom}, "each definition has its words here"


def metadata(rng, name, owners=None):
    """Of a new object."""
    meta = {"name": name}
    if rng.random() < 0.6:
        meta["labels"] = {k: rng.choice(["x", "y", ""]) for k in some(rng, ["app", "ray.io/cluster"], 1)}
    if rng.random() < 0.2:
        meta["annotations"] = {"conform.test/note": rng.choice(["1", "2"])}
    if rng.random() < 0.15:
        meta["finalizers"] = ["conform.test/hold"] + some(rng, ["conform.test/more"])
    if owners:
        meta["ownerReferences"] = owners
    if rng.random() < 0.04:
        wrong(rng, meta)
    return meta


def wrong(rng, meta):
    """One thing that is refused, or not listened to."""
    meta.update(copy.deepcopy(rng.choice([
        {"labels": {"not a label": "x"}}, {"labels": {"x": "-no-"}}, {"annotations": {"-": "x"}}, {"finalizers": ["unqualified"]},
        {"namespace": "elsewhere"}, {"name": "Upper_Case"}, {"name": ""}, {"resourceVersion": "5"}, {"uid": "x"},
        {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "", "uid": "x"}]}, {"generation": 7}, {"name": "x" * 254},
        {"creationTimestamp": "2021-01-01T00:00:00Z"}, {"deletionTimestamp": "2021-01-01T00:00:00Z"}, {"labels": {"x": "y" * 64}}])))
