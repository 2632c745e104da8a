"""Interactive commands against servers that are silent or faulty: a command prints the reason once while it still tries, and ends with it
within its --timeout."""

import concurrent.futures
import contextlib
import os
import re
import socket
import subprocess
import threading

import pytest

from cluster import MOBULA

PATIENCE = 90  # seconds: far above every --timeout here
ALERT = bytes.fromhex("15030100020246")  # alert 70 (protocol_version): the answer of a TLS 1.1 server to a newer ClientHello


def answering(stack, words):
    """A listener that sends these bytes to each client and closes when the client does."""
    server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

    def one(client):
        with client, contextlib.suppress(OSError):
            client.recv(4096)
            client.sendall(words)
            while client.recv(4096):
                pass

    def serve():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=one, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return server.getsockname()


def dropping(stack):
    """A listener whose queue is full: the kernel drops the packets of further clients."""
    server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
    for _ in range(4):
        client = stack.enter_context(socket.socket())
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            client.connect(server.getsockname())
    return server.getsockname()


LATE = "no answer so far|deadline passed|no answer in time|has not answered|gave up after"
FAULTS = {  # pattern of the reason on stderr
    "refuses": "Connection refused",
    "drops packets": LATE,
    "does not resolve": "no address for|" + LATE,  # the machine's name server may be silent
    "another protocol": "no TLS at all|answer is no gRPC|answer is no HTTP",
    "another TLS version": "does not speak TLS 1.3 or 1.2, which were offered: alert 70|answer is no gRPC|answer is no HTTP|"
                           "port is open but nobody answers",
}
QUICK = "--timeout=4s"
COMMANDS = {  # FILE: a kubeconfig; HOST:PORT: the address
    "check": ("check", "--kubeconfig=FILE", QUICK),
    "explain cluster": ("explain", "cluster", "x", "--kubeconfig=FILE", QUICK),
    "logs": ("logs", "rayjob", "x", "--kubeconfig=FILE", QUICK),
    "logs -f": ("logs", "rayjob", "x", "-f", "--kubeconfig=FILE", QUICK),
    "submit --cluster": ("submit", "--cluster=x", "--submission-id=y", "--kubeconfig=FILE"),
    "submit --address": ("submit", "--address=http://HOST:PORT", "--submission-id=y", "--dashboard-timeout=4s"),
    "wait-gcs": ("wait-gcs", "--address=HOST:PORT", QUICK),
    "instance-types list": ("instance-types", "list", "--kubeconfig=FILE", QUICK),
    "instance-types suggest": ("instance-types", "suggest", "--kubeconfig=FILE", QUICK),
    "compute-config check": ("compute-config", "check", "-f=/dev/null", "-n=x", "--kubeconfig=FILE", QUICK),
    "compute-config list": ("compute-config", "list", "--kubeconfig=FILE", QUICK),
    "cloud list": ("cloud", "list", "--kubeconfig=FILE", QUICK),
    "cloud verify": ("cloud", "verify", "x", "--kubeconfig=FILE", QUICK),
    "node list": ("node", "list", "x", "--kubeconfig=FILE", QUICK),
    "job submit": ("job", "submit", "--cloud=x", "--kubeconfig=FILE", QUICK, "--", "true"),
    "job status": ("job", "status", "x", "--kubeconfig=FILE", QUICK),
    "job status by the API": ("job", "status", "x", "--server=https://HOST:PORT", "--token-file=TOKEN", QUICK),
    "job logs -f": ("job", "logs", "x", "-f", "--server=https://HOST:PORT", "--token-file=TOKEN", QUICK),
    "job wait": ("job", "wait", "x", "--kubeconfig=FILE", QUICK),
    "login": ("login", "--server=https://HOST:PORT", "--token-file=TOKEN", QUICK),
    "install": ("install", "--apply", "--kubeconfig=FILE"),
    "upgrade": ("upgrade", "--kubeconfig=FILE"),
    "rollback": ("rollback", "--kubeconfig=FILE"),
    "uninstall": ("uninstall", "--apply", "--kubeconfig=FILE"),
}


def run(place, fault, command):
    host, port = place
    file = command[0]
    words = [w.replace("HOST", host).replace("PORT", str(port)).replace("FILE", str(file)).replace("TOKEN", str(file.with_name("token")))
             for w in command[1]]
    out = subprocess.run([MOBULA, *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
                         env={**os.environ, "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"})
    lines = out.stderr.splitlines()
    reason = [i for i, line in enumerate(lines) if re.search(FAULTS[fault], line)]
    said = f"{' '.join(words)}: {out.returncode}\n{out.stderr}{out.stdout}"
    assert out.returncode == (3 if words[0] == "check" else 1), said
    assert reason and reason[0] <= (words[0] == "wait-gcs"), said  # wait-gcs prints the address first
    assert len(lines) <= 3, said  # the reason, a second reason if it changes, and the final error
    assert words[0] != "check" or re.search(FAULTS[fault], out.stdout), said
    assert words[0] in ("check", "submit", "wait-gcs") or "trying for up to" in lines[0], said


@pytest.mark.parametrize("fault", FAULTS)
def test_no_command_hangs_in_silence(fault, tmp_path):
    with contextlib.ExitStack() as stack:
        place = {"refuses": lambda: ("127.0.0.1", 1), "does not resolve": lambda: ("no-such.invalid", 6443),
                 "drops packets": lambda: dropping(stack), "another protocol": lambda: answering(stack, b"SSH-2.0-OpenSSH_9.2\r\n"),
                 "another TLS version": lambda: answering(stack, ALERT)}[fault]()
        file = tmp_path / "config"
        file.write_text(f"current-context: x\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n"
                        f"clusters: [{{name: c, cluster: {{server: 'https://{place[0]}:{place[1]}'}}}}]\n"
                        "users: [{name: u, user: {token: t}}]\n")
        (tmp_path / "token").write_text("t")
        with concurrent.futures.ThreadPoolExecutor(len(COMMANDS)) as pool:
            for done in [pool.submit(run, place, fault, (file, words)) for words in COMMANDS.values()]:
                done.result()
