"""What two programs did with one task, without what may differ from run to run."""

import json
import re
import urllib.parse
import zlib

# Which programs send which of the other fields is no matter of the task.
FIELDS = ("content-type", "accept", "authorization", "cookie", "range", "content-encoding", "user-agent", "transfer-encoding")


class Outcome:
    def __init__(self, requests, output, code, written, errors, port):
        self.requests, self.output, self.code = requests, output, code
        self.written, self.errors, self.port = written, errors, port


def boundary(request):
    found = re.search(r"boundary=\"?([^\";]+)", dict(request.headers).get("content-type", ""))
    return found.group(1) if found else None


def body(request):
    mark = boundary(request)
    if mark:
        return parts(request.body, mark)
    text = request.body
    if dict(request.headers).get("content-encoding") == "deflate":
        # The same text, however it was made small.
        text = zlib.decompress(text)
    if "json" in dict(request.headers).get("content-type", ""):
        try:
            # Pairs, so that the order of members counts.
            return json.loads(text, object_pairs_hook=lambda pairs: ("object", tuple(pairs)))
        except ValueError:
            return text
    return text


def parts(content, mark):
    """Each part's fields and content, whatever the order of the fields."""
    out = []
    for piece in content.split(b"--" + mark.encode())[1:-1]:
        head, _, text = piece.strip(b"\r\n").partition(b"\r\n\r\n")
        out.append((tuple(sorted(line.lower() for line in head.split(b"\r\n"))), text))
    return out


def fields(request, task):
    out = {}
    for name, value in request.headers:
        if name.startswith("x-") or name in FIELDS and name not in task.ignored:
            out[name] = value
    if "user-agent" in out and re.match(r"(HTTPie|xh|curlew)/", out["user-agent"]):
        out["user-agent"] = "its own"
    if "content-type" in out:
        value = re.sub(r"boundary=.*", "boundary", out["content-type"])
        out["content-type"] = value.lower().replace("; charset=utf-8", "").replace(";charset=utf-8", "")
    if "authorization" in out and out["authorization"].startswith("Digest"):
        out["authorization"] = "Digest"
    if "accept" in out:
        # HTTPie, and a star after it: the same wish.
        out["accept"] = out["accept"].replace(" ", "")
    return out


def target(request):
    path, _, query = request.target.partition("?")
    return path, urllib.parse.parse_qsl(query, keep_blank_values=True)


def printed(outcome, task):
    """What was printed: JSON by its value, anything else by its words."""
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", outcome.output)
    if task.output == "bytes":
        return text
    text = text.decode(errors="replace").replace("\r\n", "\n")
    if task.output == "lines":
        return [line.rstrip() for line in text.strip().split("\n")]
    try:
        return json.loads(text)
    except ValueError:
        pass
    if task.output == "head":
        return head(text)
    return " ".join(text.split())


def head(text):
    """The status or request line and the fields that count, in lower case."""
    lines = [line for line in text.split("\n") if line.strip()]
    kept = ("content-type", "content-length", "x-", "authorization", "location")
    rest = sorted(re.sub(r":\s*", ":", line.lower()) for line in lines[1:] if line.lower().startswith(kept))
    return [" ".join(lines[0].split()) if lines else "", *rest]


def differences(mine, theirs, task):
    found = []
    if "request" in task.compared:
        left, right = mine.requests, theirs.requests
        if len(left) != len(right):
            found.append(f"{len(right)} requests, not {len(left)}")
        for one, other in zip(left, right):
            pairs = [
                ("method", one.method, other.method), ("URL", target(one), target(other)),
                ("fields", fields(one, task), fields(other, task)), ("body", body(one), body(other))]
            found += [f"{name}: {b!r}, not {a!r}" for name, a, b in pairs if a != b]
    if "output" in task.compared and printed(mine, task) != printed(theirs, task):
        found.append(f"output: {printed(theirs, task)!r}, not {printed(mine, task)!r}")
    if "code" in task.compared and mine.code != theirs.code:
        found.append(f"exit code: {theirs.code}, not {mine.code}")
    if task.file and mine.written != theirs.written:
        found.append(f"{task.file}: {theirs.written!r}, not {mine.written!r}"[:200])
    return found
