"""An operator proves its role of AWS to the control plane: it signs GetCallerIdentity, and the control plane has STS verify the signature.
The STS of these tests verifies signatures by itself, as AWS documents them."""

import hashlib
import hmac
import http.server
import json
import threading
import time
import urllib.parse

import pytest

from cluster import eventually
from hub import GROUP, cloud, definitions, hubs, job, status  # noqa: F401 (two are fixtures)
from processes import config_of

SECRETS = {"AKIDOPERATOR": "hush-hush-secret", "AKIDOTHER": "another-secret", "ASIATEMPORARY": "short-lived-secret"}
ARNS = {"AKIDOPERATOR": "arn:aws:sts::123456789012:assumed-role/edge-operator/i-0a1b", "AKIDOTHER": "arn:aws:iam::123456789012:user/bob",
        "ASIATEMPORARY": "arn:aws:sts::123456789012:assumed-role/edge-operator/mobula"}
ROLE, SESSION = "arn:aws:iam::123456789012:role/edge-operator", "session+token/of=web" * 110  # as long as those of AWS can be
HEADER = "x-mobula-cloud"


def signature(secret, host, query, named, region="us-east-1"):
    """Of a GET of / with this query, by AWS's Signature Version 4."""
    date = query["X-Amz-Date"]
    text = "&".join(f"{quote(k)}={quote(v)}" for k, v in sorted(query.items()))
    names = "host" + f";{HEADER}" * (named is not None)
    headers = f"host:{host}\n" + (f"{HEADER}:{named}\n" if named is not None else "")
    request = f"GET\n/\n{text}\n{headers}\n{names}\n{hashlib.sha256(b'').hexdigest()}"
    scope = f"{date[:8]}/{region}/sts/aws4_request"
    words = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    return hmac.new(key, words.encode(), "sha256").hexdigest()


def quote(text):
    return urllib.parse.quote(text, safe="-_.~")


def proof(cloud_id, key="AKIDOPERATOR", age_s=0, host=None, named=None, **more):
    """A token as the operator makes it."""
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - age_s))
    query = {"Action": "GetCallerIdentity", "Version": "2011-06-15", "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
             "X-Amz-Credential": f"{key}/{date[:8]}/us-east-1/sts/aws4_request", "X-Amz-Date": date, "X-Amz-Expires": "900",
             "X-Amz-SignedHeaders": f"host;{HEADER}", **more}
    query["X-Amz-Signature"] = signature(SECRETS[key], host, query, cloud_id if named is None else named)
    return f"mobula-aws-v1.{cloud_id}." + "&".join(f"{quote(k)}={quote(v)}" for k, v in sorted(query.items()))


class Sts:
    def __init__(self):
        self.asked, self.json, sts = [], True, self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(*sts.identity(self.path, self.headers))

            def do_POST(self):
                form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                assert form["Action"] == "AssumeRoleWithWebIdentity" and form["RoleArn"] == ROLE, form
                until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
                given = {"AccessKeyId": "ASIATEMPORARY", "SecretAccessKey": SECRETS["ASIATEMPORARY"], "SessionToken": SESSION,
                         "Expiration": until}
                self.answer(200, f"<R>{''.join(f'<{k}>{v}</{k}>' for k, v in given.items())}</R>")

            def answer(self, code, text):
                self.send_response(code)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def identity(self, path, headers):
        self.asked.append(path)
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query, strict_parsing=True))
        given, key = query.pop("X-Amz-Signature"), query["X-Amz-Credential"].split("/")[0]
        assert query["Action"] == "GetCallerIdentity" and query["X-Amz-SignedHeaders"] == f"host;{HEADER}", query
        made = time.strptime(query["X-Amz-Date"] + "UTC", "%Y%m%dT%H%M%SZ%Z")
        late = time.time() > time.mktime(made) - time.timezone + int(query["X-Amz-Expires"])
        session = query.get("X-Amz-Security-Token", "") == (SESSION if key.startswith("ASIA") else "")
        if late or not session or given != signature(SECRETS.get(key, ""), headers["Host"], query, headers[HEADER]):
            return 403, "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error></ErrorResponse>"
        if self.json:
            return 200, json.dumps({"GetCallerIdentityResponse": {"GetCallerIdentityResult": {"Account": "1", "Arn": ARNS[key]}}})
        return 200, f"<Response xmlns='https://sts.amazonaws.com/doc/2011-06-15/'><Arn>{ARNS[key]}</Arn></Response>"


@pytest.fixture
def sts():
    made = Sts()
    yield made
    made.server.shutdown()


@pytest.mark.parametrize("identity", ["keys", "web identity"])
def test_an_operator_proves_its_role(space, hubs, operators, tmp_path, monkeypatch, sts, identity):
    hub = hubs("hub", f"--sts-url={sts.url}")
    where = cloud(space, operatorIdentity=ROLE)
    monkeypatch.setenv("HOME", "/nonexistent")
    if identity == "keys":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOPERATOR")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRETS["AKIDOPERATOR"])
    else:
        (tmp_path / "token").write_text("the pod's token")
        monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
    sts.json = identity == "keys"
    space.grant("--control-plane-url=https://hub.example", f"--cloud-deployment-id={where}", f"--sts-url={sts.url}")
    op = operators(f"--cloud-deployment-id={where}", f"--control-plane-url=http://127.0.0.1:{hub.port}", f"--sts-url={sts.url}",
                   config=config_of(space, tmp_path))
    job(space, "train")

    def reported():
        assert status(space, "train").get("state"), hub.log() + op.log()
        return True

    eventually(reported, 60)
    seen = space.api.get(space.path("clouds", "edge", GROUP))["status"]
    assert seen["session"]["instance"], seen
    log = hub.log() + op.log()
    assert not any(secret in log for secret in (*SECRETS.values(), "X-Amz-Signature", SESSION)), log
    assert "the identity of AWS cannot be proven" not in log


def test_proofs_that_are_none(space, hubs, sts):
    hub = hubs("hub", f"--sts-url={sts.url}")
    where, far = cloud(space, operatorIdentity=ROLE), cloud(space, "far")

    def sync(token, at=where):
        code, answer = hub.sync(token, at, wait=0)
        return code, answer.get("error", {}).get("message", "")

    good = proof(where, host=sts.host)
    assert sync(good) == (200, "")
    asked = len(sts.asked)
    assert sync(good) == (200, "") and len(sts.asked) == asked  # it is remembered
    sts.json = False
    assert sync(proof(where, host=sts.host, age_s=60))[0] == 200
    code, why = sync(good, far)
    assert code == 403 and "with a proof for another cloud is not the operator of cloud" in why, why
    code, why = sync(proof(far, host=sts.host), far)  # registered without an identity: nobody of AWS is its operator
    assert code == 403 and "is not the operator of cloud" in why, why
    code, why = sync(proof(where, host=sts.host, named=far))  # signed for another cloud
    assert code == 401 and "STS answered 403" in why, why
    code, why = sync(proof(where, host="sts.amazonaws.com"))  # signed for another host
    assert code == 401 and "STS answered 403" in why, why
    code, why = sync(proof(where, "AKIDOTHER", host=sts.host))
    assert code == 403 and "arn:aws:iam::123456789012:user/bob is not the operator" in why, why
    asked = len(sts.asked)
    for token in (proof(where, host=sts.host, age_s=901), proof(where, host=sts.host, age_s=-400), good + "&X=1", good[:-9],
                  proof(where, host=sts.host, **{"X-Amz-Security-Token": "x" * 4096}), proof(where, host=sts.host, Action="AssumeRole")):
        code, why = sync(token)
        assert code == 401 and "the proof of an identity of AWS is not valid" in why, (token, why)
    assert len(sts.asked) == asked
    code, answer = hub.ask("GET", f"/v1/projects/{space.name}/workloads", good)
    assert code == 403 and "an identity of AWS is that of an operator" in answer["error"]["message"], answer
    sts.server.shutdown()
    sts.server.server_close()
    code, why = sync(proof(where, host=sts.host, age_s=30))
    assert code == 503 and "STS does not answer" in why, why
    code, why = hubs("without").sync(good, where)[0], ""
    assert code == 401
