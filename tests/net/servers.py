"""What stands in `far`: a door before the API server that speaks TLS, a name server and a proxy, each with the faults that cases ask for.
All of them run on one event loop in one thread; their sockets were made in the laboratory's namespaces."""

import asyncio
import socket
import ssl
import struct
import subprocess
import threading

HOST = "api.lab.test"


class Servers:
    """The loop, and what runs on it."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)


class Pki:
    """A CA and what it has signed, by openssl."""

    def __init__(self, folder, name):
        self.ca, self.key = folder / f"{name}-ca.crt", folder / f"{name}-ca.key"
        self.cert, self.cert_key = folder / f"{name}.crt", folder / f"{name}.key"
        new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        names = f"subjectAltName=DNS:{HOST},IP:198.51.100.2,IP:198.51.100.3"
        self._run(*new, "-subj", f"/CN={name} CA", "-keyout", self.key, "-out", self.ca)
        self._run(*new, "-subj", f"/CN={name}", "-addext", names, "-addext", "basicConstraints=critical,CA:FALSE",
                  "-addext", "extendedKeyUsage=serverAuth", "-CA", self.ca, "-CAkey", self.key, "-keyout", self.cert_key, "-out", self.cert)

    @staticmethod
    def _run(*command):
        subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=60)

    def server(self):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.maximum_version = ssl.TLSVersion.TLSv1_2
        tls.load_cert_chain(self.cert, self.cert_key)
        return tls


def reset(writer):
    """Ends the connection with an RST."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Door:
    """TLS before the API server. cut: "before" or "after": the next POST of pods is reset in the middle, or instead of its answer."""

    def __init__(self, servers, tls, server):
        self.servers, self.tls, self.server = servers, tls, server
        self.cut, self.cuts, self.opened = None, 0, 0

    def open(self, lab, host, port=6443):
        sock = lab.far.listen(host, port)

        async def start():
            return await asyncio.start_server(self._serve, sock=sock, ssl=self.tls)

        self.servers.do(start())
        return self

    async def _serve(self, reader, writer):
        self.opened += 1
        try:
            back = await asyncio.get_running_loop().run_in_executor(None, self.server.backend)
            back.setblocking(False)
            tls = self.server.tls
            far_reader, far_writer = await asyncio.open_connection(sock=back, ssl=tls, server_hostname=tls and "127.0.0.1")
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._there(reader, far_writer, writer), self._back(far_reader, writer), return_exceptions=True)
        far_writer.close()
        writer.close()

    async def _there(self, reader, far, near):
        try:
            while data := await reader.read(65536):
                if self.cut and data.startswith(b"POST ") and b"/pods" in data.split(b"\r\n", 1)[0]:
                    how, self.cut = self.cut, None
                    self.cuts += 1
                    far.write(data if how == "after" else data[: len(data) // 2])
                    await far.drain()
                    await asyncio.sleep(0.3)  # the server has carried it out
                    reset(near)
                    return
                far.write(data)
                await far.drain()
        finally:
            far.close()

    @staticmethod
    async def _back(reader, near):
        try:
            while data := await reader.read(65536):
                near.write(data)
                await near.drain()
        finally:
            near.close()


class NameServer:
    """UDP and TCP. mode: ok, refused, servfail, nxdomain, truncated (over UDP), slow (3 s), silent."""

    def __init__(self, servers, lab, host, records):
        self.servers, self.records, self.mode, self.asked, self.by_tcp = servers, dict(records), "ok", 0, 0
        self.sock = lab.far.call(lambda: self._udp(host))
        tcp = lab.far.listen(host, 53)

        async def start():
            await servers.loop.create_datagram_endpoint(lambda: self, sock=self.sock)
            await asyncio.start_server(self._stream, sock=tcp)

        servers.do(start())

    @staticmethod
    def _udp(host):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((host, 53))
        sock.setblocking(False)
        return sock

    def answer(self, query, tcp=False):
        """The bytes of an answer, or None."""
        end = query.index(b"\0", 12)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode().lower())
            at += query[at] + 1
        question, kind = query[12 : end + 5], struct.unpack(">H", query[end + 1 : end + 3])[0]
        found = self.records.get(".".join(labels), None)
        code = {"refused": 5, "servfail": 2, "nxdomain": 3}.get(self.mode, 3 if found is None else 0)
        addresses = found if found and kind == 1 and code == 0 else []
        flags = 0x8180 | code
        if self.mode == "truncated" and not tcp:
            flags, addresses = flags | 0x0200, []
        body = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 5, 4) + socket.inet_aton(a) for a in addresses)
        return query[:2] + struct.pack(">HHHHH", flags, 1, len(addresses), 0, 0) + question + body

    def connection_made(self, transport):
        self.transport = transport

    def connection_lost(self, error):
        pass

    def error_received(self, error):
        pass

    def datagram_received(self, query, who):
        self.asked += 1
        if self.mode == "silent":
            return
        self.servers.loop.call_later(3 if self.mode == "slow" else 0, self.transport.sendto, self.answer(query), who)

    async def _stream(self, reader, writer):
        try:
            while size := await reader.readexactly(2):
                query = await reader.readexactly(struct.unpack(">H", size)[0])
                self.by_tcp += 1
                answer = self.answer(query, tcp=True)
                writer.write(struct.pack(">H", len(answer)) + answer)
        except asyncio.IncompleteReadError:
            writer.close()


class Proxy:
    """Takes CONNECT. idle: seconds after which a silent tunnel is closed. inspect: the TLS context of one that looks inside. status: what
    it answers instead. seen: what clients told it in tunnels that it looked into."""

    def __init__(self, servers, lab, host, port=3128):
        self.servers, self.lab, self.idle, self.inspect, self.status = servers, lab, None, None, None
        self.tunnels, self.closed, self.heads, self.seen = 0, 0, [], b""
        sock = lab.far.listen(host, port)

        async def start():
            return await asyncio.start_server(self._serve, sock=sock)

        servers.do(start())

    async def _serve(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head.decode())
        host, port = head.split()[1].decode().rsplit(":", 1)
        if self.status:
            writer.write(f"HTTP/1.1 {self.status}\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>".encode())
            writer.close()
            return
        self.tunnels += 1
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.drain()
        if self.inspect:
            await self._look(reader, writer)
            return
        loop = asyncio.get_running_loop()
        far = await loop.run_in_executor(None, lambda: self.lab.far.connect("198.51.100.2" if host == HOST else host, int(port)))
        far.setblocking(False)
        far_reader, far_writer = await asyncio.open_connection(sock=far)
        last = [loop.time()]
        await asyncio.gather(self._pump(reader, far_writer, last), self._pump(far_reader, writer, last), self._watch(writer, last),
                             return_exceptions=True)
        far_writer.close()
        writer.close()

    async def _look(self, reader, writer):
        try:
            await writer.start_tls(self.inspect)
            while data := await reader.read(65536):
                self.seen += data
        except (OSError, ssl.SSLError):
            pass
        writer.close()

    @staticmethod
    async def _pump(reader, writer, last):
        try:
            while data := await reader.read(65536):
                last[0] = asyncio.get_running_loop().time()
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    async def _watch(self, writer, last):
        while not writer.is_closing():
            await asyncio.sleep(0.2)
            if self.idle and asyncio.get_running_loop().time() - last[0] > self.idle:
                self.closed += 1
                writer.close()
