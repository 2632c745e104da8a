"""Clients that break TLS 1.3, at the door of a control plane: each case and the alert that RFC 8446 names for it. tests/unit/tls/t_hostile
and t_hellos, and test_tls_hostile_servers.py, have the same of servers, towards our client."""

import os
import re
import time

import pytest

from cluster import workspace
from hub import certificate, definitions, hubs_in  # noqa: F401 (a fixture)
from tls_client import ALERT, CHANGE, COOKIE, DATA, GROUPS, HANDSHAKE, SHARE, SIGNATURES, VERSIONS, Client, message, number, vector

UNEXPECTED, MAC, OVERFLOW, FAILURE, ILLEGAL, DECODE, DECRYPT, VERSION, MISSING, PROTOCOL = 10, 20, 22, 40, 47, 50, 51, 70, 109, 120
NOTHING = object()  # an extension that is left out


@pytest.fixture(scope="module")
def port(api, definitions, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("tls")
    cert, key = certificate(folder)
    with workspace(api, f"tls{os.getpid()}") as space, hubs_in(space, folder) as make:
        hub = make("tls", "--https-addr", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
        yield int(re.search(r"for=https-addr address=\S+ port=(\d+)", hub.log()).group(1))
        assert hub.process.poll() is None, hub.log()[-2000:]


def hold(port, cases):
    """Runs the cases: (name, what the client does, the alert). Returns their number; those with another end fail the test."""
    wrong = []
    for name, act, want in cases:
        with Client(port) as client:
            act(client)
            got = client.alert()
            if got != want:
                wrong.append((name, got, want))
    assert not wrong, wrong
    return len(cases)


def hello(name, want, **changes):
    return name, lambda c: c.say(1, c.hello(**changes)), want


def changed(name, want, kind, body):
    """A ClientHello with another body of one extension."""
    def act(client):
        listed = client.extensions()
        if body is NOTHING:
            del listed[kind]
        else:
            listed[kind] = body(client) if callable(body) else body
        client.say(1, client.hello(extensions=listed))
    return name, act, want


def cut(size):
    def act(client):
        client.record(HANDSHAKE, message(1, client.hello()[:size]))
    return f"ClientHello cut at {size}", act, DECODE


def test_hellos_that_are_cut(port):
    with Client(port) as client:
        whole = len(client.hello())
    assert hold(port, [cut(size) for size in range(whole) if size != 73]) > 140  # 73 bytes are a hello without extensions, of TLS 1.2


def share(group, key):
    return vector(number(group, 2) + vector(key, 2), 2)


def first(client):
    return client.extensions()[SHARE]


HELLOS = [
    hello("no session id is well", "open", session=b""),
    hello("a session id of 33 bytes", DECODE, session=b"s" * 33),
    hello("no suites", DECODE, suites=b""),
    hello("an odd list of suites", DECODE, suites=b"\x13"),
    hello("no suite that is known", FAILURE, suites=b"\x13\4\x13\5"),
    hello("suites of TLS 1.2 alone", FAILURE, suites=b"\xc0\x2b\xc0\x2f"),
    hello("no compression method", DECODE, compression=b""),
    hello("compression", ILLEGAL, compression=b"\1\0"),
    hello("compression without none", ILLEGAL, compression=b"\1"),
    changed("no groups", MISSING, GROUPS, NOTHING),
    changed("no signatures", MISSING, SIGNATURES, NOTHING),
    changed("no key share", MISSING, SHARE, NOTHING),
    changed("groups: an empty list", DECODE, GROUPS, b"\0\0"),
    changed("groups: an odd list", DECODE, GROUPS, b"\0\1\0"),
    changed("groups: bytes behind", DECODE, GROUPS, b"\0\2\0\x1d\0"),
    hello("groups: none that is known", FAILURE, extensions={VERSIONS: b"\2\3\4", GROUPS: b"\0\2\0\x1e", SIGNATURES: b"\0\2\4\3",
                                                             SHARE: share(30, bytes(56))}),
    changed("signatures: an empty list", DECODE, SIGNATURES, b"\0\0"),
    changed("signatures: an odd list", DECODE, SIGNATURES, b"\0\3\4\3\4"),
    changed("signatures: bytes behind", DECODE, SIGNATURES, b"\0\2\4\3\0"),
    changed("signatures: none that fits", FAILURE, SIGNATURES, b"\0\2\x08\7"),
    changed("signatures: PKCS #1 alone", FAILURE, SIGNATURES, b"\0\2\4\1"),
    changed("versions: an empty list", DECODE, VERSIONS, b"\0"),
    changed("versions: an odd list", DECODE, VERSIONS, b"\3\3\4\3"),
    changed("versions: bytes behind", DECODE, VERSIONS, b"\2\3\4\0"),
    changed("key share: bytes behind", DECODE, SHARE, lambda c: first(c) + b"\0"),
    changed("key share: a cut length", DECODE, SHARE, b"\0"),
    changed("key share: an empty key", DECODE, SHARE, share(29, b"")),
    changed("key share: a key of 31 bytes", ILLEGAL, SHARE, share(29, b"k" * 31)),
    changed("key share: a key of 33 bytes", ILLEGAL, SHARE, share(29, b"k" * 33)),
    changed("key share: a point of small order", ILLEGAL, SHARE, share(29, bytes(32))),
    changed("key share: of a group that is not offered", ILLEGAL, SHARE, share(23, b"\4" + b"k" * 64)),
    changed("a known extension of no bytes", DECODE, GROUPS, b""),
    changed("pre_shared_key without modes", MISSING, 41, b"x"),
    changed("ALPN: an empty list", DECODE, 16, b"\0\0"),
    changed("ALPN: an empty name", DECODE, 16, b"\0\1\0"),
    changed("ALPN: a cut name", DECODE, 16, b"\0\3\5h2"),
    changed("ALPN: bytes behind", DECODE, 16, b"\0\3\2h2\0"),
    changed("ALPN: none that is known", PROTOCOL, 16, b"\0\3\2h2"),
    changed("an unknown extension is ignored", "open", 0xfafa, b"x"),
]


def test_hellos_with_one_field_changed(port):
    assert hold(port, HELLOS) > 35


def points():
    """Invalid keys of the groups with a curve equation, and an encapsulation key whose coefficients are not reduced."""
    for group, size in ((23, 65), (24, 97), (25, 133)):
        for name, key in (("of zeros", bytes(size)), ("off the curve", b"\4" + b"\1" * (size - 1)),
                          ("compressed", b"\2" + b"\1" * (size // 2)), ("at infinity", b"\0"), ("hybrid", b"\6" + b"\1" * (size - 1)),
                          ("above the field", b"\4" + b"\xff" * (size - 1)), ("one byte short", b"\4" * (size - 1)),
                          ("one byte long", b"\4" * (size + 1))):
            yield f"group {group}: a point {name}", group, key
    for name, key in (("with coefficients above q", b"\xff" * 1184 + b"k" * 32), ("one byte short", bytes(1215)),
                      ("one byte long", bytes(1217)), ("with a point of small order", bytes(1216))):
        yield f"X25519MLKEM768: a key {name}", 0x11ec, key


def test_points_that_are_none(port):
    def offered(group, key):
        def act(client):
            listed = client.extensions() | {GROUPS: vector(number(group, 2), 2), SHARE: share(group, key)}
            client.say(1, client.hello(extensions=listed))
        return act

    assert hold(port, [(name, offered(group, key), ILLEGAL) for name, group, key in points()]) > 25


def repeated(kind):
    def act(client):
        listed = list(client.extensions().items())
        body = dict(listed).get(kind, b"")
        client.say(1, client.hello(extensions=[(kind, body), *listed, *([] if kind in dict(listed) else [(kind, body)])]))
    return f"extension {kind} twice", act, ILLEGAL


def test_extensions_twice(port):
    known = (VERSIONS, GROUPS, SIGNATURES, SHARE)
    unknown = (0, 1, 5, 14, 15, 18, 21, 22, 23, 35, 44, 45, 47, 48, 49, 50)
    assert hold(port, [repeated(kind) for kind in known + unknown]) == 20


def first_record(name, data, want):
    return name, lambda c: c.raw(data), want


def two(client, second):
    """The server asks for X25519 by a HelloRetryRequest; then `second` comes."""
    listed = client.extensions() | {SHARE: b"\0\0"}
    client.say(1, client.hello(extensions=listed))
    for kind, content in iter(client.receive, None):
        if kind == HANDSHAKE:
            assert content[0] == 2 and content[6:38].hex().startswith("cf21ad74"), content
            break
    second(client)


def retry(name, want, second):
    return name, lambda c: two(c, second), want


def listed_with(kind, body):
    return lambda c: c.say(1, c.hello(extensions=c.extensions() | {kind: body}))


RECORDS = [
    first_record("no TLS", b"GET / HTTP/1.1\r\n\r\n", VERSION),
    first_record("data first", b"\x17\3\3\0\1x", UNEXPECTED),
    first_record("an alert of one byte first", b"\x15\3\3\0\1\2", DECODE),
    first_record("change_cipher_spec first", b"\x14\3\3\0\1\1", UNEXPECTED),
    first_record("an empty handshake record", b"\x16\3\1\0\0", UNEXPECTED),
    first_record("an unknown type of record", b"\x19\3\1\0\1x", UNEXPECTED),
    first_record("a record that is too long", b"\x16\3\1\x40\1" + bytes(16), OVERFLOW),
    first_record("Finished first", b"\x16\3\3\0\4\x14\0\0\0", UNEXPECTED),
    first_record("ServerHello first", b"\x16\3\3\0\4\2\0\0\0", UNEXPECTED),
    first_record("a hello of 16 MiB", b"\x16\3\3\0\4\1\xff\xff\xff", ILLEGAL),
    retry("the same hello again", ILLEGAL, lambda c: c.say(1, c.hello(extensions=c.extensions() | {SHARE: b"\0\0"}))),
    retry("another group", ILLEGAL, listed_with(SHARE, share(23, b"\4" * 65))),
    retry("another suite", ILLEGAL, lambda c: c.say(1, c.hello(suites=b"\x13\2"))),
    retry("TLS 1.2", VERSION, listed_with(VERSIONS, b"\2\3\3")),
    retry("a cut hello", DECODE, lambda c: c.record(HANDSHAKE, message(1, c.hello()[:-1]))),
    retry("Finished", UNEXPECTED, lambda c: c.record(HANDSHAKE, message(20, bytes(32)))),
    retry("data, without early_data", UNEXPECTED, lambda c: c.record(DATA, b"x" * 32)),
    retry("a key of small order", ILLEGAL, listed_with(SHARE, share(29, bytes(32)))),
    retry("a key of 31 bytes", ILLEGAL, listed_with(SHARE, share(29, b"k" * 31))),
    retry("change_cipher_spec of 2", UNEXPECTED, lambda c: c.record(CHANGE, b"\2")),
]


def test_records_in_the_clear(port):
    assert hold(port, RECORDS) == len(RECORDS)


def shaken(name, want, act):
    """After the server's Finished."""
    def whole(client):
        client.start()
        act(client)
    return name, whole, want


def opened(name, want, act):
    """After the client's Finished."""
    def whole(client):
        client.start()
        client.finish()
        act(client)
    return name, whole, want


def flipped(at):
    def act(client):
        wrong = bytearray(client.finished)
        wrong[at] ^= 1 << at % 8
        client.record(HANDSHAKE, message(20, wrong))
    return shaken(f"Finished with byte {at} changed", DECRYPT, act)


def says(kind, body=b""):
    return lambda c: c.record(HANDSHAKE, message(kind, body))


SHAKEN = [
    *(flipped(at) for at in range(32)),
    *(shaken(f"Finished of {size} bytes", DECODE, says(20, bytes(size))) for size in (0, 1, 12, 31, 33, 48)),
    *(shaken(f"message {kind} instead of Finished", UNEXPECTED, says(kind, b"\0\0\0\0"))
      for kind in (0, 1, 2, 4, 5, 8, 11, 13, 15, 24, 99, 254)),
    shaken("Finished with bytes behind it", UNEXPECTED, lambda c: c.record(HANDSHAKE, message(20, c.finished) + b"\x18")),
    shaken("Finished in the clear", UNEXPECTED, lambda c: c.raw(b"\x16\3\3" + vector(message(20, c.finished), 2))),
    shaken("a spoiled tag", MAC, lambda c: c.record(HANDSHAKE, message(20, c.finished), spoil=True)),
    shaken("a record of a tag alone", MAC, lambda c: c.raw(b"\x17\3\3\0\x10" + bytes(16))),
    shaken("a record shorter than a tag", MAC, lambda c: c.raw(b"\x17\3\3\0\1x")),
    shaken("data before Finished", UNEXPECTED, lambda c: c.record(DATA, b"x")),
    shaken("an empty handshake record", UNEXPECTED, lambda c: c.record(HANDSHAKE, b"")),
    shaken("padding and no type", UNEXPECTED, lambda c: c.record(0, b"\0", pad=9)),
    shaken("change_cipher_spec of 2", UNEXPECTED, lambda c: c.record(CHANGE, b"\2")),
    shaken("change_cipher_spec of two bytes", UNEXPECTED, lambda c: c.record(CHANGE, b"\1\1")),
    shaken("change_cipher_spec, encrypted", UNEXPECTED, lambda c: c.raw(sealed(c, CHANGE, b"\1"))),
    shaken("an alert of one byte", DECODE, lambda c: c.record(ALERT, b"\2")),
    shaken("an alert of three bytes", DECODE, lambda c: c.record(ALERT, b"\2\50\0")),
    shaken("an alert within a message", UNEXPECTED, lambda c: (c.record(HANDSHAKE, b"\x14\0"), c.record(ALERT, b"\1\x5a"))),
    shaken("an unknown type", UNEXPECTED, lambda c: c.record(99, b"x")),
    shaken("plaintext that is too long", OVERFLOW, lambda c: c.record(HANDSHAKE, bytes(16385))),
    shaken("a record that is too long", OVERFLOW, lambda c: c.raw(b"\x17\3\3\x41\1" + bytes(64))),
    shaken("a message of 16 MiB", ILLEGAL, lambda c: c.record(HANDSHAKE, b"\x14\xff\xff\xff")),
]


def sealed(client, kind, content):
    text = bytes(content) + number(kind, 1)
    head = b"\x17\3\3" + number(len(text) + 16, 2)
    return head + bytes(client.sends.cipher.seal(client.sends.nonce(), bytearray(text), bytearray(head)))


def test_what_is_not_a_finished(port):
    assert hold(port, SHAKEN) > 60


OPENED = [
    *(opened(f"message {kind} when open", UNEXPECTED, says(kind, b"\0\0\0\0")) for kind in (0, 1, 2, 4, 5, 8, 11, 13, 15, 20, 99, 254)),
    *(opened(f"KeyUpdate of {value}", ILLEGAL, says(24, number(value, 1))) for value in (2, 3, 128, 255)),
    *(opened(f"KeyUpdate of {size} bytes", DECODE, says(24, bytes(size))) for size in (0, 2, 3)),
    opened("KeyUpdate with bytes behind", UNEXPECTED, lambda c: c.record(HANDSHAKE, message(24, b"\0") + message(24, b"\0"))),
    opened("KeyUpdate, and the old key", MAC, lambda c: (says(24, b"\0")(c), c.record(DATA, b"x"))),
    opened("change_cipher_spec when open", UNEXPECTED, lambda c: c.record(CHANGE, b"\1")),
    opened("a record in the clear", UNEXPECTED, lambda c: c.raw(b"\x16\3\3\0\4\x18\0\0\0")),
    opened("an alert in the clear", UNEXPECTED, lambda c: c.raw(b"\x15\3\3\0\2\2\x28")),
    opened("a spoiled tag", MAC, lambda c: c.record(DATA, b"GET", spoil=True)),
    opened("a record again", MAC, lambda c: [c.raw(data) for data in [sealed(c, DATA, b"G")] * 2]),
    opened("data that is too long", OVERFLOW, lambda c: c.record(DATA, bytes(16385))),
    opened("data within a message", UNEXPECTED, lambda c: (c.record(HANDSHAKE, b"\x18\0"), c.record(DATA, b"x"))),
    opened("empty records without end", UNEXPECTED, lambda c: [c.record(DATA, b"") for _ in range(40)]),
    opened("an unknown type", UNEXPECTED, lambda c: c.record(99, b"x")),
    opened("close_notify is answered", 0, lambda c: c.record(ALERT, b"\1\0")),
]


def test_open_sessions(port):
    assert hold(port, OPENED) > 25


def test_key_updates_are_answered_before_data(port):
    with Client(port) as client:
        client.start()
        client.finish()
        client.record(HANDSHAKE, message(24, b"\1"))
        client.sends = client.sends.updated()
        client.record(DATA, b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        kind, content = client.receive()
        assert (kind, bytes(content)) == (HANDSHAKE, message(24, b"\0"))
        client.hears = client.hears.updated()
        kind, content = client.receive()
        assert kind == DATA and bytes(content).startswith(b"HTTP/1.1 200"), (kind, content)


def test_early_data_is_skipped(port):
    """A client that believes to have a ticket of this server's."""
    for size, want in ((16 * 1024, 200), (40 * 1024, MAC)):
        with Client(port) as client:
            listed = client.extensions() | {42: b"", 45: vector(b"\1", 1)}
            listed[41] = vector(vector(b"ticket", 2) + bytes(4), 2) + vector(vector(bytes(32), 1), 2)
            client.say(1, client.hello(extensions=listed))
            for at in range(0, size, 8192):
                client.raw(b"\x17\3\3\x20\0" + bytes(8192))
            client.shake()
            if want == MAC:
                assert client.alert() == MAC
                continue
            client.finish()
            client.record(DATA, b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            kind, content = client.receive()
            assert kind == DATA and bytes(content).startswith(b"HTTP/1.1 200"), (kind, content)


def test_the_control_plane_still_answers(port):
    began = time.monotonic()
    with Client(port) as client:
        client.start()
        client.finish()
        client.record(DATA, b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert bytes(client.receive()[1]).startswith(b"HTTP/1.1 200"), time.monotonic() - began
