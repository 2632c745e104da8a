"""HTTP/1.1 as bytes on a socket, both directions: what a proxy needs to read a message, to change it and to pass it on."""

import select
import socket
import ssl

CRLF = b"\r\n"


class Closed(Exception):
    """The other side ended the connection, or we are told to."""


class Wire:
    """A TLS socket with what was read and not used yet."""

    def __init__(self, sock):
        self.sock, self.left = sock, b""

    def fill(self):
        """Reads what there is, at least a byte. Returns False at the end."""
        try:
            data = self.sock.recv(65536)
        except (OSError, ValueError):
            data = b""
        self.left += data
        return bool(data)

    def until(self, mark):
        """The bytes up to and with mark; Closed when they do not come."""
        while (at := self.left.find(mark)) < 0:
            if not self.fill():
                raise Closed
        at += len(mark)
        out, self.left = self.left[:at], self.left[at:]
        return out

    def exactly(self, n):
        while len(self.left) < n:
            if not self.fill():
                raise Closed
        out, self.left = self.left[:n], self.left[n:]
        return out

    def rest(self):
        while self.fill():
            pass
        out, self.left = self.left, b""
        return out

    def send(self, data):
        try:
            self.sock.sendall(data)
        except (OSError, ValueError) as e:
            raise Closed from e

    def ready(self):
        return bool(self.left) or self.sock.fileno() < 0 or self.sock.pending() > 0

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError):
            pass  # it has ended by itself
        self.sock.close()

    def reset(self):
        """Ends the connection with a RST, as a crashed peer or a firewall does."""
        try:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        except (OSError, ValueError):
            pass
        self.sock.close()


def wait_readable(wires, seconds):
    """Those of the wires on which something waits (bytes or an end)."""
    found = [w for w in wires if w.ready()]
    if found:
        return found
    try:
        socks = select.select([w.sock for w in wires], [], [], seconds)[0]
    except (OSError, ValueError):
        return list(wires)
    return [w for w in wires if w.sock in socks]


class Headers(list):
    """(name, value) pairs in their order; names as they were sent."""

    def value(self, name, default=""):
        return next((v for k, v in self if k.lower() == name), default)

    def without(self, *names):
        return Headers((k, v) for k, v in self if k.lower() not in names)

    def text(self):
        return b"".join(f"{k}: {v}\r\n".encode("latin-1") for k, v in self)


def read_head(wire):
    """(first line, Headers)."""
    first, *lines = wire.until(CRLF + CRLF)[:-4].decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return first, Headers((k, v.strip()) for k, _, v in pairs)


def read_chunk(wire):
    """The next chunk's bytes; b"" for the last one, whose trailers are passed over."""
    size = int(wire.until(CRLF).split(b";")[0], 16)
    data = wire.exactly(size)
    if size:
        wire.exactly(2)
    else:
        while wire.until(CRLF) != CRLF:
            pass
    return data


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


class Answer:
    """One answer, whole: status, headers, body."""

    def __init__(self, status, headers, body, reason=""):
        self.status, self.headers, self.body, self.reason = status, Headers(headers), body, reason

    def bytes(self):
        headers = self.headers.without("transfer-encoding", "content-length")
        headers.append(("Content-Length", str(len(self.body))))
        return f"HTTP/1.1 {self.status} {self.reason}\r\n".encode("latin-1") + headers.text() + CRLF + self.body


def read_answer_head(wire):
    """(status, reason, Headers); interim answers are passed over."""
    while True:
        first, headers = read_head(wire)
        status, _, reason = first.partition(" ")[2].partition(" ")
        if int(status) >= 200:
            return int(status), reason, headers


def read_body(wire, status, headers, method="GET"):
    if method == "HEAD" or status in (204, 304):
        return b""
    if headers.value("transfer-encoding").lower() == "chunked":
        parts = []
        while data := read_chunk(wire):
            parts.append(data)
        return b"".join(parts)
    length = headers.value("content-length")
    return wire.exactly(int(length)) if length else wire.rest()


def dial(port, context):
    """A TLS connection to the API server on loopback."""
    raw = socket.create_connection(("127.0.0.1", port), timeout=30)
    try:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock = context.wrap_socket(raw, server_hostname="127.0.0.1")
    except (OSError, ssl.SSLError) as e:
        raw.close()
        raise Closed from e
    sock.settimeout(None)
    return Wire(sock)
