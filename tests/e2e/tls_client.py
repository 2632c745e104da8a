"""A TLS 1.3 client that can violate the protocol: tests build every record and message themselves. The cryptography is from package
tlslite-ng of PyPI."""

import os
import socket
import subprocess
import sys

from rig import RIG

VERSION = "0.8.2"
FOLDER = RIG / f"tlslite-ng-{VERSION}"
if not list(FOLDER.glob("lib/*/site-packages/tlslite")):
    subprocess.run([sys.executable, "-m", "venv", FOLDER], check=True)
    subprocess.run([FOLDER / "bin" / "pip", "install", "--quiet", f"tlslite-ng=={VERSION}"], check=True)
sys.path += map(str, FOLDER.glob("lib/*/site-packages"))

from tlslite.utils.cipherfactory import createAESGCM  # noqa: E402
from tlslite.utils.cryptomath import HKDF_expand_label, derive_secret, secureHash, secureHMAC  # noqa: E402
from tlslite.utils.x25519 import X25519_G, x25519  # noqa: E402

CHANGE, ALERT, HANDSHAKE, DATA = 20, 21, 22, 23
HASH = "sha256"
VERSIONS, GROUPS, SIGNATURES, SHARE, COOKIE = 43, 10, 13, 51, 44
ZEROS = bytearray(32)


def number(value, width):
    return value.to_bytes(width, "big")


def vector(body, width):
    return number(len(body), width) + bytes(body)


def message(kind, body):
    return number(kind, 1) + vector(body, 3)


def extension(kind, body):
    return number(kind, 2) + vector(body, 2)


class Transcript:
    def __init__(self):
        self.text = bytearray()

    def digest(self, _):
        return secureHash(self.text, HASH)

    def copy(self):
        return self


class Keys:
    """Record protection of one direction: key, IV and sequence number."""

    def __init__(self, secret):
        self.secret, self.sequence = secret, 0
        self.cipher = createAESGCM(HKDF_expand_label(secret, b"key", b"", 16, HASH))
        self.iv = HKDF_expand_label(secret, b"iv", b"", 12, HASH)

    def nonce(self):
        count = number(self.sequence, 12)
        self.sequence += 1
        return bytearray(a ^ b for a, b in zip(self.iv, count))

    def updated(self):
        return Keys(HKDF_expand_label(self.secret, b"traffic upd", b"", 32, HASH))


class Client:
    def __init__(self, port, link=None):
        self.link = link or socket.create_connection(("127.0.0.1", port), timeout=20)
        self.link.settimeout(20)
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.transcript, self.sends, self.hears, self.held = Transcript(), None, None, bytearray()
        self.private = bytearray(os.urandom(32))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()

    # ---- hellos ----

    def extensions(self):
        share = x25519(self.private, bytearray(X25519_G))
        return {VERSIONS: vector(b"\3\4", 1), GROUPS: vector(b"\0\x1d", 2), SIGNATURES: vector(b"\4\3\x08\4\x08\5", 2),
                SHARE: vector(b"\0\x1d" + vector(share, 2), 2)}

    def hello(self, extensions=None, version=b"\3\3", random=b"r" * 32, session=b"s" * 32, suites=b"\x13\1", compression=b"\0"):
        listed = self.extensions() if extensions is None else extensions
        pairs = listed.items() if isinstance(listed, dict) else listed
        return (version + random + vector(session, 1) + vector(suites, 2) + vector(compression, 1) +
                vector(b"".join(extension(*pair) for pair in pairs), 2))

    # ---- records ----

    def raw(self, data):
        try:
            self.link.sendall(data)
        except OSError:
            pass  # the server has closed the connection: its last records can still be read

    def record(self, kind, content, pad=0, spoil=False):
        """Sends one record, encrypted if there are keys."""
        if self.sends and kind != CHANGE:
            content = bytes(content) + number(kind, 1) + bytes(pad)
            head = b"\x17\3\3" + number(len(content) + 16, 2)
            content = self.sends.cipher.seal(self.sends.nonce(), bytearray(content), bytearray(head))
            if spoil:
                content[-1] ^= 1
            self.raw(head + bytes(content))
        else:
            self.raw(number(kind, 1) + b"\3\3" + vector(content, 2))

    def say(self, kind, body):
        """Sends a handshake message, and adds it to the transcript."""
        self.transcript.text += message(kind, body)
        self.record(HANDSHAKE, message(kind, body))

    def take(self, size):
        while len(self.held) < size:
            part = self.link.recv(65536)
            if not part:
                raise EOFError
            self.held += part
        part, self.held = self.held[:size], self.held[size:]
        return part

    def receive(self):
        """(type, content) of the server's next record."""
        head = self.take(5)
        content = self.take(int.from_bytes(head[3:], "big"))
        if head[0] != DATA or not self.hears:
            return head[0], content
        text = self.hears.cipher.open(self.hears.nonce(), content, head)
        assert text is not None, "the server's record cannot be decrypted"
        text = text.rstrip(b"\0")
        return text[-1], text[:-1]

    def messages(self):
        """The server's handshake messages, one after the other."""
        text = bytearray()
        while True:
            kind, content = self.receive()
            if kind == CHANGE:
                continue
            assert kind == HANDSHAKE, (kind, bytes(content))
            text += content
            while len(text) >= 4 and len(text) >= 4 + int.from_bytes(text[1:4], "big"):
                size = 4 + int.from_bytes(text[1:4], "big")
                yield text[:size]
                text = text[size:]

    def alert(self):
        """The alert with which the server ends the session; "end": it ended without one; "open": it waits for more."""
        self.link.settimeout(2)
        try:
            while True:
                kind, content = self.receive()
                if kind == ALERT:
                    return content[1]
        except (EOFError, ConnectionError):
            return "end"
        except TimeoutError:
            return "open"

    # ---- the handshake ----

    def start(self):
        """Runs the handshake from ClientHello to the server's Finished; then records use the client's handshake keys."""
        self.say(1, self.hello())
        self.shake()

    def shake(self):
        come = self.messages()
        hello = next(come)
        self.transcript.text += hello
        share = hello[-32:]
        early = secureHMAC(ZEROS, ZEROS, HASH)
        shared = x25519(self.private, share)
        now = secureHMAC(derive_secret(early, b"derived", None, HASH), shared, HASH)
        client = derive_secret(now, b"c hs traffic", self.transcript, HASH)
        self.sends = Keys(client)
        self.hears = Keys(derive_secret(now, b"s hs traffic", self.transcript, HASH))
        kind = 0
        while kind != 20:
            text = next(come)
            kind = text[0]
            self.transcript.text += text
        master = secureHMAC(derive_secret(now, b"derived", None, HASH), ZEROS, HASH)
        self.later = Keys(derive_secret(master, b"c ap traffic", self.transcript, HASH))
        self.hears = Keys(derive_secret(master, b"s ap traffic", self.transcript, HASH))
        self.finished = secureHMAC(HKDF_expand_label(client, b"finished", b"", 32, HASH), self.transcript.digest(HASH), HASH)

    def finish(self):
        self.record(HANDSHAKE, message(20, self.finished))
        self.sends = self.later
