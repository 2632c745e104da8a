"""Identities of pods at Azure and Google, instead of keys: an issuer of tokens that is this test, and stores with their protocols. Azurite
checks the tokens, and signed URLs by the key of a user's delegation; of Google's signed URLs openssl checks the signature."""

import base64
import hashlib
import http.client
import http.server
import json
import os
import ssl
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import pytest

from cluster import MOBULA
from hub import certificate
from stores import ACCOUNT, Tunnel, run_azurite, run_gcs

POD_TOKEN = "eyJ.pod.token"


class Issuer(http.server.ThreadingHTTPServer):
    """Answers each request by self.reply(method, path, headers, body) -> status, object or text; heard: paths."""

    daemon_threads = True

    def __init__(self, reply, tls=None):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server = self.server
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                server.heard.append(self.path)
                status, answer = server.reply(self.command, self.path, self.headers, body)
                text = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.reply, self.heard = reply, []
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def jwt():
    """What Azurite takes for a token of Entra ID; it does not check the signature."""
    now = int(time.time())
    claims = {"aud": "https://storage.azure.com", "iss": "https://sts.windows.net/tenant/", "iat": now, "nbf": now - 60, "exp": now + 3600,
              "oid": "11059fcc-5514-4800-b5f8-49808b9cfab6", "tid": "ab1f708d-50f6-404c-a006-d71b2ac7a606"}
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in
                    (b'{"alg":"RS256","typ":"JWT"}', json.dumps(claims).encode(), b"signature"))


def run(*words, code=0, **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "AZURE_", "GOOGLE_", "GCE_"))}
    out = subprocess.run([MOBULA, *map(str, words)], capture_output=True, text=True, timeout=120, check=False,
                         env={**clean, "HOME": "/nonexistent", **env})
    assert out.returncode == code, f"{words}: {out.returncode}: {out.stdout}{out.stderr}"
    assert "eyJ" not in out.stdout + out.stderr and "Bearer" not in out.stdout + out.stderr
    return out.stdout + out.stderr


@pytest.fixture(scope="module")
def azure(tmp_path_factory):
    folder = tmp_path_factory.mktemp("azure")
    tls = certificate(folder)
    gate = run_azurite(folder, "--oauth", "basic", "--cert", tls[0], "--key", tls[1], scheme="https", host="localhost")
    gate.tls = tls
    gate.bucket("bucket")
    yield gate
    gate.stop()


def all_of_it(gate, folder, source, **env):
    """Every operation, with a signed URL that is fetched without credentials."""
    to, tail = f"{gate.scheme}://bucket", ["--endpoint", gate.url, "--storage-ca", gate.tls[0]]
    said = run("storage", "check", f"{to}/probe", *tail, **env)
    assert said.count("pass ") == 6 and "failed: 0" in said and f"credentials from {source}" in said, said
    file = folder / "file"
    file.write_bytes(os.urandom(9 * 2**20))
    run("storage", "put", f"{to}/a b/c", "-f", file, *tail, **env)
    url = run("storage", "sign", f"{to}/a b/c", "--valid", "10m", *tail, **env).strip()
    trust = ssl.create_default_context(cafile=gate.tls[0]) if url.startswith("https") else None
    assert urllib.request.urlopen(url, context=trust).read() == file.read_bytes()
    run("storage", "rm", f"{to}/a b/c", *tail, **env)
    return url


def test_a_pods_token_at_entra(azure, tmp_path):
    token, answers = tmp_path / "token", []
    token.write_text(POD_TOKEN + "\n")

    def reply(method, path, headers, body):
        form = dict(urllib.parse.parse_qsl(body))
        answers.append((method, path, form))
        if form["client_id"] != "client":
            return 401, {"error": "unauthorized_client", "error_description": "AADSTS700016: Application was not found in the directory"}
        return 200, {"token_type": "Bearer", "expires_in": 3599, "access_token": jwt()}

    entra = Issuer(reply, azure.tls)
    env = {"AZURE_CLIENT_ID": "client", "AZURE_TENANT_ID": "tenant", "AZURE_FEDERATED_TOKEN_FILE": str(token),
           "AZURE_AUTHORITY_HOST": f"https://localhost:{entra.server_port}/", "AZURE_STORAGE_ACCOUNT": ACCOUNT}
    try:
        url = all_of_it(azure, tmp_path, "AZURE_FEDERATED_TOKEN_FILE", **env)
        assert "&skoid=11059fcc-" in url and "&sig=" in url
        method, path, form = answers[0]
        assert (method, path) == ("POST", "/tenant/oauth2/v2.0/token")
        assert form == {"grant_type": "client_credentials", "scope": "https://storage.azure.com/.default", "client_id": "client",
                        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "client_assertion": POD_TOKEN}
        ca = ["--endpoint", azure.url, "--storage-ca", azure.tls[0]]
        said = run("storage", "ls", "azure://bucket", *ca, code=1, **{**env, "AZURE_CLIENT_ID": "another"})
        assert "(AZURE_FEDERATED_TOKEN_FILE): 401 unauthorized_client: AADSTS700016: " in said, said
        said = run("storage", "ls", "azure://bucket", *ca, code=1, **{**env, "AZURE_FEDERATED_TOKEN_FILE": str(tmp_path / "none")})
        assert "the pod's identity token cannot be read" in said, said
        said = run("storage", "ls", "azure://bucket", "--endpoint", "http://store.example", code=1, **env)
        assert "https:// is needed" in said, said
    finally:
        entra.shutdown()


def test_the_managed_identity_of_a_machine(azure, tmp_path):
    def reply(method, path, headers, _):
        assert headers["Metadata"] == "true" and method == "GET"
        return 200, {"access_token": jwt(), "expires_in": "3599", "token_type": "Bearer"}

    machine = Issuer(reply)
    env = {"AZURE_STORAGE_ACCOUNT": ACCOUNT, "AZURE_POD_IDENTITY_AUTHORITY_HOST": f"http://127.0.0.1:{machine.server_port}"}
    try:
        all_of_it(azure, tmp_path, "the managed identity", AZURE_CLIENT_ID="c 1", **env)
        assert machine.heard[0] == ("/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com%2F"
                                    "&client_id=c%201")
    finally:
        machine.shutdown()
        machine.server_close()
    said = run("storage", "ls", "azure://bucket", "--endpoint", azure.url, "--storage-ca", azure.tls[0], code=1, **env)
    assert "the managed identity: no AZURE_STORAGE_KEY, " in said and "refused" in said, said


class Accounts:
    """Google's service accounts: signs with a key that openssl has made."""

    def __init__(self, folder):
        self.folder, self.key, self.tokens, self.federated = folder, folder / "signer.pem", ["T1"], []
        subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.key], check=True,
                       capture_output=True)

    def reply(self, _, path, headers, body):
        if path == "/v1/token":
            form = dict(urllib.parse.parse_qsl(body))
            self.federated.append(form)
            return 200, {"access_token": "F1", "expires_in": 3599, "token_type": "Bearer"}
        account, verb = path.removeprefix("/v1/projects/-/serviceAccounts/").split(":")
        assert account == "ray@project.iam.gserviceaccount.com"
        if verb == "generateAccessToken" and headers["Authorization"] == "Bearer F1":
            return 200, {"accessToken": "T1", "expireTime": "2099-01-01T00:00:00Z"}
        if verb != "signBlob" or headers["Authorization"] != "Bearer T1":
            return 403, {"error": {"code": 403, "message": "Permission denied", "status": "PERMISSION_DENIED"}}
        (self.folder / "text").write_bytes(base64.b64decode(json.loads(body)["payload"]))
        subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key, "-out", self.folder / "sig", self.folder / "text"], check=True)
        return 200, {"keyId": "1", "signedBlob": base64.b64encode((self.folder / "sig").read_bytes()).decode()}

    def verify(self, url):
        """The signature of a URL, by the public key."""
        head, query = url.split("?", 1)
        parts = dict(urllib.parse.parse_qsl(query))
        (self.folder / "sig").write_bytes(bytes.fromhex(parts.pop("X-Goog-Signature")))
        host, path = head.removeprefix("http://").split("/", 1)
        canonical = "&".join(f"{k}={urllib.parse.quote(v, safe='-_.~')}" for k, v in sorted(parts.items()))
        request = f"GET\n/{path}\n{canonical}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD"
        scope = parts["X-Goog-Credential"].split("/", 1)
        assert scope[0] == "ray@project.iam.gserviceaccount.com"
        (self.folder / "text").write_text(
            f"GOOG4-RSA-SHA256\n{parts['X-Goog-Date']}\n{scope[1]}\n{hashlib.sha256(request.encode()).hexdigest()}")
        pub = self.folder / "pub.pem"
        subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-out", pub], check=True)
        subprocess.run(["openssl", "dgst", "-sha256", "-verify", pub, "-signature", self.folder / "sig", self.folder / "text"], check=True,
                       capture_output=True)
        return parts


class Gate(http.server.ThreadingHTTPServer):
    """In front of fake-gcs-server, which checks no token and takes objects by signed URLs only: lets the bearer of a token through, as one
    who has such a URL."""

    daemon_threads = True

    def __init__(self, store, accounts):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path, bearer = self.path, self.headers["Authorization"]
                if bearer:
                    path += ("&" if "?" in path else "?") + "X-Goog-Algorithm=GOOG4-RSA-SHA256"
                far = http.client.HTTPConnection("127.0.0.1", store.port)
                far.request(self.command, path, body or None, {**dict(self.headers), "Host": f"127.0.0.1:{store.port}"})
                answer = far.getresponse()
                allowed = bearer == f"Bearer {accounts.tokens[0]}" if bearer else "X-Goog-Signature=" in path
                data = answer.read() if allowed else b"<Error><Code>AccessDenied</Code></Error>"
                self.send_response(answer.status if allowed else 401)
                for name, value in answer.getheaders():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_PUT = do_DELETE = do_POST = do_GET

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def google(tmp_path_factory):
    """A store, and servers by the names of Google's, behind a proxy."""
    folder = tmp_path_factory.mktemp("google")
    gate = run_gcs(folder)
    gate.bucket("bucket")
    gate.tls = certificate(folder, name="DNS:sts.googleapis.com,DNS:iamcredentials.googleapis.com")
    gate.accounts = Accounts(folder)
    issuer = Issuer(gate.accounts.reply, gate.tls)
    gate.proxy = Tunnel(issuer.server_port)
    front = Gate(gate, gate.accounts)
    gate.url = f"http://127.0.0.1:{front.server_port}"
    yield gate
    front.shutdown()
    issuer.shutdown()
    gate.proxy.listener.close()
    gate.stop()


def test_the_metadata_server_of_google(google, tmp_path):
    def reply(_, path, headers, __):
        assert headers["Metadata-Flavor"] == "Google"
        base = "/computeMetadata/v1/instance/service-accounts/default"
        return 200, {f"{base}/token": {"access_token": google.accounts.tokens[0], "expires_in": 3599, "token_type": "Bearer"},
                     f"{base}/email": "ray@project.iam.gserviceaccount.com"}[path]

    metadata = Issuer(reply)
    env = {"HTTPS_PROXY": google.proxy.url, "GCE_METADATA_HOST": f"127.0.0.1:{metadata.server_port}"}
    google.proxy.asked.clear()
    try:
        url = all_of_it(google, tmp_path, "the metadata server", **env)
        assert google.accounts.verify(url)["X-Goog-Expires"] == "600"
        assert set(google.proxy.asked) == {"iamcredentials.googleapis.com:443"}
        google.accounts.tokens[0] = "T2"
        said = run("storage", "sign", "gs://bucket/x", "--endpoint", google.url, "--storage-ca", google.tls[0], code=1, **env)
        assert "403 PERMISSION_DENIED: Permission denied: grant role Service Account Token Creator" in said, said
    finally:
        metadata.shutdown()
        google.accounts.tokens[0] = "T1"


def test_a_pod_outside_of_google(google, tmp_path):
    """Its token is exchanged at STS, and the result for a service account's."""
    token, file = tmp_path / "token", tmp_path / "federation.json"
    token.write_text(POD_TOKEN + "\n")
    federation = {"type": "external_account", "audience": "//iam.googleapis.com/projects/1/pool",
                  "token_url": "https://sts.googleapis.com/v1/token", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                  "credential_source": {"file": str(token)},
                  "service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
                                                       "ray@project.iam.gserviceaccount.com:generateAccessToken"}
    file.write_text(json.dumps(federation))
    env = {"HTTPS_PROXY": google.proxy.url, "GOOGLE_APPLICATION_CREDENTIALS": str(file)}
    google.proxy.asked.clear()
    url = all_of_it(google, tmp_path, "GOOGLE_APPLICATION_CREDENTIALS", **env)
    google.accounts.verify(url)
    assert set(google.proxy.asked) == {"sts.googleapis.com:443", "iamcredentials.googleapis.com:443"}
    form = google.accounts.federated[0]
    assert form["subject_token"] == POD_TOKEN and form["audience"] == federation["audience"] and form["subject_token_type"].endswith(":jwt")
    del federation["service_account_impersonation_url"]
    file.write_text(json.dumps(federation))
    said = run("storage", "sign", "gs://bucket/x", "--endpoint", google.url, "--storage-ca", google.tls[0], code=1, **env)
    assert "only a service account can sign URLs" in said, said
