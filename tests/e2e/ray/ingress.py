"""An ingress controller for tests: nginx, configured from the Ingresses of a namespace and the endpoints of their Services. Of the
annotations of ingress-nginx it knows those that divide requests: canary, canary-weight, canary-by-header and canary-by-header-pattern.
Hosts that an Ingress lists under tls have a port with TLS."""

import base64
import http.client
import subprocess
import threading
import time

from cluster import Api, Workspace, eventually
from stores import free_port

NETWORKING, DISCOVERY = "/apis/networking.k8s.io/v1", "/apis/discovery.k8s.io/v1"
NGINX = "nginx.ingress.kubernetes.io/"
ADDRESS = "127.0.0.1"
CONF = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/client;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    proxy_http_version 1.1;
    map $http_upgrade $hop {{ default upgrade; "" ""; }}
    proxy_set_header Connection $hop;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Host $http_host;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_next_upstream_tries 3;
    server {{ listen {address}:{port} default_server; return 404; }}
{rules}
}}
"""
SITE = """
split_clients $request_id $share_{n} {{ {percent} * {primary}; }}
map $http_{header} $to_{n} {{ default $share_{n}; {pin} }}
server {{
    {listen}
    server_name {host};
    location {path} {{ proxy_pass http://$to_{n}; }}
}}
"""


def notes(ingress):
    return {k.removeprefix(NGINX): v for k, v in ingress["metadata"].get("annotations", {}).items() if k.startswith(NGINX)}


def sites(ingresses):
    """{(host, path): (Service of the main Ingress, that of the canary, its annotations)}."""
    found = {}
    for one in sorted(ingresses, key=lambda i: "canary" in notes(i)):
        for rule in one["spec"]["rules"]:
            for path in rule["http"]["paths"]:
                where, service = (rule.get("host", "_"), path["path"]), path["backend"]["service"]["name"]
                if notes(one).get("canary") != "true":
                    found[where] = (service, None, {})
                elif where in found:  # a canary without a main Ingress has no effect
                    found[where] = (found[where][0], service, notes(one))
    return found


class Ingress:
    """nginx and its controller, which looks for changes every 0.2 s."""

    def __init__(self, space, folder):
        self.space, self.folder, self.failure = Workspace(Api(), space.name), folder / "nginx", None
        self.port, self.tls_port = free_port(), free_port()
        self.folder.mkdir()
        self.file, self.text, self.reloads = self.folder / "nginx.conf", None, -1
        self.configure()
        self.process = subprocess.Popen(["nginx", "-c", self.file, "-e", self.folder / "error.log"], stdin=subprocess.DEVNULL)
        eventually(lambda: (self.folder / "nginx.pid").exists() and (self.folder / "nginx.pid").read_text())
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(space.name,), daemon=True)
        self.thread.start()

    def run(self, name):
        self.space = Workspace(Api(), name)  # connections are of one thread
        try:
            while not self.over.wait(0.2):
                if self.configure():
                    subprocess.run(["nginx", "-c", self.file, "-e", self.folder / "error.log", "-s", "reload"], check=True,
                                   capture_output=True, text=True)
        except Exception as e:  # close() raises it in the thread of the test
            self.failure = e

    def configure(self):
        """Writes the configuration, and returns whether it has changed."""
        ingresses = [i for i in self.space.api.get(self.space.path("ingresses", group=NETWORKING))["items"]
                     if i["spec"].get("ingressClassName") == "nginx"]
        table = sites(ingresses)
        services = {s for primary, canary, _ in table.values() for s in (primary, canary) if s}
        secrets = {host: tls["secretName"] for i in ingresses for tls in i["spec"].get("tls", []) for host in tls["hosts"]}
        rules = [self.upstream(s) for s in sorted(services)]
        rules += [self.site(n, one, secrets.get(one[0][0])) for n, one in enumerate(sorted(table.items()))]
        text = CONF.format(folder=self.folder, address=ADDRESS, port=self.port, rules="".join(rules))
        changed = text != self.text
        if changed:
            self.file.write_text(text)
            self.text, self.reloads = text, self.reloads + 1
        for one in ingresses:
            if not one["status"]["loadBalancer"].get("ingress"):
                self.space.api.patch(self.space.path("ingresses", one["metadata"]["name"], NETWORKING) + "/status",
                                     {"status": {"loadBalancer": {"ingress": [{"ip": ADDRESS}]}}})
        return changed

    def upstream(self, service):
        """The ready endpoints of a Service, which has one port."""
        found = self.space.api.get(self.space.path("endpointslices", group=DISCOVERY) +
                                   f"?labelSelector=kubernetes.io/service-name%3D{service}")["items"]
        servers = sorted(f"{address}:{s['ports'][0]['port']}" for s in found for e in s.get("endpoints") or []
                         if e["conditions"].get("ready") for address in e["addresses"])
        lines = "".join(f"server {s} max_fails=0; " for s in servers) or f"server {ADDRESS}:1 down; "  # 502 when there are none
        return f"upstream {service} {{ {lines}keepalive 64; }}\n"

    def certificate(self, secret):
        """Writes the files of a Secret of type kubernetes.io/tls, and returns nginx's lines for them."""
        data = self.space.api.get(self.space.path("secrets", secret))["data"]
        for name in ("tls.crt", "tls.key"):
            (self.folder / f"{secret}.{name}").write_bytes(base64.b64decode(data[name]))
        return (f"listen {ADDRESS}:{self.tls_port} ssl; ssl_certificate {self.folder}/{secret}.tls.crt;"
                f" ssl_certificate_key {self.folder}/{secret}.tls.key;")

    def site(self, n, one, secret):
        (host, path), (primary, canary, said) = one
        share, pin = int(said.get("canary-weight", 0)), ""
        listen = self.certificate(secret) if secret else f"listen {ADDRESS}:{self.port};"
        if canary and "canary-by-header" in said:
            pin = f'"~{said["canary-by-header-pattern"]}" {canary};'
        return SITE.format(n=n, host=host, path=path, listen=listen, primary=primary, pin=pin,
                           header=said.get("canary-by-header", "x_none").lower().replace("-", "_"),
                           percent=f"{share}% {canary};" if share else "")

    def close(self):
        self.over.set()
        self.thread.join(20)
        self.process.terminate()
        self.process.wait(20)
        assert self.failure is None, getattr(self.failure, "stderr", repr(self.failure))


class Client:
    """Sends `rate` requests a second, as far as the machine allows, from eight threads, and records (time, status, answer) of each request;
    status 0 is a connection that failed."""

    def __init__(self, ingress, host, rate):
        self.port, self.headers, self.rate = ingress.port, {"Host": host}, rate
        self.answers, self.over, self.began = [], threading.Event(), time.monotonic()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(8)]
        for thread in self.threads:
            thread.start()

    def run(self):
        due = time.monotonic()
        while not self.over.wait(max(0, due - time.monotonic())):
            due = max(due + len(self.threads) / self.rate, time.monotonic() - 0.1)
            self.answers.append((time.monotonic(), *ask(self.port, self.headers)))

    def since(self, when):
        """{answer: count} of the requests answered after this time; a failed request counts by its status."""
        found = {}
        for at, status, text in list(self.answers):
            if at >= when:
                word = text if status == 200 else status
                found[word] = found.get(word, 0) + 1
        return found

    def failures(self, since=0):
        return [(round(at - self.began, 2), status, text) for at, status, text in list(self.answers) if status != 200 and at >= since]

    def says(self, *words, seconds=1):
        """Whether the answers of the last seconds are exactly these, each at least once."""
        found = self.since(time.monotonic() - seconds)
        assert set(found) == set(words), found
        return found

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join(90)


def ask(port, headers, path="/"):
    """(status, answer) on a new connection: kept connections end when nginx reloads its configuration."""
    link = http.client.HTTPConnection(ADDRESS, port, timeout=60)
    try:
        link.request("GET", path, headers=headers)
        answer = link.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException) as e:
        return 0, repr(e)
    finally:
        link.close()
