"""mobula storage, and logs that are shipped, against stores with the protocols of Azure and of Google Cloud Storage."""

import base64
import datetime
import functools
import hashlib
import hmac
import json
import os
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from cluster import MOBULA, eventually
from stores import ACCOUNT, ACCOUNT_KEY, Cut, ended_url, run_azurite, run_gcs

NAMES = ["plain", "dir/a b+c", "ü/✓.txt", "looks%2Fencoded", "quote'\"&<>;=?#", "..x/a..b/...", "n" * 1024]


@pytest.fixture(scope="module", params=[run_azurite, run_gcs], ids=["azure", "gcs"])
def store(request, tmp_path_factory):
    made = request.param(tmp_path_factory.mktemp("store"))
    made.bucket("bucket")
    yield made
    made.stop()


def run(store, *words, code=0, endpoint=True, **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "AZURE_", "GOOGLE_"))}
    out = subprocess.run([MOBULA, *map(str, words), *(["--endpoint", store.url] if endpoint else [])], capture_output=True, timeout=300,
                         check=False, env={**clean, **store.env, "HOME": "/nonexistent", **env})
    text = out.stdout + out.stderr
    assert out.returncode == code, (words, out.returncode, text[:2000])
    assert ACCOUNT_KEY.encode() not in text and b"PRIVATE KEY-----\nMII" not in text
    return out.stdout if not out.stderr else text


def storage(store, *words, **more):
    return run(store, "storage", *words, **more)


def test_every_operation(store, tmp_path):
    to = f"{store.scheme}://bucket"
    said = storage(store, "check", f"{to}/probe").decode()
    assert said.count("pass ") == 6 and "failed: 0" in said, said
    file, back = tmp_path / "file", tmp_path / "back"
    for n, name in enumerate(NAMES):
        file.write_bytes(f"{n}".encode() * 100)
        storage(store, "put", f"{to}/{name}", "-f", file)
        assert storage(store, "get", f"{to}/{name}") == file.read_bytes()
        url = storage(store, "sign", f"{to}/{name}").decode().strip()
        assert urllib.request.urlopen(url).read() == file.read_bytes()
    listed = storage(store, "ls", f"{to}/", "--recursive").decode()
    assert sorted(line[34:] for line in listed.splitlines()) == sorted(NAMES), listed
    assert all(line.startswith("20") and line[20:33].strip() == "100" for line in listed.splitlines()), listed
    folders = storage(store, "ls", f"{to}/").decode()
    assert "- dir/\n" in folders and "a b" not in folders
    for name in NAMES:
        storage(store, "rm", f"{to}/{name}")
    assert storage(store, "ls", f"{to}/", "--recursive") == b""
    storage(store, "get", f"{to}/plain", "-f", back, code=1)
    assert not back.exists()
    file.write_bytes(os.urandom(2 * 8 * 2**20 + 12345))  # in blocks at Azure
    storage(store, "put", f"{to}/large", "-f", file)
    storage(store, "get", f"{to}/large", "-f", back)
    assert file.read_bytes() == back.read_bytes()
    storage(store, "rm", f"{to}/large")


@pytest.mark.parametrize("store", [run_azurite], ids=["azure"], indirect=True)  # Google gets an object by one call
def test_an_upload_that_was_broken_off(store, tmp_path):
    """Blocks that Azure has are not sent again."""
    size, file, back, to = 9 * 8 * 2**20 + 4711, tmp_path / "large", tmp_path / "back", "azure://bucket/broken"
    file.write_bytes(os.urandom(size))
    cut, again = Cut(store, 46 * 2**20), Cut(store)
    run(store, "storage", "put", to, "-f", file, "--endpoint", cut.url, endpoint=False, code=1)
    run(store, "storage", "put", to, "-f", file, "--endpoint", again.url, endpoint=False)
    assert again.sent < size - 2 * 8 * 2**20 + 2**17, again.sent
    storage(store, "get", to, "-f", back)
    assert file.read_bytes() == back.read_bytes()
    assert b"mobula-upload" not in storage(store, "ls", "azure://bucket/")
    storage(store, "rm", to)


@pytest.mark.parametrize("store", [run_azurite], ids=["azure"], indirect=True)  # Google gets an object by one call
def test_blocks_of_another_upload(store, tmp_path):
    """Azure keeps blocks of all uploads to one name beside each other: those of another content become no part of the blob."""
    first, other, note, back, to = *(tmp_path / name for name in ("first", "other", "note", "back")), "azure://bucket/both"
    for file in first, other:
        file.write_bytes(os.urandom(6 * 8 * 2**20))
    for file in first, other:  # the second one could not write its note
        run(store, "storage", "put", to, "-f", file, "--endpoint", Cut(store, 36 * 2**20).url, endpoint=False, code=1)
        if file == first:
            storage(store, "get", to + ".mobula-upload", "-f", note)
    storage(store, "put", to + ".mobula-upload", "-f", note)
    storage(store, "put", to, "-f", first)
    storage(store, "get", to, "-f", back)
    assert back.read_bytes() == first.read_bytes()
    storage(store, "rm", to)


def test_what_is_refused(store):
    no = {name: "" for name in store.env}
    away = {"AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://127.0.0.1:9", "GCE_METADATA_HOST": "127.0.0.1:9"}  # a closed port
    said = storage(store, "ls", f"{store.scheme}://bucket", code=1, **no, **away).decode()
    assert "a token from 127.0.0.1:9 (the m" in said and f": no {list(store.env)[-1]}" in said and "refused" in said, said
    said = storage(store, "check", f"{store.scheme}://absent-bucket", code=3).decode()
    assert "fail  write" in said, said
    for name, why in (("a/../b", "a part \"..\""), ("x" * 1025, "LIMIT_CLOUD_KEY")):
        assert why in storage(store, "get", f"{store.scheme}://bucket/{name}", code=2).decode()
    if store.kind == "azurite":
        assert "create the container" in said
        wrong = base64.b64encode(b"another key of the right length.").decode()
        said = storage(store, "ls", "azure://bucket", code=1, AZURE_STORAGE_KEY=wrong).decode()
        assert "403" in said and "check AZURE_STORAGE_" in said, said
        assert "is not an account key" in storage(store, "ls", "azure://bucket", code=1, AZURE_STORAGE_KEY="???").decode()
        assert "--endpoint is needed" in storage(store, "ls", "azure://bucket", code=1, endpoint=False, AZURE_STORAGE_ACCOUNT="",
                                                 AZURE_STORAGE_KEY="", AZURE_STORAGE_SAS_TOKEN="sv=1").decode()
        assert "is not the URL of a bucket" in storage(store, "ls", "abfss://bucket", code=2).decode()


@pytest.mark.parametrize("store", [run_azurite], ids=["azure"], indirect=True)  # fake-gcs-server checks no signatures
def test_a_signed_url_after_its_end(store, tmp_path):
    refused = ended_url(functools.partial(storage, store), "azure://bucket/x", tmp_path)
    assert refused.code == 403


def test_a_sas_token_and_an_abfss_url(tmp_path):
    """A token in the place of the key: what it may not do is refused by the store."""
    gate = run_azurite(tmp_path)
    try:
        gate.bucket("bucket")
        until = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")

        def token(rights):
            text = f"{rights}\n\n{until}\n/blob/{ACCOUNT}/bucket\n\n\n\n2018-11-09\nc\n\n\n\n\n\n"
            sig = base64.b64encode(hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), "sha256").digest()).decode()
            return urllib.parse.urlencode({"sv": "2018-11-09", "sr": "c", "sp": rights, "se": until, "sig": sig})

        url, key = f"abfss://bucket@{ACCOUNT}.dfs.core.windows.net", {"AZURE_STORAGE_KEY": ""}
        assert "failed: 0" in storage(gate, "check", url, AZURE_STORAGE_SAS_TOKEN=token("rcwdl"), **key).decode()
        said = storage(gate, "check", url, code=3, AZURE_STORAGE_SAS_TOKEN=token("rl"), **key).decode()
        assert "fail  write" in said and "grant role Storage Blob Data Contributor (SAS: cw) on container bucket" in said, said
    finally:
        gate.stop()


def test_signatures_of_google(tmp_path):
    """fake-gcs-server does not check them; openssl does, with the public key of the service account."""
    gate = run_gcs(tmp_path)
    try:
        gate.bucket("bucket")
        url = storage(gate, "sign", "gs://bucket/a b/c", "--valid", "5m").decode().strip()
        head, query = url.split("?", 1)
        parts = dict(urllib.parse.parse_qsl(query))
        signature = bytes.fromhex(parts.pop("X-Goog-Signature"))
        assert parts["X-Goog-Algorithm"] == "GOOG4-RSA-SHA256" and parts["X-Goog-Expires"] == "300"
        host, path = head.removeprefix("http://").split("/", 1)
        canonical = "&".join(f"{k}={urllib.parse.quote(v, safe='-_.~')}" for k, v in sorted(parts.items()))
        request = f"GET\n/{path}\n{canonical}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD"
        scope = parts["X-Goog-Credential"].split("/", 1)[1]
        assert scope == f"{parts['X-Goog-Date'][:8]}/auto/storage/goog4_request"
        text = f"GOOG4-RSA-SHA256\n{parts['X-Goog-Date']}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        (tmp_path / "sig").write_bytes(signature)
        (tmp_path / "text").write_text(text)
        subprocess.run(["openssl", "pkey", "-in", gate.key, "-pubout", "-out", tmp_path / "pub.pem"], check=True)
        subprocess.run(["openssl", "dgst", "-sha256", "-verify", tmp_path / "pub.pem", "-signature", tmp_path / "sig", tmp_path / "text"],
                       check=True, capture_output=True)
        account = json.loads((tmp_path / "account.json").read_text())
        (tmp_path / "account.json").write_text(json.dumps({**account, "private_key": "-----BEGIN"}))
        assert ": private_key: " in storage(gate, "ls", "gs://bucket", code=1).decode()
    finally:
        gate.stop()


def test_logs(store, tmp_path):
    logs = tmp_path / "ray" / "session_1" / "logs"
    logs.mkdir(parents=True)
    text = "".join(f"line {n}\n" for n in range(200000))
    (logs / "raylet.out").write_text(text)
    command = [MOBULA, "agent", f"--bucket={store.scheme}://bucket/x", "--logs-name=ns/c/c-head.0", f"--logs-dir={tmp_path / 'ray'}",
               f"--endpoint={store.url}", "--logs-every=1s"]
    for _ in range(2):
        with (tmp_path / "log").open("wb") as out:
            agent = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **store.env})
        eventually(lambda: "msg=started" in (tmp_path / "log").read_text())
        time.sleep(2)
        agent.terminate()
        assert agent.wait(40) == 0, (tmp_path / "log").read_text()
    got = run(store, "logs", "cluster", "c", "-n", "ns", "--bucket", f"{store.scheme}://bucket/x", "--file", "raylet.out",
              "--node", "c-head.0")
    assert got.decode() == text
    sizes = [line[21:33] for line in storage(store, "ls", f"{store.scheme}://bucket/x/", "--recursive").decode().splitlines()]
    assert len(sizes) == 3, sizes  # the second agent has stored nothing
