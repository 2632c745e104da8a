"""Clusters with authOptions against the real API server: who makes the Secret, who reads it, and where its token is never seen."""

import base64
import json

import pytest

from cluster import RUN, Audit, condition, eventually, mobula, raycluster, rayjob, what
from dashboards import running, serve, tells
from test_install import grants, objects

AUTH = "--ray-auth"


def start(space, board, options, name="j"):
    job = rayjob(name, workers=1)
    spec = job["spec"]["rayClusterSpec"]
    spec["headGroupSpec"]["rayStartParams"] = {"dashboard-port": str(board.port)}
    spec["authOptions"] = options
    space.start(job)


def make_secret(space, name, token):
    space.api.call("POST", space.path("secrets"), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
                                                   "stringData": {"auth_token": token}})


def token_of(space, name):
    secret = space.find(space.path("secrets", name))
    return secret and base64.b64decode(secret["data"]["auth_token"]).decode()


def everything(space):
    """All that the API server shows of the namespace, but for its Secrets."""
    paths = [space.path(r) for r in ("pods", "services", "configmaps", "events")]
    paths += [space.path(r, group="/apis/ray.io/v1") for r in ("rayclusters", "rayjobs")]
    return json.dumps([space.api.get(path) for path in paths])


def secrets_asked(audit, operator):
    return calls_on("secrets", audit, operator)


def calls_on(resource, audit, operator):
    """Verb, name and status of each call of the operator."""
    entries = [e for e in audit.entries(operator.user) if (e.get("objectRef") or {}).get("resource") == resource]
    return [(e["verb"], e["objectRef"].get("name"), e["responseStatus"]["code"]) for e in entries if e["stage"] == "ResponseComplete"]


def test_a_job_with_a_token_of_its_clusters_own(space, operators, board):
    space.grant(AUTH)
    audit = Audit()
    operator = operators()
    start(space, board, {"mode": "token"})
    cluster = eventually(lambda: space.job("j").get("status", {}).get("rayClusterName"))
    board.token = eventually(lambda: token_of(space, cluster))
    assert len(base64.b64decode(board.token)) == 32
    assert space.api.get(space.path("secrets", cluster))["metadata"]["ownerReferences"][0]["name"] == cluster
    serve(space, board)
    running(space)
    for pod in space.pods(cluster):
        env = {e["name"]: e for e in pod["spec"]["containers"][0]["env"]}
        assert env["RAY_AUTH_MODE"]["value"] == "token"
        assert env["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"] == {"name": cluster, "key": "auth_token"}
    board.end("SUCCEEDED")
    space.becomes("j", "Complete")
    assert set(board.shown) == {(f"Bearer {board.token}", None)}
    assert sorted(secrets_asked(audit, operator)) == [("create", cluster, 201), ("get", cluster, 200)]
    assert not [what(e) for e in audit.entries(operator.user) if e["responseStatus"]["code"] == 403]
    assert board.token not in operator.log() and board.token not in everything(space)


def test_through_the_api_server(space, operators, board):
    """It keeps Authorization for itself: the dashboard sees the token only, and no credential of the operator's."""
    space.grant(AUTH, "--ray-access=proxy")
    make_secret(space, "mine", "sesame-open-yourself\n")
    audit = Audit()
    operator = operators("--ray-access=proxy")
    board.token = "sesame-open-yourself"
    start(space, board, {"secretName": "mine"})
    serve(space, board)
    running(space)
    board.end("SUCCEEDED")
    space.becomes("j", "Complete")
    assert set(board.shown) == {(None, "Bearer sesame-open-yourself")}
    assert secrets_asked(audit, operator) == [("get", "mine", 200)]
    assert "sesame" not in operator.log() and "sesame" not in everything(space)
    assert not [e for e in audit.lines() if "sesame" in json.dumps(e)]


def test_explain_shows_it_the_token(space, operators, board):
    """In the header that the API server passes on; who may not read the Secret is told which it is."""
    space.grant(AUTH)
    make_secret(space, "mine", "sesame-open-yourself")
    operators()
    board.token = "sesame-open-yourself"
    start(space, board, {"secretName": "mine"})
    serve(space, board)
    cluster = running(space)["rayClusterName"]
    admin = ("explain", "cluster", cluster, "-n", space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}")
    out = mobula(*admin)
    assert out.returncode == 0 and "Pending Demands" in out.stdout and "sesame" not in out.stdout + out.stderr, out
    assert (None, "Bearer sesame-open-yourself") in board.shown
    space.api.call("DELETE", space.path("secrets", "mine"))
    out = mobula(*admin)
    assert out.returncode == 0 and 'wants the token in Secret mine: 404 NotFound' in out.stdout, out


def test_a_wrong_token_is_told_and_mended(space, operators, board):
    space.grant(AUTH)
    make_secret(space, "mine", "first")
    operators()
    board.token = "second"
    start(space, board, {"secretName": "mine"})
    serve(space, board)
    tells(space, "HTTP status 403", "it is not the one in Secret mine")
    space.api.patch(space.path("secrets", "mine"), {"stringData": {"auth_token": "second"}})
    running(space)


def test_what_tokens_cost_in_rights(space):
    given, usual = (grants(objects("--no-crds", "--namespace", space.name, *flags)) for flags in ((AUTH,), ()))
    assert given - usual == {("", "secrets", "get"), ("", "secrets", "create")} and usual - given == set()


def test_without_the_right_no_head_is_made(space, operators):
    audit = Audit()
    operator = operators()
    c = raycluster("c", workers=1)
    c["spec"]["authOptions"] = {"mode": "token"}
    space.apply(c)
    space.apply(raycluster("open", workers=1))
    space.ready("open", 2)
    message = space.head_refused("c")
    assert "secrets c of authOptions" in message and AUTH in message and "403" in message, message
    assert not space.find(space.path("pods", "c-head"))
    assert {name for _, name, _ in secrets_asked(audit, operator)} <= {"c", None}


@pytest.mark.parametrize("options, words", [
    ({"mode": "token", "enableK8sTokenAuth": True}, "spec.authOptions.enableK8sTokenAuth"),
    ({"mode": "token", "secretName": "No Name"}, "spec.authOptions.secretName"),
], ids=["service accounts", "no name"])
def test_what_is_refused(space, operators, options, words):
    operators()
    c = raycluster("c", workers=0)
    c["spec"]["authOptions"] = options
    space.apply(c)

    def told():
        valid = condition(space.cluster("c"), "Valid")
        assert valid.get("status") == "False" and words in valid["message"], valid
        return True

    eventually(told)
    assert not space.pods("c")
