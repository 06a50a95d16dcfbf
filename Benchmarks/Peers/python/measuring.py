"""For all Python clients: the command line of C/limit.c, the clocks, and the line of JSON."""

import json
import resource
import sys
import time


class Options:
    def __init__(self, arguments):
        if len(arguments) < 3:
            sys.exit("MODE URL [in-flight=N seconds=S warm-up=S count=N file=PATH http2=1 close=1]")
        self.mode, self.url = arguments[1], arguments[2]
        self.file = None
        self.in_flight, self.seconds, self.warm_up, self.count = 1, 2.0, 0.3, None
        self.http2 = self.closes = False
        for argument in arguments[3:]:
            name, _, value = argument.partition("=")
            if name == "in-flight":
                self.in_flight = int(value)
            elif name == "seconds":
                self.seconds = float(value)
            elif name == "warm-up":
                self.warm_up = float(value)
            elif name == "count":
                self.count = int(value)
            elif name == "file":
                self.file = value
            elif name == "http2":
                self.http2 = value == "1"
            elif name == "close":
                self.closes = value == "1"
            else:
                sys.exit(f"unknown option {name}")
        if self.mode == "hold":
            self.count = self.in_flight


def status(name):
    """A line of /proc/self/status, in KiB."""
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    return 0


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Tally:
    """Counts requests from the end of the warm-up on, and ends the run."""

    def __init__(self, options):
        self.options = options
        self.started = self.succeeded = self.failed = self.bytes = 0
        self.error = ""
        self.rss_before = status("VmRSS")
        self.is_timed = options.count is None
        self.is_counting = not self.is_timed
        self._mark()
        self.ended = None

    def _mark(self):
        self.began, self.cpu_before = time.monotonic(), cpu_seconds()

    def next(self):
        """The number of the next request, or None when enough have been started."""
        if self.is_timed:
            now = time.monotonic()
            if not self.is_counting and now - self.began >= self.options.warm_up:
                self.is_counting = True
                self.succeeded = self.bytes = 0
                self._mark()
            elif self.is_counting and now - self.began >= self.options.seconds:
                self.end()
                return None
        elif self.started >= self.options.count:
            return None
        self.started += 1
        return self.started

    def done(self, count):
        if self.ended is None:
            self.succeeded += 1
            self.bytes += count

    def fail(self, error):
        if self.ended is None:
            self.failed += 1
            self.error = self.error or str(error)

    def end(self):
        if self.ended is None:
            self.ended = time.monotonic() - self.began, cpu_seconds() - self.cpu_before

    def report(self, client):
        self.end()
        seconds, cpu = self.ended
        print(json.dumps({
            "client": client, "requests": self.succeeded, "failures": self.failed, "seconds": seconds, "cpu": cpu,
            "bytes": self.bytes, "rss_before_kb": self.rss_before, "rss_peak_kb": status("VmHWM"), "error": self.error,
        }))


async def worker(tally, once):
    """Sends one request after the other with a function of a URL, until enough have been started."""
    while (number := tally.next()) is not None:
        try:
            tally.done(await once(f"{tally.options.url}?{number}"))
        except Exception as error:  # whatever it is, it is counted
            tally.fail(error)


def raise_descriptor_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
