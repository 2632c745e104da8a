"""mobula storage, and jobs with a folder in a bucket, against two independent stores."""

import contextlib
import functools
import gzip
import hashlib
import http.server
import io
import json
import os
import pty
import socket
import subprocess
import threading
import urllib.request
import zipfile
from pathlib import Path

import pytest

from cluster import MOBULA, RUN, eventually
from hub import GROUP, PEOPLE, account, certificate, definitions, deployment_id, hubs, meet, operator_rule  # noqa: F401 (two are fixtures)
from stores import KEYS, Between, Cut, Lost, Tunnel, ended_url, run_moto, run_versitygw, store, versitygw  # noqa: F401 (store is a fixture)

NAMES = ["plain", "dir/a b+c", "ü/✓.txt", "looks%2Fencoded", "quote'\"&<>;=?#", "..x/a..b/...", "%2e%2e%2f", "x" * 200 + "/" + "y" * 200]


def storage(store, *words, code=0, env=(), stdin=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    out = subprocess.run([MOBULA, "storage", *map(str, words), *(["--endpoint", store.url] if store else [])], input=stdin,
                         capture_output=True, timeout=300, check=False, env={**clean, **KEYS, "HOME": "/nonexistent", **dict(env)})
    text = out.stdout + out.stderr
    assert out.returncode == code, (words, out.returncode, text[:2000])
    assert KEYS["AWS_SECRET_ACCESS_KEY"].encode() not in text
    return out.stdout if not out.stderr else text


def test_every_operation(store, tmp_path):
    said = storage(store, "check", "s3://bucket/probe").decode()
    assert said.count("pass ") == 6 and "failed: 0" in said, said
    rows = json.loads(storage(store, "check", "s3://bucket", "-o", "json"))
    assert [row["check"] for row in rows["checks"]] == ["write", "list", "read", "sign", "delete", "settings"]
    assert storage(store, "ls", "s3://bucket/", "--recursive") == b""
    env = {**os.environ, **KEYS, "AWS_ENDPOINT_URL_S3": store.url, "KUBECONFIG": str(RUN / "admin.kubeconfig")}
    check = subprocess.run([MOBULA, "check", "--bucket", "s3://bucket/probe"], capture_output=True, text=True, env=env, check=False)
    assert check.stdout.count("pass  storage ") == 6, check.stdout + check.stderr
    file, back = tmp_path / "file", tmp_path / "back"
    names = NAMES + (["n" * 1024, "ü" * 512] if store.kind == "moto" else [])  # longer than file names may be
    for n, name in enumerate(names):
        file.write_bytes(f"{n}".encode() * 100)
        storage(store, "put", f"s3://bucket/{name}", "-f", file)
        assert storage(store, "get", f"s3://bucket/{name}") == file.read_bytes()
        url = storage(store, "sign", f"s3://bucket/{name}").decode().strip()
        assert urllib.request.urlopen(url).read() == file.read_bytes()
    listed = storage(store, "ls", "s3://bucket/", "--recursive").decode()
    assert sorted(line[34:] for line in listed.splitlines()) == sorted(names), listed
    folders = storage(store, "ls", "s3://bucket/").decode()
    assert "- dir/\n" in folders and "a b" not in folders
    for name in names:
        storage(store, "rm", f"s3://bucket/{name}")
    assert "there is no such object" in storage(store, "get", "s3://bucket/plain", "-f", back, code=1).decode()
    assert not back.exists()
    back.write_text("precious")
    storage(store, "get", "s3://bucket/plain", "-f", back, code=1)
    assert back.read_text() == "precious" and not (tmp_path / "back.part").exists()


def test_a_file_in_parts(store, tmp_path):
    file, back = tmp_path / "large", tmp_path / "back"
    file.write_bytes(os.urandom(2 * 8 * 2**20 + 12345))
    storage(store, "put", "s3://bucket/large", "-f", file)
    storage(store, "get", "s3://bucket/large", "-f", back)
    assert file.read_bytes() == back.read_bytes()
    storage(store, "rm", "s3://bucket/large")


def test_a_file_in_parts_to_another_machine(store, tmp_path):
    """To an address that is not known to be this machine, without TLS: chunks are signed, and versitygw checks them."""
    file, back, away = tmp_path / "large", tmp_path / "back", Cut(store, address="127.0.0.2")
    file.write_bytes(os.urandom(3 * 8 * 2**20 + 12345))
    storage(away, "put", "s3://bucket/large", "-f", file)
    assert away.sent > file.stat().st_size + 3 * 64 * 85, away.sent  # each chunk has 128 KiB and 85 bytes around them
    storage(away, "get", "s3://bucket/large", "-f", back)
    assert file.read_bytes() == back.read_bytes()
    storage(store, "rm", "s3://bucket/large")


class Refusing(Between):
    """Answers while a body is still being sent, and closes: with unread bytes, so that the system resets the connection. What follows
    the list of answers is stored."""

    def __init__(self, *answers):
        self.answers, self.bodies = list(answers), []
        super().__init__()

    def serve(self, near):
        with near, near.makefile("rb") as come:
            head = b"".join(iter(come.readline, b"\r\n")).lower()
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            if self.answers:
                self.bodies.append(come.read(2**18))
                near.sendall(self.answers.pop(0))
                return
            self.bodies.append(come.read(length))
            near.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("status,code,said", [
    (403, "AccessDenied", "403 AccessDenied: grant s3:PutObject on arn:aws:s3:::bucket/*"),
    (413, "EntityTooLarge", "413 EntityTooLarge"), (503, "SlowDown", None)])
def test_an_answer_in_the_middle_of_an_upload(tmp_path, status, code, said):
    file = tmp_path / "file"
    file.write_bytes(os.urandom(7 * 2**20))
    text = f"<Error><Code>{code}</Code></Error>"
    store = Refusing(f"HTTP/1.1 {status} X\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode())
    out = storage(store, "put", "s3://bucket/x", "-f", file, code=1 if said else 0).decode()
    assert said in out if said else store.bodies[1] == file.read_bytes(), out
    assert len(store.bodies) == (1 if said else 2)


def test_the_progress_of_an_upload(store, tmp_path):
    """A terminal shows it; other output has nothing of it."""
    file = tmp_path / "large"
    file.write_bytes(bytes(3 * 8 * 2**20))
    assert b"stored" not in storage(store, "put", "s3://bucket/large", "-f", file)
    ours, theirs = pty.openpty()
    subprocess.run([MOBULA, "storage", "put", "s3://bucket/large", "-f", file, "--endpoint", store.url], check=True, stderr=theirs,
                   timeout=120, env={**os.environ, **KEYS})
    assert os.read(ours, 4096) == b"\rstored: 33 % of 24 MiB\rstored: 66 % of 24 MiB\rstored: 100 % of 24 MiB\r\n"
    os.close(ours)
    os.close(theirs)
    storage(store, "rm", "s3://bucket/large")


def test_an_upload_that_was_broken_off(store, tmp_path):
    """Parts that are stored are not sent again; of other content all are. Parts to a store on this machine are not signed, and
    versitygw keeps an unsigned one that was cut off as if it were whole: they are all sent again."""
    size, file, back, away = 9 * 8 * 2**20 + 4711, tmp_path / "large", tmp_path / "back", {"address": "127.0.0.2"}
    file.write_bytes(os.urandom(size))
    storage(Cut(store, 46 * 2**20, **away), "put", "s3://bucket/broken", "-f", file, code=1)  # three parts of 8 MiB are under way
    assert "broken.mobula-upload" in storage(store, "ls", "s3://bucket/").decode()
    again = Cut(store, **away)
    storage(again, "put", "s3://bucket/broken", "-f", file)
    assert again.sent < size - 2 * 8 * 2**20 + 2**17, again.sent
    storage(store, "get", "s3://bucket/broken", "-f", back)
    assert file.read_bytes() == back.read_bytes()
    storage(Cut(store, 46 * 2**20, **away), "put", "s3://bucket/broken", "-f", file, code=1)
    file.write_bytes(os.urandom(size))
    again = Cut(store, **away)
    storage(again, "put", "s3://bucket/broken", "-f", file)
    assert again.sent > size, again.sent
    storage(store, "get", "s3://bucket/broken", "-f", back)
    assert file.read_bytes() == back.read_bytes()
    storage(Cut(store, 22 * 2**20), "put", "s3://bucket/broken", "-f", file, code=1)
    storage(store, "put", "s3://bucket/broken", "-f", file)
    storage(store, "get", "s3://bucket/broken", "-f", back)
    assert file.read_bytes() == back.read_bytes()
    storage(store, "rm", "s3://bucket/broken")
    assert b"mobula-upload" not in storage(store, "ls", "s3://bucket/")


def test_an_upload_that_somebody_else_completes(store, tmp_path):
    """The answer to our own call is lost, or another process with the same file is first: the object is there, and that is success."""
    file, back, lossy = tmp_path / "large", tmp_path / "back", Lost(store)
    file.write_bytes(os.urandom(3 * 8 * 2**20 + 1))
    storage(lossy, "put", "s3://bucket/lost", "-f", file)
    assert lossy.lost == 1
    command = [MOBULA, "storage", "put", "s3://bucket/same", "-f", file, "--endpoint", store.url]
    beside = [subprocess.Popen(command, env={**os.environ, **KEYS}, stderr=subprocess.PIPE) for _ in range(3)]
    assert [(one.wait(120), one.stderr.read()) for one in beside] == [(0, b"")] * 3
    for name in "lost", "same":
        storage(store, "get", f"s3://bucket/{name}", "-f", back)
        assert file.read_bytes() == back.read_bytes()
        storage(store, "rm", f"s3://bucket/{name}")
    assert b"mobula-upload" not in storage(store, "ls", "s3://bucket/")


def test_pages_of_a_list(store):
    """1,003 objects: more than one page of a list holds."""
    names = [f"many/{n:04}" for n in range(1003)]
    if store.kind == "versitygw":
        (store.folder / "root/bucket/many").mkdir()
        for name in names:
            (store.folder / "root/bucket" / name).touch()
    else:
        for name in names:
            urllib.request.urlopen(urllib.request.Request(f"{store.url}/bucket/{name}", method="PUT")).close()
    listed = storage(store, "ls", "s3://bucket/many/").decode()
    assert [line[34:] for line in listed.splitlines()] == names


def test_what_a_store_refuses(store, tmp_path):
    assert "create the bucket, or correct its name" in storage(store, "ls", "s3://no-such-bucket/", code=1).decode()
    said = storage(store, "check", "s3://no-such-bucket", code=3).decode()
    assert "fail  write" in said and "fail  list" in said
    for name, why in (("a/../b", "a part \"..\""), ("x" * 1025, "LIMIT_CLOUD_KEY"), ("a\nb", "control character")):
        assert why in storage(store, "get", f"s3://bucket/{name}", code=2).decode()
    assert "is not the URL of a bucket" in storage(store, "ls", "wasbs://bucket", code=2).decode()
    assert "-f FILE is needed" in storage(store, "put", "s3://bucket/x", code=1).decode()
    assert "only a regular file" in storage(store, "put", "s3://bucket/x", "-f", tmp_path, code=1).decode()
    assert "no credentials for the store" in storage(store, "ls", "s3://bucket", code=1, env={"AWS_ACCESS_KEY_ID": "",
                                                                                              "AWS_SECRET_ACCESS_KEY": ""}.items()).decode()


@pytest.mark.parametrize("store", [run_versitygw], ids=["versitygw"], indirect=True)  # moto checks no signatures
def test_a_signed_url_after_its_end(store, tmp_path):
    refused = ended_url(functools.partial(storage, store), "s3://bucket/x", tmp_path)
    assert refused.code == 403 and b"xpired" in refused.read()


@pytest.mark.parametrize("header,name,wrong", [("sha256", "SHA-256", "0" * 64), ("crc32c", "CRC-32C", "0" * 8)])
def test_an_object_of_another_content(store, tmp_path, header, name, wrong):
    """Its metadata has the sum of what was stored: a file that exists stays as it is."""
    file, back = tmp_path / "file", tmp_path / "back"
    file.write_text("changed on the disk of the store")
    back.write_text("precious")
    subprocess.run(["curl", "-sf", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", ":".join(list(KEYS.values())[:2]), "-T", file,
                    "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "-H", f"x-amz-meta-{header}: {wrong}",
                    f"{store.url}/bucket/damaged"], check=True)
    said = storage(store, "get", "s3://bucket/damaged", "-f", back, code=1).decode()
    is_now = hashlib.sha256(file.read_bytes()).hexdigest() if header == "sha256" else "c08f9714"
    assert f"the object is damaged: its {name} is {is_now}, and it was stored with {wrong}" in said, said
    assert back.read_text() == "precious" and not (tmp_path / "back.part").exists()
    storage(store, "rm", "s3://bucket/damaged")


@contextlib.contextmanager
def hanging_store(verb, key, file, first):
    """A command on file and key of a store that answers nothing to its first request; at the end a signal ends the command."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = subprocess.Popen([MOBULA, "storage", verb, f"s3://bucket/{key}", "-f", file, "--endpoint", endpoint],
                                   stderr=subprocess.PIPE, env={**os.environ, **KEYS})
        near = listener.accept()[0]
        assert near.recv(4096).startswith(first)
        yield near
        command.terminate()
        assert b"ended by a signal" in command.communicate(timeout=20)[1] and command.returncode
        near.close()


@pytest.mark.parametrize("body", [None, b"half "])
def test_a_store_that_hangs(tmp_path, body):
    """It accepts connections and sends nothing, or half of a body: a signal ends the command, and no half of a file is left."""
    part = tmp_path / "file.part"
    with hanging_store("get", "x", tmp_path / "file", b"GET /bucket/x HTTP/1.1") as near:
        if body:
            near.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + body)
        eventually(lambda: part.exists() and part.read_bytes() == (body or b""))
    assert not list(tmp_path.iterdir())


def test_a_signal_before_the_first_part(tmp_path):
    """While the store is asked for an upload to continue, a signal ends the command: it begins no other upload instead."""
    with (tmp_path / "file").open("wb") as file:
        file.truncate(9 * 2**20)
    with hanging_store("put", "x", tmp_path / "file", b"GET /bucket/x.mobula-upload HTTP/1.1"):
        pass


def test_a_wrong_secret_and_another_region(tmp_path):
    (tmp_path / "root").mkdir()
    gate = run_versitygw(tmp_path, "--region", "hall-2")
    try:
        gate.bucket("bucket")
        said = storage(gate, "ls", "s3://bucket", code=1, env={"AWS_SECRET_ACCESS_KEY": "another"}.items()).decode()
        assert "403 SignatureDoesNotMatch" in said and "check AWS_SECRET_ACCESS_KEY" in said
        said = storage(gate, "ls", "s3://bucket", code=1, env={"AWS_ACCESS_KEY_ID": "another"}.items()).decode()
        assert "No user exists with the provided access key ID" in said
        assert "warn  settings      the bucket is in region hall-2" in storage(gate, "check", "s3://bucket", code=4).decode()
        storage(gate, "check", "s3://bucket", "--region", "hall-2")
    finally:
        gate.stop()


def test_the_bucket_of_another_account(tmp_path):
    """Without any right, and with those to read and write objects but not to list them: each refused row names the right."""
    for name in ("iam", "root"):
        (tmp_path / name).mkdir()
    gate = run_versitygw(tmp_path, "--iam-dir", str(tmp_path / "iam"))
    owner = ":".join(list(KEYS.values())[:2])
    curl = ["curl", "-sf", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", owner, "-X", "PUT", "-H",
            "x-amz-content-sha256: UNSIGNED-PAYLOAD"]
    other = {"AWS_ACCESS_KEY_ID": "other", "AWS_SECRET_ACCESS_KEY": "of-another-account"}.items()
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "other", "Resource": "arn:aws:s3:::bucket/*",
                                                      "Action": ["s3:GetObject", "s3:PutObject"]}]}
    objects = "on arn:aws:s3:::bucket/*"

    def rows(code):
        said = storage(gate, "check", "s3://bucket", code=code, env=other).decode()
        assert "of-another-account" not in said
        return {line.split()[1]: line for line in said.splitlines() if line.startswith(("pass", "fail"))}

    try:
        subprocess.run([*curl, f"{gate.url}/bucket"], check=True)
        subprocess.run([versitygw(), "admin", "--access", owner.split(":")[0], "--secret", owner.split(":")[1], "--endpoint-url", gate.url,
                        "create-user", "--access", "other", "--secret", "of-another-account", "--role", "user"], check=True)
        said = rows(3)
        for row, right in (("write", f"s3:PutObject {objects}"), ("list", "s3:ListBucket on arn:aws:s3:::bucket"),
                           ("read", f"s3:GetObject {objects}, or the object does not exist"), ("delete", f"s3:DeleteObject {objects}")):
            assert said[row].startswith("fail") and "403 AccessDenied" in said[row] and f"grant {right}" in said[row], said
        subprocess.run([*curl, "--data-binary", json.dumps(policy), "-H", "Content-Type: application/json", f"{gate.url}/bucket?policy="],
                       check=True)
        said = rows(3)
        assert {row for row, line in said.items() if line.startswith("fail")} == {"list", "delete"}, said
        assert "grant s3:ListBucket on arn:aws:s3:::bucket" in said["list"]
        assert b"404 NoSuchKey" in storage(gate, "get", "s3://bucket/absent", code=1)  # with the right to list
    finally:
        gate.stop()


def test_tls_and_a_mounted_secret(tmp_path):
    cert, key = certificate(tmp_path)
    gate = run_versitygw(tmp_path, "--cert", str(cert), "--key", str(key), scheme="https", host="localhost")
    secret = tmp_path / "secret"
    secret.mkdir()
    for name, value in {**KEYS, "AWS_ENDPOINT_URL_S3": gate.url}.items():
        (secret / name).write_text(value + "\n")
    none = {name: "" for name in KEYS}.items()
    try:
        gate.bucket("bucket")
        assert "unknown CA" in storage(gate, "ls", "s3://bucket", code=1).decode()
        said = storage(None, "check", "s3://bucket", "--credentials-dir", secret, "--storage-ca", cert, env=none).decode()
        assert "failed: 0" in said
        file = tmp_path / "large"
        file.write_bytes(os.urandom(9 * 2**20))
        storage(None, "put", "s3://bucket/large", "-f", file, "--credentials-dir", secret, "--storage-ca", cert, env=none)
        assert storage(None, "get", "s3://bucket/large", env={"AWS_CA_BUNDLE": cert, "AWS_ENDPOINT_URL_S3": gate.url}.items()) == \
            file.read_bytes()
    finally:
        gate.stop()


def test_names_of_aws_through_a_proxy(tmp_path):
    """Without an endpoint the store is AWS: the bucket is part of the host's name, unless it has a dot."""
    aws = "s3.us-east-1.amazonaws.com"
    cert, key = certificate(tmp_path, name=f"DNS:{aws},DNS:*.{aws}")
    gate = run_versitygw(tmp_path, "--cert", str(cert), "--key", str(key), "--virtual-domain", aws)
    proxy = Tunnel(gate.port)
    env = {"HTTPS_PROXY": proxy.url, "AWS_CA_BUNDLE": cert}.items()
    try:
        for bucket, host in (("bucket", f"bucket.{aws}"), ("a.bucket", aws)):
            gate.bucket(bucket)
            proxy.asked.clear()
            said = storage(None, "check", f"s3://{bucket}", env=env).decode()
            assert "failed: 0" in said and set(proxy.asked) == {f"{host}:443"}, (said, proxy.asked)
        url = storage(None, "sign", "s3://bucket/a/b", env=env).decode()
        assert url.startswith(f"https://bucket.{aws}/a/b?X-Amz-")
    finally:
        proxy.listener.close()
        gate.stop()


def test_identities_of_pods(tmp_path):
    """IRSA against moto's STS; EKS Pod Identity against the agent in this test."""
    cloud = run_moto(tmp_path)
    token = tmp_path / "token"
    token.write_text("eyJ.pod.token\n")
    heard = []

    class Agent(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append((self.path, self.headers["Authorization"]))
            body = json.dumps({"AccessKeyId": "AK", "SecretAccessKey": "SK", "Token": "T", "Expiration": "2099-01-01T00:00:00Z"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    agent = http.server.HTTPServer(("127.0.0.1", 0), Agent)
    threading.Thread(target=agent.serve_forever, daemon=True).start()
    none = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    try:
        cloud.bucket("bucket")
        irsa = {**none, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/ray", "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
                "AWS_ENDPOINT_URL_STS": cloud.url.replace("127.0.0.1", "localhost")}
        said = storage(cloud, "check", "s3://bucket", env=irsa.items()).decode()
        assert "failed: 0" in said and "credentials from AWS_WEB_IDENTITY_TOKEN_FILE" in said
        storage(cloud, "sign", "s3://bucket/x", env=irsa.items())
        pod = {**none, "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{agent.server_port}/v1/credentials",
               "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token)}
        assert "failed: 0" in storage(cloud, "check", "s3://bucket", env=pod.items()).decode()
        assert heard == [("/v1/credentials", "eyJ.pod.token")]
        far = {**pod, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://10.0.0.1/v1"}
        assert "would show the token" in storage(cloud, "ls", "s3://bucket", code=1, env=far.items()).decode()
    finally:
        agent.shutdown()
        cloud.stop()


def test_the_folder_of_a_job(space, hubs, tmp_path, store, monkeypatch):  # noqa: F811
    person = meet(space, hubs, tmp_path)
    person.login(account(space, "ann", *PEOPLE))
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    person.type("cloud", "register", "--name", "edge", "--cloud-storage-bucket-name", "s3://bucket", "--cloud-storage-bucket-endpoint",
                store.url)
    work = tmp_path / "work"
    work.mkdir()
    (work / "main.py").write_text("print(1)\n")

    def submit(name, *more):
        said = person.type("job", "submit", "--name", name, "--cloud", "edge", "--working-dir", work, *more, "--", "python", "main.py")
        return said, eventually(lambda: space.api.get(space.path("workloads", name, GROUP))["spec"]["workingDir"])

    assert "that is not given" in person.type("job", "submit", "--cloud", "edge", "--bucket", "s3://bucket", "--", "true", code=1)
    said, url = submit("small")
    assert url.startswith("upload:"), said
    said, url = submit("bucket", "--bucket", "s3://bucket/team", "--endpoint", store.url)
    packed = urllib.request.urlopen(url).read()
    where = f"s3://bucket/team/working-dirs/{hashlib.sha256(packed).hexdigest()}.zip"
    assert f"storing: {where}, {len(packed)} bytes" in said
    assert zipfile.ZipFile(io.BytesIO(packed)).namelist() == ["dir/main.py"]
    said, url = submit("again", "--bucket", "s3://bucket/team", "--endpoint", store.url, "--bucket-uri")
    assert f"stored already: {where}" in said and url == where
    (work / "noise").write_bytes(os.urandom(10_000_000))
    said, url = submit("large")  # more than 512 KiB: stored in the cloud's bucket, not in the control plane
    assert "storing: s3://bucket/working-dirs/" in said
    assert len(zipfile.ZipFile(io.BytesIO(urllib.request.urlopen(url).read())).read("dir/noise")) == 10_000_000
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in said + url


def test_the_store_goes_away(store, tmp_path):
    """A port without a listener."""
    gone = type("Gone", (), {"url": "http://127.0.0.1:9"})
    said = storage(gone, "ls", "s3://bucket", code=1).decode()
    assert "GET s3://bucket: " in said and "refused" in said, said
    assert Path(store.log).exists()


def test_the_log_of_a_job_from_its_clouds_bucket(space, hubs, tmp_path, store, monkeypatch):  # noqa: F811
    """`mobula job logs` when the cluster is gone: the Cloud names the bucket, and the person has credentials for it."""
    person = meet(space, hubs, tmp_path)
    operator = account(space, "operator", operator_rule())
    person.login(account(space, "ann", *PEOPLE))
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    where = deployment_id(person.type("cloud", "register", "--name", "edge", "--cloud-storage-bucket-name", "s3://bucket",
                                      "--cloud-storage-bucket-endpoint", store.url))
    person.type("job", "submit", "--name", "train", "--cloud", "edge", "--", "true")
    uid = space.api.get(space.path("workloads", "train", GROUP))["metadata"]["uid"]
    rayjob = {"apiVersion": "ray.io/v1", "kind": "RayJob", "namespace": "team", "name": "train-x1"}
    told = {"uid": uid, "generation": 1, "state": "FAILED", "objects": [rayjob]}
    code, answer = person.hub.sync(operator, where, wait=0, statuses=[told])
    assert code == 200, answer
    text, file = "epoch 1\nepoch 2: out of memory\n", tmp_path / "driver.gz"
    file.write_bytes(gzip.compress(text.encode()))
    at = "logs/team/train-x1-abcde/train-x1-abcde-head.0/job-driver-train-x1-fghij.log/0000000100000000-000000000000.gz"
    storage(store, "put", f"s3://bucket/{at}", "-f", file)
    over = threading.Event()

    def answer():
        """As the operator, whose cluster is gone."""
        told, revision = [], ""
        while not over.is_set():
            _, news = person.hub.sync(operator, where, revision=revision, answers=told, wait=1)
            revision = news["revision"]
            told = [{"id": q["id"], "kind": "logTail", "error": "the log is gone", "code": 404} for q in news.get("questions", [])]

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        assert person.type("job", "logs", "--name", "train") == text
    finally:
        over.set()
        thread.join(30)
        storage(store, "rm", f"s3://bucket/{at}")
