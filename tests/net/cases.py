"""The table of cases: what the path does to the operator, and what must be seen of it."""

from dataclasses import dataclass, field
from typing import Callable, Optional

from lab import API, API2, PROXY
from servers import HOST

# Linux gives a connection up 45 s after its last sign of life, or 40 s after bytes that nobody acknowledged (src/net/tcp.c).
DEAD = 48
THROUGH = f"http://user:word@{PROXY}:3128"


@dataclass
class Case:
    name: str
    fault: Optional[Callable] = None    # what happens to the path; the cluster is ready then, and at rest
    before: Optional[Callable] = None   # … or before the operator starts
    heal: Optional[Callable] = None     # done when the fault was noticed
    words: tuple = ()                   # of the line that tells of it; none: no line need tell
    noticed: float = DEAD               # seconds until that line, from the fault or the start (and from `quiet`)
    quiet: float = 0                    # seconds between the fault and the user's change
    recover: float = 20                 # seconds from healing, or from the line, or else from the change, until all pods are there
    connections: int = 16               # SYN packets from the fault on, those sent again counted: a watch of each kind, and calls
    packets: int = 400                  # from the operator, from the fault on
    warnings: int = 3                   # in all
    after: Optional[Callable] = None    # what else must hold at the end
    bench: dict = field(default_factory=dict)


def rules(*texts):
    return lambda b: b.lab.fault(*texts)


def mode(name):
    def change(b):
        b.names.mode = name

    return change


def idle(seconds, rule):
    """A NAT that forgets who was silent for so long, and does this with the packets of connections that it does not know."""

    def change(b):
        b.lab.forget_idle(seconds)
        b.lab.fault(rule)

    return change


def masked(b, rule):
    b.lab.nft("flush chain ip lab masked", f"add rule ip lab masked {rule}")


def narrow(b):
    """Two public ports for all connections, and those that there are are forgotten."""
    masked(b, f"ip daddr {API} tcp dport 6443 masquerade to :61001-61002")
    b.lab.forget_idle(432000)
    b.lab.forget_all()


def gateway_replaced(b):
    """Another NAT has taken over, with ports that Linux does not choose and no memory: the server resets what it does not know."""
    masked(b, "meta l4proto tcp masquerade to :61001-65000")
    b.lab.forget_all()


def failover(b):
    """The name has another address, and the old one is dead."""
    b.names.records[HOST] = [API2]
    b.door.open(b.lab, API2)
    b.lab.fault(f"ip daddr {API} drop", f"ip saddr {API} drop")


def cut(how):
    def change(b):
        b.door.cut = how

    return change


def inspect(b):
    b.proxy.inspect = b.other.server()


def not_inspected(b):
    b.proxy.inspect = None


def answers(status):
    def change(b):
        b.proxy.status = status

    return change


def no_password(b):
    assert "user:word" not in b.log() and "dXNlcjp3b3Jk" not in b.log(), "the proxy's password is in the log"


def idle_proxy(b):
    b.proxy.idle = 2


def stands(b):
    assert b.door.opened - b.opened <= 1, "a connection that was kept alive was opened again"


def cut_once(b):
    assert b.door.cuts == 1, "no write was cut"


def nothing_told(b):
    assert b.proxy.seen == b"", f"a proxy that looks inside was told {b.proxy.seen[:80]}"


def by_tcp(b):
    assert b.names.by_tcp > 0, "the answer over UDP was believed"


def few_questions(b):
    assert b.names.asked < 30, f"{b.names.asked} questions to a slow name server"


def tunnels_closed(b):
    assert b.proxy.closed > 0, "no tunnel was idle"
    assert all("Proxy-Authorization: Basic dXNlcjp3b3Jk" in h for h in b.proxy.heads), "a tunnel without credentials"


def by_the_second(b):
    assert b.second.tunnels > 0 and not b.proxy.heads, f"{len(b.proxy.heads)} requests to the proxy of all others"
    assert all("Proxy-Authorization: Basic dGFibGU6d29yZA==" in h for h in b.second.heads), "a tunnel without the table's credentials"
    assert "table:word" not in b.log(), "the proxy's password is in the log"


def by_none(b):
    assert not b.proxy.heads and not b.second.heads, "a proxy was asked for what the table says is direct"


NAMED = {"host": HOST}
PROXIED = {"host": HOST, "proxy": THROUGH}
REAL = {"real": True}
DOWN = "the API server cannot be used"
GONE = "stopped acknowledging"
RESET = "reset the connection"

CASES = [
    # The clock of these NATs is shortened: what Azure forgets after 240 s, Google after 1,200 and Amazon after 350 goes after 5 here.
    Case("azure and google: idle mappings vanish in silence", idle(5, "ct state invalid drop"), quiet=8, words=(GONE,)),
    Case("amazon: idle connections are reset", idle(5, "ct state invalid reject with tcp reset"), quiet=8, words=(RESET,), noticed=20),
    Case("idle mappings are kept by keepalives", idle(25, "ct state invalid drop"), quiet=40, recover=5, connections=2, warnings=0,
         after=stands),
    Case("black hole in a watch", rules("drop"), heal=rules(), words=(GONE,), connections=40),
    Case("black hole in a watch of a real API server", rules("drop"), heal=rules(), words=(GONE,), connections=40, packets=800,
         bench=REAL),
    # SYNs that are sent again while nothing passes are counted: how many depends on when who tries.
    Case("black hole under a write", rules('iifname "in" drop'), heal=rules(), words=(GONE,), noticed=40, connections=24),
    Case("gateway replaced", gateway_replaced, words=(RESET,), noticed=20),
    # Each of the operator's watches tries twice before the ports are there again, and sends its SYN four times: after 1, 3 and 7 s as well.
    Case("ports exhausted", narrow, heal=lambda b: masked(b, "masquerade"), words=(DOWN,), noticed=90, recover=35, connections=80,
         warnings=4),
    Case("large packets vanish", before=rules("meta length > 700 drop"), heal=rules(), words=(DOWN, "MTU"), noticed=15, recover=35,
         connections=24),
    Case("dns refuses", before=mode("refused"), heal=mode("ok"), words=(DOWN, "refuses"), noticed=15, recover=35, bench=NAMED),
    Case("dns fails", before=mode("servfail"), heal=mode("ok"), words=(DOWN, "DNS"), noticed=15, recover=35, bench=NAMED),
    Case("dns knows no such name", before=mode("nxdomain"), heal=mode("ok"), words=(DOWN, "does not know"), noticed=5, recover=35,
         bench=NAMED),
    Case("dns answers are cut short", before=mode("truncated"), warnings=0, connections=40, recover=10, after=by_tcp, bench=NAMED),
    Case("dns is slow", before=mode("slow"), warnings=0, recover=25, after=few_questions, bench=NAMED),
    Case("dns says nothing", before=mode("silent"), heal=mode("ok"), words=(DOWN, "DNS"), noticed=15, recover=45, bench=NAMED),
    Case("dns leads elsewhere after a failover", failover, words=(GONE,), recover=10, bench=NAMED),
    Case("proxy closes idle tunnels", idle_proxy, quiet=5, words=("was cut",), connections=30, after=tunnels_closed, bench=PROXIED),
    Case("proxy looks inside", before=inspect, heal=not_inspected, words=(DOWN, "step=tls-trust", "unknown CA"), noticed=5, recover=35,
         connections=30, after=nothing_told, bench=PROXIED),
    Case("proxy wants another password", before=answers("407 Proxy Authentication Required"), heal=answers(None), noticed=5, recover=35,
         words=(DOWN, "step=proxy", "another user or password (407)"), connections=30, after=no_password, bench=PROXIED),
    Case("proxy forbids the API server", before=answers("403 Forbidden"), heal=answers(None), noticed=5, recover=35,
         words=(DOWN, "step=proxy", "it must be allowed there"), connections=30, after=no_password, bench=PROXIED),
    Case("proxy answers a page", before=answers("200 OK"), heal=answers(None), noticed=5, recover=35,
         words=(DOWN, "step=proxy", "a page of its own", "NO_PROXY"), connections=30, after=no_password, bench=PROXIED),
    Case("another proxy for this destination", warnings=0, after=by_the_second,
         bench=PROXIED | {"table": f"other.example=direct,{HOST}:6443=http://table:word@{PROXY}:3129"}),
    Case("no proxy for this destination", warnings=0, after=by_none, bench=PROXIED | {"table": f"{HOST}=direct"}),
    Case("another proxy, whatever NO_PROXY says of its network", warnings=0, after=by_the_second,
         bench={"host": API, "proxy": THROUGH, "table": f"198.51.100.0/24=http://table:word@{PROXY}:3129"}),
    Case("reset in the middle of a write", cut("before"), words=(RESET,), noticed=10, after=cut_once),
    Case("reset instead of a write's answer", cut("after"), after=cut_once),
    Case("reset instead of a write's answer by a real API server", cut("after"), after=cut_once, bench=REAL),
]
