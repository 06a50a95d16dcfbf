"""DNS over HTTPS (RFC 8484) in front of a name server on loopback.

    doh.py PORT CERTIFICATE KEY NAME_SERVER_PORT
"""

import http.server
import socket
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        question = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/dns-query" or self.headers.get("Content-Type") != "application/dns-message":
            self.send_error(400)
            return
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as upstream:
            upstream.settimeout(10)
            upstream.sendto(question, ("127.0.0.1", int(sys.argv[4])))
            answer = upstream.recv(4096)
        self.send_response(200)
        self.send_header("Content-Type", "application/dns-message")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def get_request(self):
        connection, address = super().get_request()
        # The handshake belongs to the connection's own thread: one that never comes must not hold up others.
        return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request, address):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
