"""pycurl's CurlMulti with the command line of C/limit.c: libcurl from Python, as its manual shows it."""

import json
import os
import sys

import pycurl

from measuring import Options, Tally, raise_descriptor_limit


class Transfer:
    """A handle that is used again for one request after the other."""

    def __init__(self, options):
        self.options = options
        self.easy = easy = pycurl.Curl()
        easy.transfer = self
        self.count = 0
        easy.setopt(pycurl.NOSIGNAL, 1)
        easy.setopt(pycurl.PROXY, "")
        easy.setopt(pycurl.ACCEPT_ENCODING, "")
        easy.setopt(pycurl.WRITEFUNCTION, self.write)
        version = pycurl.CURL_HTTP_VERSION_2TLS if options.http2 else pycurl.CURL_HTTP_VERSION_1_1
        easy.setopt(pycurl.HTTP_VERSION, version)
        if options.http2:
            easy.setopt(pycurl.PIPEWAIT, 1)
        if options.closes:
            easy.setopt(pycurl.HTTPHEADER, ["Connection: close"])

    def write(self, data):
        self.count += len(data)
        if self.options.mode == "json":
            self.body += data

    def decode(self):
        """The value of the response, in the mode `json`."""
        if self.options.mode == "json":
            json.loads(self.body)

    def prepare(self, number):
        self.count, self.body = 0, bytearray()
        self.easy.setopt(pycurl.URL, f"{self.options.url}?{number}")
        if self.options.mode == "upload":
            self.file = open(self.options.file, "rb")
            self.easy.setopt(pycurl.UPLOAD, 1)
            self.easy.setopt(pycurl.INFILESIZE_LARGE, os.path.getsize(self.options.file))
            self.easy.setopt(pycurl.READDATA, self.file)

    @property
    def moved(self):
        return os.path.getsize(self.options.file) if self.options.mode == "upload" else self.count


def main():
    options = Options(sys.argv)
    raise_descriptor_limit()
    tally = Tally(options)
    multi = pycurl.CurlMulti()
    multi.setopt(pycurl.M_MAXCONNECTS, options.in_flight)
    running = 0

    def start(transfer):
        nonlocal running
        number = tally.next()
        if number is None:
            return
        transfer.prepare(number)
        multi.add_handle(transfer.easy)
        running += 1

    for _ in range(options.in_flight):
        start(Transfer(options))
    while running:
        while multi.perform()[0] == pycurl.E_CALL_MULTI_PERFORM:
            pass
        more = 1
        while more:
            more, succeeded, failed = multi.info_read()
            for easy in succeeded:
                multi.remove_handle(easy)
                running -= 1
                status = easy.getinfo(pycurl.RESPONSE_CODE)
                if 200 <= status < 300:
                    easy.transfer.decode()
                    tally.done(easy.transfer.moved)
                else:
                    tally.fail(f"status {status}")
                start(easy.transfer)
            for easy, code, text in failed:
                multi.remove_handle(easy)
                running -= 1
                tally.fail(f"{code} {text}")
                start(easy.transfer)
        if running:
            multi.select(1.0)
    tally.report("pycurl")


main()
