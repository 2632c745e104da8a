"""Block H, identity and TLS: tokens that change, end and go away, servers that are not who they should be, ten ways to write a kubeconfig,
plugins. What must hold: the reason is named once and not every second, /readyz shows it, nothing is done with wrong credentials, and when
it is mended the work is done without a restart."""

import functools
import json
import shutil
import signal
import stat
import time

from case import Case
from cluster import V1, eventually
from identity import AtTerminal, Authority, ConnectProxy, ProxyOnV6, encoded, only_tls_1_1, write_config
from processes import ACCOUNT
from rules import ALWAYS, Rule, say
from seen import make, put_spec, settle, v1_spec

BLOCK = "H"
TITLE = "identity and TLS"

SLOW_S = 240  # credentials are read every minute; trouble is retried within half of one
LOOK_S = 4
MOST_REQUESTS = 40  # of a server that refuses everybody for LOOK_S


def works(ctx, workers=1):
    """A cluster is made, or changed, and it all goes to its end."""
    if ctx.space.find(ctx.space.path("rayclusters", "c", V1)):
        put_spec(ctx.space, V1, "c", v1_spec(workers))
    else:
        make(ctx.space, V1, "c", v1_spec(workers))

    def look():
        s = settle(ctx.space, V1, "c", 1)
        assert len(s.workers) == workers, f"{len(s.workers)} workers"
        return True

    eventually(look, SLOW_S, 0.2)


def told(op, *words):
    """In the log, once, and by /readyz."""
    op.says("level=warn", *words, seconds=60)
    eventually(lambda: op.get("/readyz")[0] == 503, 60, 0.2)
    time.sleep(LOOK_S)
    lines = op.lines("level=warn")
    assert len(lines) <= 3, "\n".join(lines)


def ready_again(op):
    eventually(lambda: op.get("/readyz")[0] == 200, SLOW_S, 0.2)


# ---- tokens ----

def token_file(ctx):
    path = ctx.folder / "token"
    path.write_text(ctx.new_token())
    return path, ctx.config(user=f'tokenFile: "{path}"')


def bearer(x):
    return x.headers.value("authorization").partition(" ")[2]


def token_rotated(ctx):
    """From one moment on the old one is refused; the new one is in the file before that."""
    path, config = token_file(ctx)
    old = path.read_text()
    ctx.operator(config=config).ready()
    works(ctx)
    time.sleep(1.1)  # a token made in the same second is the same
    path.write_text(ctx.new_token())
    assert path.read_text() != old
    refusal = ctx.proxy.add(Rule(say(401, "Unauthorized"), where=lambda x: bearer(x) == old, times=ALWAYS))
    ctx.proxy.cut()
    works(ctx, 2)
    assert refusal.hits <= 12 and bearer(ctx.proxy.log[-1]) == path.read_text(), refusal.hits
    ctx.conclude()


def token_empty(ctx):
    spoiled(ctx, lambda path: path.write_text(""))


def token_gone(ctx):
    spoiled(ctx, lambda path: path.unlink())


def spoiled(ctx, spoil):
    """The file is of no use for a while, in which the old token is still good: it is kept."""
    path, config = token_file(ctx)
    good = path.read_text()
    op = ctx.operator(config=config).ready()
    works(ctx)
    spoil(path)
    op.process.send_signal(signal.SIGHUP)  # reads it now
    time.sleep(1)
    works(ctx, 2)
    path.write_text(good)
    works(ctx, 3)
    ctx.conclude()


def unauthorized_once(ctx):
    ctx.operator().ready()
    rule = ctx.proxy.add(Rule(say(401, "Unauthorized"), verb="create", resource="pods"))
    works(ctx, 2)
    assert rule.hits == 1
    ctx.conclude()


def unauthorized_for_ever(ctx):
    rule = ctx.proxy.add(Rule(say(401, "Unauthorized"), times=ALWAYS))
    op = ctx.operator()
    make(ctx.space, V1, "c", v1_spec(1))
    told(op, "401")
    since = len(ctx.proxy.log)
    time.sleep(LOOK_S)
    assert len(ctx.proxy.log) - since <= MOST_REQUESTS, "asked again and again"
    assert not ctx.proxy.writes()
    ctx.proxy.lift(rule)
    ready_again(op)
    works(ctx)
    ctx.conclude()


# ---- servers ----

def wrong_server(ctx, words, make_context):
    """It is not who it should be, says so, and gets neither the token nor any request; then it is."""
    good = ctx.proxy.context
    ctx.proxy.context = make_context(ctx)
    op = ctx.operator()
    told(op, *words)
    assert not ctx.proxy.log, "a request was sent to a server that is not to be trusted"
    ctx.proxy.context = good
    ready_again(op)
    works(ctx)
    ctx.conclude()


def rig_authority(ctx):
    """The CA that the operator trusts, so that everything else is what is wrong."""
    own = Authority(ctx.folder)
    own.crt, own.key = ctx.proxy.certificates.ca, ctx.proxy.certificates.ca.with_name("fault-ca.key")
    return own


SERVERS = {"expired certificate": (("expired",), lambda ctx: rig_authority(ctx).expired()),
           "wrong name": (("certificate is for",), lambda ctx: rig_authority(ctx).server("DNS:other.example.com,IP:192.0.2.1")),
           "tls 1.1 only": (("does not speak TLS 1.3 or 1.2",), lambda ctx: only_tls_1_1(rig_authority(ctx).server())),
           "self-signed": (("tls-trust",), lambda ctx: Authority(ctx.folder).server(signed=False))}


def ca_rotated(ctx):
    """Server and bundle change; the operator that runs reads the new bundle."""
    ca = ctx.folder / "ca.crt"
    shutil.copy(ctx.proxy.certificates.ca, ca)
    cluster = f'server: "https://127.0.0.1:{ctx.proxy.port}", certificate-authority: "{ca}"'
    config = write_config(ctx.folder / "config", cluster, f'token: "{ctx.new_token()}"', ctx.space.name)
    op = ctx.operator(config=config).ready()
    works(ctx)
    fresh = Authority(ctx.folder, "fresh")
    ctx.proxy.context = fresh.server()
    ctx.proxy.cut()
    op.says("level=warn", "tls-trust", seconds=60)
    shutil.copy(fresh.crt, ca)
    ready_again(op)
    works(ctx, 2)
    ctx.conclude()


def ipv6(ctx):
    proxy = ctx.another_proxy(ProxyOnV6, rig_authority(ctx).server("IP:::1"))
    cluster = f'server: "https://[::1]:{proxy.port}", certificate-authority: "{proxy.certificates.ca}"'
    ctx.operator(config=write_config(ctx.folder / "config", cluster, by_token(ctx), ctx.space.name)).ready()
    works(ctx)
    assert proxy.writes() and not ctx.proxy.log
    ctx.conclude()


# ---- kubeconfigs ----

def served(ctx, **words):
    """The cluster entry for our proxy, with other or more words."""
    usual = {"server": f"https://127.0.0.1:{ctx.proxy.port}", "certificate-authority": str(ctx.proxy.certificates.ca)}
    return ", ".join(f"{k}: {json.dumps(v)}" for k, v in {**usual, **{k.replace("_", "-"): v for k, v in words.items()}}.items() if v != "")


def by_token(ctx):
    return f'token: "{ctx.new_token()}"'


def use(ctx, cluster, user, *flags, **more):
    """Works with this kubeconfig."""
    ctx.operator(*flags, config=write_config(ctx.folder / "config", cluster, user, ctx.space.name, **more)).ready()
    works(ctx)
    ctx.conclude()


def with_proxy_url(ctx):
    between = ConnectProxy()
    try:
        use(ctx, served(ctx, proxy_url=f"http://127.0.0.1:{between.port}"), by_token(ctx))
        assert between.asked and set(between.asked) == {("CONNECT", f"127.0.0.1:{ctx.proxy.port}")}, between.asked
    finally:
        between.close()


def data_inline(ctx):
    use(ctx, served(ctx, certificate_authority="", certificate_authority_data=encoded(ctx.proxy.certificates.ca)), by_token(ctx))


def data_wins_over_file(ctx):
    data = encoded(ctx.proxy.certificates.ca)
    use(ctx, served(ctx, certificate_authority="/nonexistent", certificate_authority_data=data), by_token(ctx))


def token_file_wins(ctx):
    path, _ = token_file(ctx)
    use(ctx, served(ctx), f'token: "not.a.token", tokenFile: "{path}"')


def relative_paths(ctx):
    """To the folder of the kubeconfig, wherever the operator was started."""
    shutil.copy(ctx.proxy.certificates.ca, ctx.folder / "near.crt")
    token_file(ctx)
    use(ctx, served(ctx, certificate_authority="near.crt"), 'tokenFile: "token"')


def tls_server_name(ctx):
    """The certificate is checked for another name than the one that is dialled."""
    ctx.proxy.context = rig_authority(ctx).server("DNS:kubernetes.example.com")
    use(ctx, served(ctx, tls_server_name="kubernetes.example.com"), by_token(ctx))


def insecure(ctx):
    """Asked for by name, done, and warned of."""
    ctx.proxy.context = Authority(ctx.folder).server("DNS:other", signed=False)
    write_config(ctx.folder / "config", served(ctx, certificate_authority="", insecure_skip_tls_verify=True), by_token(ctx), ctx.space.name)
    op = ctx.operator(config=ctx.folder / "config").ready()
    assert op.lines("level=warn", "NOT checked")
    works(ctx)
    ctx.conclude()


def other_context(ctx):
    """--context over current-context."""
    more = f', {{name: other, context: {{cluster: nowhere, user: operator, namespace: "{ctx.space.name}"}}}}'
    use(ctx, served(ctx), by_token(ctx), "--context=rig", more_contexts=more, current="other")


def impersonates(ctx):
    """An admin that is the service account for us: by the Impersonate headers, past the proxy's own eyes to the real server."""
    user = f'token: "{admin_token(ctx)}", as: "system:serviceaccount:{ctx.space.name}:{ACCOUNT}"'
    use(ctx, served(ctx), user)
    assert all(x.headers.value("impersonate-user").endswith(f":{ACCOUNT}") for x in ctx.proxy.log)


def admin_token(ctx):
    """Of an account that may do one thing: to be the operator's."""
    name, rbac = "actor", "/apis/rbac.authorization.k8s.io/v1"
    space = ctx.space.name
    ctx.api.call("POST", ctx.space.path("serviceaccounts"), {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": [ACCOUNT], "verbs": ["impersonate"]}]}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
               "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": space}]}
    ctx.api.call("POST", ctx.space.path("roles", group=rbac), role)
    ctx.api.call("POST", ctx.space.path("rolebindings", group=rbac), binding)
    return ctx.new_token(name)


def path_prefix(ctx):
    """A server behind a path: all requests go below it."""
    prefix = "/k8s/clusters/one"

    def strip(x):
        assert x.target.startswith(prefix), x.target
        x.target = x.target[len(prefix):]
        return False

    ctx.proxy.add(Rule(None, where=strip))
    use(ctx, served(ctx, server=f"https://127.0.0.1:{ctx.proxy.port}{prefix}"), by_token(ctx))


KUBECONFIGS = {"proxy-url": with_proxy_url, "data": data_inline, "data-over-file": data_wins_over_file, "token-file": token_file_wins,
               "relative-paths": relative_paths, "tls-server-name": tls_server_name, "insecure": insecure, "context": other_context,
               "impersonate": impersonates, "path-prefix": path_prefix}


# ---- plugins ----

def plugin(ctx, script):
    """(the program's path, the user entry that runs it)"""
    path = ctx.folder / "plugin"
    path.write_text(f"#!/bin/sh\necho run >>{ctx.folder}/runs\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return (f'exec: {{apiVersion: client.authentication.k8s.io/v1, command: "{path}", interactiveMode: Never}}')


def credential(token, seconds=None):
    status = {"token": token}
    if seconds:
        status["expirationTimestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
    return json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})


def at_terminal(ctx, user):
    config = write_config(ctx.folder / "config", served(ctx), user, ctx.space.name)
    op = AtTerminal(ctx.folder, ctx.space.name, "--tools=none", name="operator0", config=config)
    ctx.operators.append(op)
    return op


def runs(ctx):
    return (ctx.folder / "runs").read_text().count("run")


def plugin_fails(ctx):
    """At the start: said, with the plugin's name and how it ended. Nothing runs on without credentials."""
    op = at_terminal(ctx, plugin(ctx, "echo no login >&2; exit 3"))
    assert op.process.wait(30) == 1
    eventually(lambda: "plugin" in op.log() and "exit code 3" in op.log(), 10)
    assert not ctx.proxy.log
    ctx.conclude(codes=(1,))


def plugin_slow(ctx):
    path = ctx.folder / "credential"
    path.write_text(credential(ctx.new_token()))
    at_terminal(ctx, plugin(ctx, f"sleep 5; cat {path}")).ready()
    works(ctx)
    assert runs(ctx) == 1
    ctx.conclude()


def plugin_rotates(ctx):
    """What it gave is refused from one moment on: it is asked again, and its new answer taken."""
    path = ctx.folder / "credential"
    old = ctx.new_token()
    path.write_text(credential(old))
    at_terminal(ctx, plugin(ctx, f"cat {path}")).ready()
    works(ctx)
    time.sleep(1.1)
    path.write_text(credential(ctx.new_token()))
    ctx.proxy.add(Rule(say(401, "Unauthorized"), where=lambda x: bearer(x) == old, times=ALWAYS))
    ctx.proxy.cut()
    works(ctx, 2)
    assert 2 <= runs(ctx) <= 6, runs(ctx)
    ctx.conclude()


PLAIN = {"token/rotated": token_rotated, "token/empty": token_empty, "token/gone": token_gone, "401/once": unauthorized_once,
         "401/for-ever": unauthorized_for_ever, "server/ca-rotated": ca_rotated, "server/ipv6": ipv6, "plugin/fails": plugin_fails,
         "plugin/slow": plugin_slow, "plugin/rotates": plugin_rotates}


def cases(_learned):
    found = [Case(f"H/{name}", run, slow=True, limit=600) for name, run in PLAIN.items()]
    found += [Case(f"H/server/{name.replace(' ', '-')}", functools.partial(wrong_server, words=words, make_context=make_context), slow=True,
                   limit=600) for name, (words, make_context) in SERVERS.items()]
    return found + [Case(f"H/kubeconfig/{name}", run) for name, run in KUBECONFIGS.items()]
