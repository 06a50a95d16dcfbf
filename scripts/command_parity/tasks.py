"""The tasks. Words are the same for every program unless `own` says otherwise; {u} is the server's URL, {p} its port.

`differs` says what another program does instead, where that is known and curlew's way is meant.
"""


class Task:
    def __init__(self, name, *words, own=None, stdin=None, files=None, environment=None, configuration=None, differs=None,
                 compared=("request", "output", "code"), output="auto", file=None, ignored=(), succeeds=True,
                 plain_input=False):
        self.name, self.words, self.own = name, list(words), own or {}
        self.stdin, self.files, self.environment = stdin, files or {}, environment or {}
        self.configuration, self.differs, self.compared = configuration, differs or {}, compared
        self.output, self.file, self.ignored = output, file, ignored
        self.succeeds, self.plain_input = succeeds, plain_input

    def commands(self, program):
        """One list of words, or several that are run after each other."""
        words = self.own.get(program, self.words)
        return words if words and isinstance(words[0], list) else [words]


SENT = ("request", "code")

ALL = [
    # Requests
    Task("GET", "{u}/json"),
    Task("GET with the method", "GET", "{u}/json"),
    Task("HEAD", "HEAD", "{u}/json"),
    Task("DELETE", "DELETE", "{u}/json"),
    Task("OPTIONS", "OPTIONS", "{u}/json"),
    Task("a method of one's own", "BREW", "{u}/json"),
    Task("a method in small letters", "put", "{u}/json"),
    Task("localhost by its port", ":{p}/json"),
    Task("a URL without a scheme", "127.0.0.1:{p}/json"),
    Task("a pasted URL", "://127.0.0.1:{p}/json"),
    Task("a query in the URL", "{u}/json?a=1&b=2"),
    Task("a query item", "{u}/json", "a==1 2"),
    Task("query items beside a query", "{u}/json?a=1", "b==2", "b==3"),
    Task("a query item that needs encoding", "{u}/json", "q==ä&b=c"),
    Task("a query item from a file", "{u}/json", "q==@q.txt", files={"q.txt": "from a file"}),
    Task("dots in a path", "{u}/a/../json"),
    Task("dots in a path, as they are", "--path-as-is", "{u}/a/../json",
         differs={"xh": "has no such option"}),
    # Headers
    Task("a header", "{u}/json", "X-Token:abc"),
    Task("two headers", "{u}/json", "X-A:1", "X-B:2"),
    Task("an empty header", "{u}/json", "X-A;"),
    Task("no Accept", "{u}/json", "Accept:",
         differs={"xh": "sends it: its library adds one"}),
    Task("no User-Agent", "{u}/json", "User-Agent:"),
    Task("no Accept-Encoding", "{u}/json", "Accept-Encoding:"),
    Task("no Content-Type", "-f", "{u}/json", "a=1", "Content-Type:"),
    Task("a user agent", "{u}/json", "User-Agent:me"),
    Task("a header from a file", "{u}/json", "X-A:@h.txt", files={"h.txt": "from a file"}),
    Task("a cookie", "{u}/json", "Cookie:a=1;b=2"),
    # JSON
    Task("POST of texts", "{u}/json", "name=Ada", "city=London"),
    Task("POST with the method", "POST", "{u}/json", "name=Ada"),
    Task("PUT", "PUT", "{u}/json", "name=Ada"),
    Task("PATCH", "PATCH", "{u}/json", "name=Ada"),
    Task("numbers and words", "{u}/json", "n:=1", "t:=true", "z:=null"),
    Task("arrays and objects", "{u}/json", "a:=[1, 2]", 'o:={"x": 1}'),
    Task("nested keys", "{u}/json", "user[name]=Ada", "user[age]:=36"),
    Task("appended elements", "{u}/json", "tags[]=a", "tags[]=b"),
    Task("elements by index", "{u}/json", "p[1][x]:=3"),
    Task("an array at the top", "{u}/json", "[]:=1", "[]:=2"),
    Task("a text from a file", "{u}/json", "bio=@bio.txt", files={"bio.txt": "a life"}),
    Task("JSON from a file", "{u}/json", "data:=@data.json", files={"data.json": '{"x": [1, 2]}'}),
    Task("text that is not ASCII", "{u}/json", "name=Zoë 日本"),
    Task("escaped separators", "{u}/json", "a\\:b=c", "d\\=e=f"),
    Task("a key twice", "{u}/json", "a=1", "a=2"),
    Task("JSON asked for, without data", "--json", "{u}/json",
         differs={"HTTPie": "says Content-Type of a body that is not there", "xh": "says Content-Type of a body that is not there"}),
    Task("JSON that is wrong", "{u}/json", "a:={", compared=SENT, succeeds=False,
         differs={"xh": "exits with 2"}),
    # Forms
    Task("a form", "--form", "{u}/json", "name=Ada L", "x=1"),
    Task("a form that needs encoding", "-f", "{u}/json", "q=a&b=c ä"),
    Task("a field twice", "-f", "{u}/json", "a=1", "a=2"),
    Task("a file in a form", "-f", "{u}/json", "name=Ada", "file@note.txt", files={"note.txt": "a note"},
         differs={"xh": "does not say the file's type"}),
    Task("a file with its type", "-f", "{u}/json", "file@note.dat;type=text/csv", files={"note.dat": "a,b"}),
    Task("multipart without files", "--multipart", "{u}/json", "name=Ada"),
    Task("a boundary", "--multipart", "--boundary=xyz", "{u}/json", "name=Ada",
         differs={"xh": "has no such option"}),
    # Raw bodies
    Task("a raw text", "{u}/json", "--raw", '{"a": 1}'),
    Task("a raw text with its type", "{u}/json", "Content-Type:text/plain", "--raw", "hi"),
    Task("standard input", "{u}/json", stdin=b'{"a": 1}'),
    Task("standard input with PUT", "PUT", "{u}/json", stdin=b'{"a": 1}'),
    Task("a file as the body", "{u}/json", "@data.json", files={"data.json": '{"a": 1}'},
         differs={"xh": "does not ask for JSON"}),
    Task("standard input beside items", "{u}/json", "a=1", stdin=b"{}", compared=SENT, succeeds=False),
    Task("raw text beside items", "{u}/json", "--raw", "x", "a=1", compared=SENT, succeeds=False,
         differs={"xh": "exits with 2"}),
    Task("a compressed body", "-x", "{u}/json", "a=" + "x" * 1000),
    Task("chunks", "--chunked", "{u}/json", stdin=b'{"a": 1}',
         differs={"xh": "has no such option"}),
    Task("items from cron, without --ignore-stdin", "{u}/json", "a=1", plain_input=True,
         differs={"HTTPie": "refuses: /dev/null would be a second body", "xh": "refuses: /dev/null would be a second body"}),
    # Authentication
    Task("basic", "-a", "ada:secret", "{u}/basic"),
    Task("basic in the URL", "http://ada:secret@127.0.0.1:{p}/basic"),
    Task("bearer", "-A", "bearer", "-a", "token", "{u}/json"),
    Task("digest", "-A", "digest", "-a", "ada:secret", "{u}/digest"),
    Task("from .netrc", "{u}/basic", files={".netrc": "machine 127.0.0.1 login ada password secret\n"}),
    Task("not from .netrc", "--ignore-netrc", "{u}/basic", files={".netrc": "machine 127.0.0.1 login ada password secret\n"},
         differs={"xh": "checks the status without being asked"}),
    # Redirects and status
    Task("a redirect that is not followed", "{u}/redirect/1",
         differs={"xh": "checks the status without being asked"}),
    Task("redirects that are followed", "--follow", "{u}/redirect/3"),
    Task("too many redirects", "--follow", "--max-redirects=2", "{u}/redirect/5", compared=("code",), succeeds=False),
    Task("303 after POST", "--follow", "POST", "{u}/see/303", "a=1"),
    Task("307 after POST", "--follow", "POST", "{u}/see/307", "a=1"),
    Task("404 checked", "--check-status", "{u}/status/404", succeeds=False),
    Task("503 checked", "--check-status", "{u}/status/503", succeeds=False),
    Task("302 checked", "--check-status", "{u}/redirect/1", succeeds=False),
    Task("404 not checked", "{u}/status/404", own={"xh": ["--no-check-status", "{u}/status/404"]}),
    Task("no server", "http://127.0.0.1:1/", compared=("code",), succeeds=False),
    Task("silence for too long", "--timeout=0.3", "http://192.0.2.1/", own={
        "curlew": ["--connect-timeout=0.3", "http://192.0.2.1/"]}, compared=("code",), succeeds=False),
    # Output
    Task("the head alone", "--headers", "{u}/json", output="head"),
    Task("the body alone", "--body", "{u}/json"),
    Task("parts by letters", "--print=h", "{u}/json", output="head"),
    Task("a request that is not sent", "--offline", "--print=H", "{u}/json", "a==1", "X-A:1", output="head"),
    Task("the body of one", "--offline", "--print=B", "{u}/json", "a=1"),
    Task("formatted JSON", "--pretty=format", "{u}/json", output="lines",
         differs={"HTTPie": "sorts keys, and writes 1.10 as 1.1", "xh": "writes 1.10 as 1.1"}),
    Task("sorted JSON", "--pretty=format", "--sorted", "{u}/json", output="lines", own={
        "xh": ["--pretty=format", "--format-options=json.indent:4", "{u}/json"]},
         differs={"HTTPie": "writes 1.10 as 1.1", "xh": "cannot sort, and writes 1.10 as 1.1"}),
    Task("JSON indented by two", "--pretty=format", "--format-options=json.indent:2", "--unsorted", "{u}/json", output="lines",
         own={"xh": ["--pretty=format", "--format-options=json.indent:2", "{u}/json"]},
         differs={"HTTPie": "writes 1.10 as 1.1", "xh": "writes 1.10 as 1.1"}),
    Task("JSON in plain text", "--pretty=format", "--unsorted", "{u}/json-as-text", output="lines", own={
        "xh": ["--pretty=format", "{u}/json-as-text"]}),
    Task("formatted XML", "--pretty=format", "{u}/xml", output="lines",
         differs={"xh": "leaves XML as it is"}),
    Task("a charset that the server does not say", "--pretty=format", "--response-charset=shift_jis", "{u}/sjis"),
    Task("bytes into a pipe", "{u}/bytes", output="bytes"),
    Task("a body that was compressed", "{u}/gzip"),
    Task("into a file", "-o", "out", "{u}/text", file="out"),
    Task("quiet", "--quiet", "{u}/json"),
    Task("default options", "{u}/json", "a=1", configuration='{"default_options": ["--form"]}'),
    # Downloads
    Task("a download", "--download", "{u}/file.bin", file="file.bin",
         differs={"HTTPie": "writes it to a pipe; the file only on a terminal", "xh": "writes it to a pipe; the file only on a terminal"}),
    Task("a download's name from the server", "--download", "{u}/named", file="given.txt",
         differs={"HTTPie": "writes it to a pipe; the file only on a terminal", "xh": "writes it to a pipe; the file only on a terminal"}),
    Task("a download into a file", "--download", "-o", "here", "{u}/file.bin", file="here"),
    Task("a download that goes on", "--download", "--continue", "-o", "file.bin", "{u}/file.bin", file="file.bin",
         files={"file.bin": b"0123456789" * 40},
         differs={"HTTPie": "does not look whether the beginning is the same file's", "xh": "does not look whether the beginning is the same file's"}),
    # Sessions
    Task("a session keeps a header", own={
        name: [["--session=s", "{u}/json", "X-A:1"], ["--session=s", "{u}/json"]] for name in ("curlew", "HTTPie", "xh")}),
    Task("a session keeps a cookie", own={
        name: [["--session=s", "{u}/cookie"], ["--session=s", "{u}/json"]] for name in ("curlew", "HTTPie", "xh")}),
    Task("a session keeps credentials", own={
        name: [["--session=s", "-a", "ada:secret", "{u}/basic"], ["--session=s", "{u}/basic"]]
        for name in ("curlew", "HTTPie", "xh")}),
    Task("a session that is only read", own={
        name: [["--session-read-only=s", "{u}/json", "X-A:1"], ["--session-read-only=s", "{u}/json"]]
        for name in ("curlew", "HTTPie", "xh")},
         differs={"HTTPie": "writes a session that was not there", "xh": "writes a session that was not there"}),
]
