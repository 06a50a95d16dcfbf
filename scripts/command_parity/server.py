"""The server that the programs of scripts/command-parity talk to."""

import base64
import gzip
import http.server
import threading
import urllib.parse


class Recorded:
    def __init__(self, method, target, headers, body):
        self.method, self.target, self.headers, self.body = method, target, headers, body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self, status, content, kind="application/json", **more):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def handle_any(self):
        body = self.body()
        headers = [(name.lower(), value) for name, value in self.headers.items()]
        self.server.requests.append(Recorded(self.command, self.path, headers, body))
        path, _, query = self.path.partition("?")
        parts = path.strip("/").split("/")
        if parts[0] == "status":
            self.answer(int(parts[1]), b"{}")
        elif parts[0] == "redirect":
            left = int(parts[1])
            self.answer(302, b"", Location=f"/redirect/{left - 1}" if left > 1 else "/json")
        elif parts[0] == "see":
            self.answer(int(parts[1]), b"", Location="/json")
        elif parts[0] == "text":
            self.answer(200, b"plain text\n", "text/plain")
        elif parts[0] == "xml":
            self.answer(200, b"<a><b>1</b><c/></a>", "application/xml")
        elif parts[0] == "latin":
            self.answer(200, "é".encode("latin-1"), "text/plain; charset=iso-8859-1")
        elif parts[0] == "sjis":
            self.answer(200, "日本".encode("shift_jis"), "text/plain")
        elif parts[0] == "json-as-text":
            self.answer(200, b'{"b":1,"a":2}', "text/plain")
        elif parts[0] == "gzip":
            self.answer(200, gzip.compress(b'{"packed": true}'), Content_Encoding="gzip")
        elif parts[0] == "bytes":
            self.answer(200, bytes(range(256)) * 8, "application/octet-stream")
        elif parts[0] == "named":
            self.answer(200, b"content", "text/plain", Content_Disposition='attachment; filename="given.txt"')
        elif parts[0] == "file.bin":
            self.ranged(b"0123456789" * 100)
        elif parts[0] == "cookie":
            self.answer(200, b"{}", Set_Cookie="crumb=1; Path=/")
        elif parts[0] == "basic":
            right = "Basic " + base64.b64encode(b"ada:secret").decode()
            self.answer(200 if self.headers.get("Authorization") == right else 401, b"{}", WWW_Authenticate='Basic realm="x"')
        elif parts[0] == "digest":
            known = (self.headers.get("Authorization") or "").startswith("Digest ")
            challenge = 'Digest realm="x", nonce="abc", qop="auth", algorithm=MD5'
            self.answer(200 if known else 401, b"{}", WWW_Authenticate=challenge)
        else:
            self.answer(200, b'{"b": 1.10, "a": "x"}', X_Seen=urllib.parse.quote(query))

    def ranged(self, content):
        asked = self.headers.get("Range", "")
        if not asked.startswith("bytes="):
            return self.answer(200, content, "application/octet-stream", ETag='"1"', Accept_Ranges="bytes")
        first = int(asked[6:].split("-")[0])
        last = asked[6:].split("-")[1]
        end = int(last) + 1 if last else len(content)
        self.answer(
            206, content[first:end], "application/octet-stream", ETag='"1"',
            Content_Range=f"bytes {first}-{end - 1}/{len(content)}")

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.handle_any
        raise AttributeError(name)


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = []
        self.port = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def handle_error(self, *_):
        # A client that closes its connection early.
        pass


def start():
    listener = Listener()
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    return listener
