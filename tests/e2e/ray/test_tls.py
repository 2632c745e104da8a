"""Ray's own TLS with real Ray: certificates of mobula ray-cert, and the operator's requests to the GCS over mutual TLS."""

import base64
import socket
import ssl

from authorities import issue, new_key, put_ca
from cluster import V1, condition, eventually, kubectl
from real import START_S, TASKS, ended, head, scaled, submit, workers
from test_sidecar import ANNOTATION

PROGRAM = "import ray; ray.init(); print(ray.get(ray.remote(num_cpus=1)(lambda: 6 * 7).remote()))"
SEEN = ("import os; t = os.environ['RAY_TLS_SERVER_KEY']; print(oct(os.stat(t).st_mode & 0o777), os.access(t, os.R_OK), "
        "os.path.exists('/var/run/mobula-ca'), os.environ['RAY_USE_TLS'])")


def gcs(space, cluster, context=None):
    """The GCS's answer to an HTTP/2 connection preface; context: over TLS."""
    address = head(space, cluster)["status"]["podIP"]
    link = socket.create_connection((address, 6379), timeout=60)
    if context:
        link = context.wrap_socket(link, server_hostname=address)
    try:
        link.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5))
        return link.recv(64)
    except OSError:
        return b""


def test_a_job_scales_up_a_cluster_with_tls(space, operators):
    """A task needs a worker: the autoscaler's requests, wait-gcs and the worker's connection to the head use mutual TLS."""
    space.grant("--ray-auth")
    operator = operators()
    spec = scaled("c", idle_s=20)["spec"] | {"tlsOptions": {"enabled": True}}
    space.start({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "j"},
                 "spec": {"entrypoint": f'python -c "{PROGRAM}"', "rayClusterSpec": spec}})
    eventually(lambda: (space.job("j").get("status") or {}).get("rayClusterName"))
    cluster = space.job("j")["status"]["rayClusterName"]
    worker = eventually(lambda: workers(space, cluster), START_S, 0.5)[0]["metadata"]["name"]
    end = space.becomes("j", "Complete", 2 * START_S)
    assert end["jobStatus"] == "SUCCEEDED" and end["failed"] == 0, end

    secret = space.api.get(space.path("secrets", f"{cluster[-50:]}-ray-ca"))
    assert secret["metadata"]["ownerReferences"][0]["name"] == cluster and secret["type"] == "kubernetes.io/tls"
    context = ssl.create_default_context(cadata=base64.b64decode(secret["data"]["tls.crt"]).decode())
    context.set_alpn_protocols(["h2"])
    assert gcs(space, cluster) == b"", "it answers in the clear"
    assert gcs(space, cluster, context) == b"", "it answers a client without a certificate"
    name = head(space, cluster)["metadata"]["name"]
    assert kubectl("-n", space.name, "exec", name, "-c", "ray", "--", "python", "-c", SEEN).stdout.strip() == "0o600 True False 1"

    eventually(lambda: not workers(space, cluster), START_S, 0.5)
    assert condition(space.api.get(space.path("rayclusters", cluster, V1)), "Autoscaling")["status"] == "True"
    assert worker and "BEGIN" not in operator.log() and "GCSUnreachable" not in operator.log(), operator.log()


def test_a_ca_below_the_users_root_and_rays_own_autoscaler(space, operators):
    """Ray's processes and KubeRay's autoscaler, none of them running as root, trust the user's root CA and get the chain to it."""
    space.grant("--ray-auth", "--autoscaler=sidecar")
    operator = operators()
    root, key = new_key(), new_key()
    put_ca(space, "theirs", issue(key, by=root), key, issue(root))
    c = scaled("c", most=1)
    c["metadata"]["annotations"] = {ANNOTATION: "sidecar", "mobula.dev/tls-secret": "theirs"}
    c["spec"]["autoscalerOptions"] |= {"version": "v2", "imagePullPolicy": "Never"}
    c["spec"]["tlsOptions"] = {"enabled": True}
    for group in (c["spec"]["headGroupSpec"], *c["spec"]["workerGroupSpecs"]):
        group["template"]["spec"]["securityContext"] = {"runAsUser": 1000, "runAsGroup": 1000}
    space.apply(c)
    space.ready("c", 1, seconds=START_S)
    submit(space, "c", "tasks", TASKS.format(count=1, seconds=1))
    job = ended(space, "c", "tasks")
    assert job["status"] == "SUCCEEDED", job["logs"][-2000:]
    name = head(space, "c")["metadata"]["name"]
    assert kubectl("-n", space.name, "exec", name, "-c", "ray", "--", "python", "-c", SEEN).stdout.strip() == "0o600 True False 1"
    assert gcs(space, "c") == b"" and "BEGIN" not in operator.log(), operator.log()
