"""Servers that break TLS 1.3, called by `mobula check`: each case and the alert that RFC 8446 names for it. A command tries again at
least twice in its 15 s, so each process meets three cases."""

import concurrent.futures
import socket

from cluster import mobula
from processes import kubeconfig
from tls_client import (ALERT, CHANGE, COOKIE, DATA, HANDSHAKE, SHARE, VERSIONS, X25519_G, Client, Keys, derive_secret, extension,
                        message, secureHMAC, vector, x25519)

UNEXPECTED, MAC, OVERFLOW, ILLEGAL, DECODE, DECRYPT, BAD_CERTIFICATE, MISSING, EXTRA = 10, 20, 22, 47, 50, 51, 42, 109, 110
RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
HASH, ZEROS = "sha256", bytearray(32)
EACH = 3


class Server(Client):
    """One connection of the program's, taken as a server: it sends what the case says."""

    def __init__(self, link):
        super().__init__(None, link)
        self.come = self.messages()
        self.read_hello()

    def read_hello(self):
        text = next(self.come)
        self.transcript.text += text
        self.session = bytes(text[39:39 + text[38]])
        at = text.rindex(b"\0\x1d\0\x20")  # its key share for X25519
        self.share = text[at + 4:at + 36]

    def extensions(self):
        return {VERSIONS: b"\3\4", SHARE: b"\0\x1d" + vector(x25519(self.private, bytearray(X25519_G)), 2)}

    def hello(self, extensions=None, version=b"\3\3", random=b"R" * 32, session=None, suite=b"\x13\1", compression=b"\0"):
        listed = self.extensions() if extensions is None else extensions
        pairs = listed.items() if isinstance(listed, dict) else listed
        return (version + random + vector(self.session if session is None else session, 1) + suite + compression +
                vector(b"".join(extension(*pair) for pair in pairs), 2))

    def start(self):
        """A valid ServerHello; then the keys of the handshake are in use."""
        self.say(2, self.hello())
        early = secureHMAC(ZEROS, ZEROS, HASH)
        now = secureHMAC(derive_secret(early, b"derived", None, HASH), x25519(self.private, self.share), HASH)
        self.sends = Keys(derive_secret(now, b"s hs traffic", self.transcript, HASH))
        self.hears = Keys(derive_secret(now, b"c hs traffic", self.transcript, HASH))


def hello(name, want, **changes):
    return name, lambda s: s.say(2, s.hello(**changes)), want


def changed(name, want, change):
    return name, lambda s: s.say(2, s.hello(extensions=change(s.extensions()))), want


def raw(name, want, data):
    return name, lambda s: s.raw(data), want


def retry(name, want, body, again=False):
    def act(server):
        text = server.hello(extensions={VERSIONS: b"\3\4", **body}, random=RETRY)
        server.say(2, text)
        if again:
            next(server.come)  # the second ClientHello
            server.say(2, text)
    return f"HelloRetryRequest: {name}", act, want


def sealed(name, want, *messages, step=()):
    """After ServerHello: the messages of `step`, which are valid, then these records."""
    def act(server):
        server.start()
        for kind, content in (*step, *messages):
            server.record(kind, content)
    return name, act, want


EXTENSIONS = (HANDSHAKE, message(8, b"\0\0"))
REQUEST = (HANDSHAKE, message(13, b"\0" + vector(extension(13, b"\0\2\4\3"), 2)))


def says(kind, body):
    return HANDSHAKE, message(kind, body)


CASES = [
    hello("a legacy version of TLS 1.1", ILLEGAL, version=b"\3\2"),
    hello("another session id", ILLEGAL, session=b"s" * 32),
    hello("no session id", ILLEGAL, session=b""),
    hello("a suite that is not offered", ILLEGAL, suite=b"\x13\4"),
    hello("a suite of TLS 1.2", ILLEGAL, suite=b"\xc0\x2b"),
    hello("compression", ILLEGAL, compression=b"\1"),
    hello("TLS 1.2 with the mark of a downgrade", ILLEGAL, extensions={}, random=b"R" * 24 + b"DOWNGRD\1"),
    hello("TLS 1.2 with the mark of TLS 1.1", ILLEGAL, extensions={}, random=b"R" * 24 + b"DOWNGRD\0"),
    changed("version 1.2 in 1.3", ILLEGAL, lambda e: {**e, VERSIONS: b"\3\3"}),
    changed("version 1.4", ILLEGAL, lambda e: {**e, VERSIONS: b"\3\5"}),
    changed("a version of one byte", DECODE, lambda e: {**e, VERSIONS: b"\3"}),
    changed("a version of three bytes", DECODE, lambda e: {**e, VERSIONS: b"\3\4\0"}),
    changed("no key share", MISSING, lambda e: {VERSIONS: e[VERSIONS]}),
    changed("a key share twice", ILLEGAL, lambda e: [*e.items(), (SHARE, e[SHARE])]),
    changed("a group that is not offered", ILLEGAL, lambda e: {**e, SHARE: b"\0\x1e" + vector(bytes(56), 2)}),
    changed("a group without a key share", ILLEGAL, lambda e: {**e, SHARE: b"\0\x17" + vector(b"\4" * 65, 2)}),
    changed("a key of zeros", ILLEGAL, lambda e: {**e, SHARE: b"\0\x1d" + vector(bytes(32), 2)}),
    changed("a key of 31 bytes", ILLEGAL, lambda e: {**e, SHARE: b"\0\x1d" + vector(bytes(31), 2)}),
    changed("a ciphertext of ML-KEM that is too short", ILLEGAL, lambda e: {**e, SHARE: b"\x11\xec" + vector(bytes(1119), 2)}),
    changed("bytes behind the key", DECODE, lambda e: {**e, SHARE: e[SHARE] + b"\0"}),
    changed("an extension that was not asked for", EXTRA, lambda e: {**e, 0x1234: b""}),
    changed("a key to resume", EXTRA, lambda e: {**e, 41: b"\0\0"}),
    changed("a name in ServerHello", EXTRA, lambda e: {**e, 0: b""}),
    changed("a cookie in ServerHello", EXTRA, lambda e: {**e, COOKIE: b"\0\1x"}),
    retry("a group whose share was sent", ILLEGAL, {SHARE: b"\0\x1d"}),
    retry("the hybrid, whose share was sent", ILLEGAL, {SHARE: b"\x11\xec"}),
    retry("a group that was not offered", ILLEGAL, {SHARE: b"\0\x1e"}),
    retry("nothing to change", ILLEGAL, {}),
    retry("a whole key share", DECODE, {SHARE: b"\0\x17\0\0"}),
    retry("an empty cookie", DECODE, {COOKIE: b"\0\0"}),
    retry("an unknown extension", EXTRA, {SHARE: b"\0\x17", 0x1234: b""}),
    retry("a second one", UNEXPECTED, {SHARE: b"\0\x17"}, again=True),
    raw("an unknown type of record", UNEXPECTED, b"\x19\3\3\0\1x"),
    raw("a record that is too long", OVERFLOW, b"\x16\3\3\x40\1" + bytes(64)),
    raw("an empty handshake record", UNEXPECTED, b"\x16\3\3\0\0"),
    raw("data first", UNEXPECTED, b"\x17\3\3\0\1x"),
    raw("ClientHello", UNEXPECTED, b"\x16\3\3\0\4\1\0\0\0"),
    raw("ServerHello of no bytes", DECODE, b"\x16\3\3\0\4\2\0\0\0"),
    raw("a message of 16 MiB", ILLEGAL, b"\x16\3\3\0\4\2\xff\xff\xff"),
    sealed("EncryptedExtensions of no bytes", DECODE, says(8, b"")),
    sealed("EncryptedExtensions with bytes behind", DECODE, says(8, b"\0\0\0")),
    sealed("an extension that was not asked for", EXTRA, says(8, vector(extension(0x1234, b""), 2))),
    sealed("a key share in EncryptedExtensions", ILLEGAL, says(8, vector(extension(SHARE, b""), 2))),
    sealed("another protocol", ILLEGAL, says(8, vector(extension(16, b"\0\3\2h2"), 2))),
    sealed("an extension twice", ILLEGAL, says(8, vector(extension(0, b"") * 2, 2))),
    sealed("Certificate before EncryptedExtensions", UNEXPECTED, says(11, b"\0\0\0\0")),
    sealed("data in the handshake", UNEXPECTED, (DATA, b"x")),
    sealed("change_cipher_spec of 2", UNEXPECTED, (CHANGE, b"\2")),
    sealed("an empty record", UNEXPECTED, (HANDSHAKE, b"")),
    sealed("plaintext that is too long", OVERFLOW, (HANDSHAKE, bytes(16385))),
    sealed("an alert of one byte", DECODE, (ALERT, b"\2")),
    sealed("EncryptedExtensions twice", UNEXPECTED, EXTENSIONS, step=[EXTENSIONS]),
    sealed("CertificateRequest without signatures", MISSING, says(13, b"\0\0\0"), step=[EXTENSIONS]),
    sealed("CertificateRequest with a context", ILLEGAL, says(13, b"\1x\0\0"), step=[EXTENSIONS]),
    sealed("CertificateRequest twice", UNEXPECTED, REQUEST, step=[EXTENSIONS, REQUEST]),
    sealed("Certificate with an empty list", DECODE, says(11, b"\0\0\0\0"), step=[EXTENSIONS]),
    sealed("Certificate of no bytes", DECODE, says(11, b"\0\0\0\5\0\0\0\0\0"), step=[EXTENSIONS]),
    sealed("Certificate with an extension", EXTRA, says(11, b"\0" + vector(vector(b"\x30\0", 3) + vector(extension(5, b""), 2), 3)),
           step=[EXTENSIONS]),
    sealed("Finished without Certificate", UNEXPECTED, says(20, bytes(32)), step=[EXTENSIONS]),
    sealed("CertificateVerify without Certificate", UNEXPECTED, says(15, b"\4\3\0\0"), step=[EXTENSIONS]),
    sealed("KeyUpdate in the handshake", UNEXPECTED, says(24, b"\0"), step=[EXTENSIONS]),
    sealed("a ticket in the handshake", UNEXPECTED, says(4, bytes(16)), step=[EXTENSIONS]),
    ("a spoiled tag", lambda s: (s.start(), s.record(*EXTENSIONS, spoil=True)), MAC),
    ("a record in the clear", lambda s: (s.start(), s.raw(b"\x16\3\3" + vector(EXTENSIONS[1], 2))), UNEXPECTED),
    # the last: the command does not try again after a bad certificate
    sealed("Certificate that is no DER", BAD_CERTIFICATE, says(11, b"\0" + vector(vector(b"\x30\0", 3) + b"\0\0", 3)), step=[EXTENSIONS]),
]


def run(cases, folder):
    """Serves one process of `mobula check`; the cases that ended otherwise, and how many it has met."""
    wrong, met = [], 0
    with socket.create_server(("127.0.0.1", 0)) as door:
        config = kubeconfig(folder / f"config-{id(cases)}", "x", 'token: "x"', door.getsockname()[1], "CA")
        config.write_text(config.read_text().replace('certificate-authority: "CA"', "insecure-skip-tls-verify: true"))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            done = pool.submit(mobula, "check", "--kubeconfig", str(config))
            door.settimeout(14)
            for name, act, want in cases:
                try:
                    link = door.accept()[0]
                except TimeoutError:
                    wrong.append((name, "not called again", want))
                    break
                with Server(link) as server:
                    act(server)
                    got = server.alert()
                    met += 1
                    if got != want:
                        wrong.append((name, got, want))
            door.close()
            done.result()
    return wrong, met


def test_hostile_servers(tmp_path):
    parts = [CASES[at:at + EACH] for at in range(0, len(CASES), EACH)]
    with concurrent.futures.ThreadPoolExecutor(len(parts)) as pool:
        results = list(pool.map(lambda part: run(part, tmp_path), parts))
    assert not [w for wrong, _ in results for w in wrong], results
    assert sum(met for _, met in results) == len(CASES) >= 60
