/// A page of `curlew help TOPIC`. The man page contains it too.
struct Topic: Sendable {
    let name: String
    let title: String
    /// The paragraphs. A line that begins with two spaces is shown unchanged.
    let lines: [String]
}

enum Topics {
    static let items: [(form: String, meaning: String)] = [
        ("key=value", "A string in the body: a member of the JSON object, or a form field."),
        ("key:=json", "Any JSON value in the body: port:=80, flags:='[1, 2]', on:=true."),
        ("key==value", "A parameter in the URL's query."),
        ("Header:value", "A header field. 'Header:' removes a default field, 'Header;' sends it empty."),
        ("name@path", "A file in a form; 'name@path;type=text/plain' sets its media type. '@path' alone is the body."),
        ("key=@path", "Like key=value, with the value from a file; likewise key:=@path, key==@path, Header:@path."),
    ]

    static let examples: [(command: String, meaning: String)] = [
        ("curlew example.org", "Send a GET and show the response."),
        ("curlew example.org name=Ada age:=36", "Send a POST with JSON."),
        ("curlew PUT example.org/7 X-Token:abc name=Ada", "Another method, with a header field."),
        ("curlew -f example.org photo@ada.jpg", "Upload a file in a form."),
        ("curlew -v -F example.org", "Show the whole exchange, and follow redirects."),
        ("curlew -d example.org/disk.img", "Download, with a progress bar; -dc resumes it."),
        ("curlew --repeat 100 :8080", "Send a request 100 times, and show how long it took."),
        ("curlew --curl example.org a=1", "Show a curl command that sends the same request."),
    ]

    static let all: [Topic] = [
        itemsTopic, nestedTopic, urlTopic, outputTopic, downloadTopic, repeatTopic, webSocketTopic, sessionTopic,
        configTopic, cacheTopic, curlTopic, exitTopic,
    ]

    static func topic(_ name: String) -> Topic? { all.first { $0.name == name } }

    private static let itemsTopic = Topic(
        name: "items",
        title: "Request items",
        lines: items.flatMap { ["  \($0.form)", "      \($0.meaning)"] } + [
            "",
            "A backslash before : ; = @ makes the character part of the key: 'a\\:b=c' has the key 'a:b'. A backslash "
                + "before any other character is kept.",
            "A path may be a pipe or a device, as in 'file@<(command)'. It is read to its end, at most "
                + "\(Amount.bytes(Int64(InputFile.streamLimit))), before the request is sent.",
            "If there is a body, the method is POST unless you give one.",
        ]
    )

    private static let nestedTopic = Topic(
        name: "nested",
        title: "Nested JSON keys",
        lines: [
            "Brackets in the key of = and := items build nested JSON:",
            "",
            "  user[name]=Ada            {\"user\": {\"name\": \"Ada\"}}",
            "  tags[]=a tags[]=b         {\"tags\": [\"a\", \"b\"]}",
            "  points[1][x]:=3           {\"points\": [null, {\"x\": 3}]}",
            "  []:=1 []:=2               [1, 2]",
            "  a\\[b\\]=1                  {\"a[b]\": \"1\"}",
            "  a[\\1]=x                   {\"a\": {\"1\": \"x\"}}",
            "",
            "In forms, brackets are sent unchanged.",
        ]
    )

    private static let urlTopic = Topic(
        name: "urls",
        title: "URLs",
        lines: [
            "You can leave out the scheme (http, or that of --default-scheme) and localhost:",
            "",
            "  example.org/x             http://example.org/x",
            "  :8080/x                   http://localhost:8080/x",
            "  :/x or /x                 http://localhost/x",
            "  ://example.org            http://example.org",
            "",
            "Characters that are not allowed in a URL are percent-encoded; existing escapes are kept.",
        ]
    )

    private static let outputTopic = Topic(
        name: "output",
        title: "Output",
        lines: [
            "On a terminal, the response's head and body are shown with colours. JSON, XML and HTML are indented, also JSON "
                + "in text/plain (up to 1 MiB) and in the data of event streams. Binary data is not shown, and control characters that "
                + "the server sent are written as \\x1b.",
            "In a pipe or a file, only the body is written, byte for byte.",
            "--print chooses the parts: H and B are the request's head and body, h and b the response's, m the metadata "
                + "(status, duration and addresses). NO_COLOR in the environment switches colours off.",
            "Event streams (text/event-stream) and NDJSON are shown while they arrive; --stream does this for all bodies.",
        ]
    )

    private static let downloadTopic = Topic(
        name: "download",
        title: "Downloads",
        lines: [
            "The file's name is that of --output, or else the server's suggestion, or else the end of the URL. An existing "
                + "file is overwritten only if --output names it.",
            "During the download, the bytes are in a hidden file next to it. After Ctrl-C or a broken connection, that "
                + "file stays, and NAME.curlew-resume has what is needed to resume. --continue resumes the download, or "
                + "starts over if the file has changed on the server.",
            "--continue also resumes a file whose beginning another program has downloaded, if the server supports "
                + "ranges and identifies the version it sends. The last bytes are compared first. If they differ, that "
                + "is an error, and your file is not changed.",
            "Several URLs are downloaded at the same time. --segments downloads one file in several parts.",
        ]
    )

    private static let repeatTopic = Topic(
        name: "repeat",
        title: "Repeated requests",
        lines: [
            "--repeat N sends the request N times, to each URL if there are several, --concurrency C of them at the same "
                + "time. --duration TIME sends it for that time. The responses are discarded, and a summary is printed: "
                + "for programs with --summary json. --output writes it to a file.",
            "",
            "  curlew --repeat 1000 --concurrency 10 --rate 50/s :8080/birds",
            "  curlew --duration 30s --concurrency 10 --summary json :8080/birds",
            "",
            "The latency is the time from the start of a request to the end of its response, without the wait for "
                + "--rate. A request begins when one of the C before it has ended, so a slow server gets fewer than "
                + "--rate allows.",
            "--follow follows redirects only to the hosts on the command line. The exit code is that of the first "
                + "request that failed; a status is a failure only with --check-status. Ctrl-C prints the summary so "
                + "far. Requests that are under way at the end of --duration, or wait for --rate, are cut off and not "
                + "counted; if none has ended by then, the exit code is 2.",
        ]
    )

    private static let webSocketTopic = Topic(
        name: "websockets",
        title: "WebSockets",
        lines: [
            "With ws:// and wss://, each line of standard input is sent as a message, and each received message is "
                + "printed as a line. Header and query items, credentials, proxies and TLS options apply to the "
                + "handshake. -v shows the handshake without its key.",
            "",
            "  curlew wss://example.org/chat",
            "  echo hello | curlew ws://:8080/echo --subprotocol chat",
            "  curlew -I wss://example.org/feed --ping 30 > feed.txt",
            "",
            "Ctrl-D and the end of a pipe close the WebSocket after the answers have arrived (see --linger). Ctrl-C closes "
                + "it at once (1001). With --ignore-stdin, or standard input from /dev/null, the command only receives, until the "
                + "server closes. With --linger it also ends when the server has been silent for so long. A "
                + "response that opens no WebSocket is printed like any other, and the exit code is 1, or 3, 4, 5 with "
                + "--check-status. If the server closes with a code other than 1000 and 1001, that is an error.",
        ]
    )

    private static let sessionTopic = Topic(
        name: "sessions",
        title: "Sessions",
        lines: [
            "--session NAME stores headers, cookies and credentials in "
                + "$XDG_CONFIG_HOME/curlew/sessions/HOST/NAME.json (or in $CURLEW_CONFIG_DIR). Only you can read the file. "
                + "Content-* and If-* headers are not stored. --session-read-only uses a session without changing it.",
            "A NAME with a slash is a file. Headers and credentials are only sent to the scheme, host and port that they "
                + "were stored for ('origin' in the file); another one is an error. "
                + "Cookies are sent to the domains that they belong to.",
        ]
    )

    private static let configTopic = Topic(
        name: "config",
        title: "Configuration",
        lines: [
            "config.json in $CURLEW_CONFIG_DIR, or else in $XDG_CONFIG_HOME/curlew or ~/.config/curlew, has default "
                + "options. They apply as if you had written them before those of every command line:",
            "",
            "  {\"default_options\": [\"--style=monokai\", \"--timeout=10\"]}",
            "",
            "'--no-' before an option's name cancels it: --no-timeout. --debug shows what was read. If the file has an "
                + "error, nothing is sent.",
        ]
    )

    private static let curlTopic = Topic(
        name: "curl",
        title: "curl's options and their names in curlew",
        lines: CurlHabits.all.flatMap { habit in
            ["  " + habit.flags.joined(separator: ", "), "      " + habit.meaning]
        }
    )

    private static let cacheTopic = Topic(
        name: "cache",
        title: "Cache",
        lines: [
            "--cache DIR stores responses and reuses them as HTTP allows. The files take at most 512 MiB, and only you can "
                + "read them. Several commands may use one directory at the same time. If the directory cannot be "
                + "written, the command prints a warning and sends the request without the cache.",
            "-v and --timing show what the cache did, as a Cache-Status of RFC 9211:",
            "",
            "  Curlew; hit                           a stored response that is fresh",
            "  Curlew; fwd=miss                      a response of the server",
            "  Curlew; fwd=stale; fwd-status=304     a stored response that the server has confirmed",
            "",
            "  curlew cache list DIR                 lists the stored responses, newest first (--json: as JSON)",
            "  curlew cache clear DIR                removes them",
            "  curlew cache clear DIR URL            removes those of one URL",
            "",
            "A directory with other files in it is neither used nor cleared. To reach a server called 'cache', write "
                + "'http://cache'.",
        ]
    )

    private static let exitTopic = Topic(
        name: "exit",
        title: "Exit codes",
        lines: ExitStatus.allCases.map { status in
            let number = String(status.rawValue)
            return "  " + number + String(repeating: " ", count: 5 - number.count) + status.meaning
        }
    )
}

extension Topic {
    func text(width: Int = 80) -> String {
        var out = [title, ""]
        for line in lines {
            out += line.isEmpty || line.hasPrefix("  ") ? [line] : TextWrap.lines(line, width: max(40, min(width, 100)))
        }
        return out.joined(separator: "\n") + "\n"
    }
}
