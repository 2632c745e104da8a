"""Thirty ways to get a pod template wrong. Those of the first half the operator finds itself, those of the second only the API server."""

from dataclasses import dataclass
from typing import Callable

from case import CANARY
from seen import LEGACY, V1, base_spec, secret_env


def first(template):
    return template["spec"]["containers"][0]


def in_container(**members):
    return lambda t: first(t).update(members)


def in_spec(**members):
    return lambda t: t["spec"].update(members)


def in_metadata(**members):
    return lambda t: t.setdefault("metadata", {}).update(members)


def limit(resource, value):
    return lambda t: first(t)["resources"]["limits"].update({resource: value})


def unnamed_container(template):
    del first(template)["name"]


def unnamed_image(template):
    del first(template)["image"]


def twin_container(template):
    template["spec"]["containers"].append({"name": first(template)["name"], "image": "other:1"})


VOLUME = {"name": "v", "emptyDir": {}}
OWN = [
    ("no-containers", in_spec(containers=[]), "containers"),
    ("containers-are-no-list", in_spec(containers={"name": "x"}), "containers"),
    ("container-without-name", unnamed_container, "name"),
    ("container-without-image", unnamed_image, "image"),
    ("cpu-is-no-amount", limit("cpu", "lots"), "cpu"),
    ("memory-is-a-list", limit("memory", ["1Gi"]), "memory"),
    ("env-without-name", in_container(env=[{"value": CANARY}]), "env[0].name"),
    ("env-is-a-number", in_container(env=secret_env({"name": "A", "value": 5})), "env[1].value"),
    ("port-out-of-range", in_container(ports=[{"containerPort": 70000}]), "containerPort"),
    ("port-of-no-protocol", in_container(ports=[{"containerPort": 80, "protocol": "ICMP"}]), "protocol"),
    ("mount-without-path", in_container(volumeMounts=[{"name": "v"}]), "mountPath"),
    ("volumes-are-no-list", in_spec(volumes=VOLUME), "volumes"),
    ("volume-of-the-operator", in_spec(volumes=[{"name": "mobula-tools", "emptyDir": {}}]), "mobula-tools"),
    ("command-is-text", in_container(command=f"ray start --head --redis-password={CANARY}"), "command"),
    ("label-is-a-number", in_metadata(labels={"a": 5}), "labels"),
]
SERVERS = [
    ("two-containers-of-a-name", twin_container, "Duplicate"),
    ("request-above-limit", lambda t: first(t)["resources"]["requests"].update(cpu="64"), "equal to cpu limit"),
    ("mount-of-no-volume", in_container(volumeMounts=[{"name": "nothing", "mountPath": "/x"}]), "volumeMounts"),
    ("two-volumes-of-a-name", in_spec(volumes=[VOLUME, VOLUME]), "Duplicate"),
    ("pull-policy", in_container(imagePullPolicy="Sometimes"), "imagePullPolicy"),
    ("restart-policy", in_spec(restartPolicy="Often"), "restartPolicy"),
    ("label-value", in_metadata(labels={"a": "not good!"}), "label"),
    ("annotation-key", in_metadata(annotations={"not good!": "a"}), "annotations"),
    ("service-account-that-is-not-there", in_spec(serviceAccountName="nobody"), "nobody"),
    ("priority-class-that-is-not-there", in_spec(priorityClassName="nothing"), "nothing"),
    ("deadline-in-the-past", in_spec(activeDeadlineSeconds=-5), "activeDeadlineSeconds"),
    ("dns-without-servers", in_spec(dnsPolicy="None"), "dnsConfig"),
    ("user-below-zero", in_container(securityContext={"runAsUser": -1}), "runAsUser"),
    ("port-name-too-long", in_container(ports=[{"containerPort": 80, "name": "a-name-of-17-char"}]), "name"),
    ("text-for-a-number", in_spec(terminationGracePeriodSeconds="soon"), "terminationGracePeriodSeconds"),
]
PLACES = [(V1, "head"), (V1, "worker"), (LEGACY, "worker"), (V1, "worker"), (LEGACY, "head")]


@dataclass(frozen=True)
class Misoperation:
    id: str
    kind: str
    role: str
    change: Callable
    word: str  # in what is said about it
    by_operator: bool

    def spec(self):
        spec = base_spec(self.kind)
        self.change(template_of(spec, self.kind, self.role))
        return spec


def template_of(spec, kind, role):
    if kind == LEGACY:
        return spec["podTypes"][0 if role == "head" else 1]["podConfig"]
    return spec["headGroupSpec"]["template"] if role == "head" else spec["workerGroupSpecs"][0]["template"]


MISOPERATIONS = [Misoperation(name, *PLACES[i % len(PLACES)], change, word, own)
                 for own, table in ((True, OWN), (False, SERVERS)) for i, (name, change, word) in enumerate(table)]
