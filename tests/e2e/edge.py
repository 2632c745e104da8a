"""`mobula edge` as a process, and an upstream for it that streams, for tests."""

import base64
import contextlib
import hashlib
import http.client
import http.server
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

from cluster import MOBULA, eventually, mobula
from processes import kubeconfig, token

ACCOUNT = "mobula-edge"
WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Upstream(http.server.ThreadingHTTPServer):
    """Says its name and what came; /sse sends an event every tenth of a second, /ws is a WebSocket that echoes, /slow takes a second."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, name):
        super().__init__(("127.0.0.1", 0), Visitor)
        self.name, self.seen, self.open = name, [], 0
        self.address = f"127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Connections that the edge ends are no news."""

    def close(self):
        self.shutdown()
        self.server_close()


class Visitor(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, *_):
        """The tests look at `seen`."""

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        whole = b""
        while size := int(self.rfile.readline(), 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def answer(self, body, status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def tell(self):
        body = self.body()
        self.server.seen.append((self.command, self.path, dict(self.headers.items()), len(body)))
        if self.path.startswith("/sse"):
            self.stream()
        elif self.path.startswith("/ws"):
            self.echo()
        elif self.path.startswith("/slow"):
            time.sleep(1)
            self.answer(self.server.name.encode())
        elif self.path.startswith("/hang-up"):
            self.close_connection = True
        else:
            told = {"name": self.server.name, "method": self.command, "path": self.path, "headers": dict(self.headers.items()),
                    "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
            self.answer(json.dumps(told).encode(), Content_Type="application/json", Set_Cookie="theirs=1")

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = tell

    def stream(self):
        self.server.open += 1
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for n in range(600):
                event = b"data: %d\n\n" % n
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                time.sleep(0.1)
        except OSError:
            pass
        finally:
            self.server.open -= 1
            self.close_connection = True

    def echo(self):
        key = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + WEBSOCKET).digest()
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", "websocket")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(key).decode())
        self.end_headers()
        while data := self.connection.recv(65536):
            self.connection.sendall(data)
        self.close_connection = True


class WebSocket:
    """A client, as far as an echo needs one."""

    def __init__(self, port, path, **headers):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        lines = {"Host": "rag.example.org", "Connection": "keep-alive, Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                 "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), **headers}
        self.socket.sendall(f"GET {path} HTTP/1.1\r\n".encode() + b"".join(f"{k}: {v}\r\n".encode() for k, v in lines.items()) + b"\r\n")
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = http.client.parse_headers(self.file)

    def say(self, payload):
        """Sends a frame and gives the payload of the one that comes back."""
        mask = os.urandom(4)
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(payload))
        size = struct.pack("!BB", 0x82, 0x80 | len(payload)) if len(payload) < 126 else struct.pack("!BBH", 0x82, 0xFE, len(payload))
        frame = size + mask + masked
        self.socket.sendall(frame)
        back = self.file.read(len(frame))
        assert back == frame, (back[:20], frame[:20])

    def close(self):
        self.file.close()
        self.socket.close()


class Edge:
    """`mobula edge` under its own account, with the rights that `mobula edge --print` gives."""

    def __init__(self, folder, namespace, routes, *flags, config=None):
        self.folder, self.file, self.log_path = folder, folder / "routes.yaml", folder / "edge.log"
        self.write(routes)
        config = config or kubeconfig(folder / "edge.kubeconfig", namespace, f'token: "{token(namespace, ACCOUNT)}"')
        command = [MOBULA, "edge", "--config", self.file, "--kubeconfig", config, "--namespace", namespace,
                   "--http-addr=127.0.0.1:0", "--metrics-addr=127.0.0.1:0", "--sandbox=on", *flags]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        eventually(lambda: "msg=started" in self.log() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log()
        self.port, self.metrics_port = (int(re.search(rf"for={flag}-addr address=\S+ port=(\d+)", self.log()).group(1))
                                        for flag in ("http", "metrics"))

    def write(self, routes):
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps({"routes": routes}) if isinstance(routes, list) else routes)
        fresh.rename(self.file)

    def log(self):
        return self.log_path.read_text()

    def ask(self, method="GET", path="/", body=None, port=None, **headers):
        """(status, headers, body)."""
        link = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=30)
        with contextlib.closing(link):
            link.request(method, path, body, {"Host": "rag.example.org", **{k.replace("_", "-"): v for k, v in headers.items()}})
            answer = link.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def told(self, **request):
        """What the upstream says of the request."""
        status, _, body = self.ask(**request)
        assert status == 200, (status, body)
        return json.loads(body)

    def metrics(self):
        text = self.ask(path="/metrics", port=self.metrics_port)[2]
        return {k: float(v) for k, v in (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))}

    def raw(self, sent, seconds=3):
        """All that comes back until the connection ends, for bytes that need not be a request."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as s:
            s.sendall(sent)
            came = b""
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                while piece := s.recv(65536):
                    came += piece
            return came

    def memory_kib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)
        return self.process.returncode


def install(space):
    """The account of an edge and its rights, as `mobula edge --print` has them."""
    out = mobula("edge", "--print", "--namespace", space.name)
    assert out.returncode == 0, out.stderr
    documents = out.stdout.split("\n---\n")
    space.kubectl("apply", "-f", "-", stdin="\n---\n".join(d for d in documents if "\nkind: Deployment\n" not in d))
    return out.stdout
