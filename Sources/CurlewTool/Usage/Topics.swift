/// The pages of `curlew help TOPIC`; the man page shows them too.
struct Topic: Sendable {
    let name: String
    let title: String
    /// Paragraphs. A line that begins with two spaces is shown as it is.
    let lines: [String]
}

enum Topics {
    static let items: [(form: String, meaning: String)] = [
        ("key=value", "A text in the body: a member of the JSON object, or a form field."),
        ("key:=json", "Any JSON value in the body: port:=80, flags:='[1, 2]', on:=true."),
        ("key==value", "A parameter in the URL's query."),
        ("Header:value", "A header field. 'Header:' leaves out one that is sent by itself, 'Header;' sends it empty."),
        ("name@path", "A file in a form; 'name@path;type=text/plain' says what it is. '@path' alone is the body."),
        ("key=@path", "As key=value, the value being read from a file; likewise key:=@path, key==@path, Header:@path."),
    ]

    static let examples: [(command: String, meaning: String)] = [
        ("curlew example.org", "Send a GET and show the answer."),
        ("curlew example.org name=Ada age:=36", "Send a POST with JSON."),
        ("curlew PUT example.org/7 X-Token:abc name=Ada", "Another method, with a header field."),
        ("curlew -f example.org photo@ada.jpg", "Upload a file in a form."),
        ("curlew -v -F example.org", "Show the whole exchange, and follow redirects."),
        ("curlew -d example.org/disk.img", "Download, with a progress bar; -dc goes on later."),
        ("curlew --curl example.org a=1", "Show the curl command that does the same."),
    ]

    static let all: [Topic] = [
        itemsTopic, nestedTopic, urlTopic, outputTopic, downloadTopic, webSocketTopic, sessionTopic, configTopic,
        cacheTopic, curlTopic, exitTopic,
    ]

    static func topic(_ name: String) -> Topic? { all.first { $0.name == name } }

    private static let itemsTopic = Topic(
        name: "items",
        title: "Request items",
        lines: items.flatMap { ["  \($0.form)", "      \($0.meaning)"] } + [
            "",
            "A backslash before : ; = @ takes the character's meaning away: 'a\\:b=c' has the key 'a:b'. A backslash "
                + "before anything else stays.",
            "A path may be a pipe or a device, as 'file@<(command)' gives one: it is read to its end, at most "
                + "\(Amount.bytes(Int64(InputFile.streamLimit))), before the request is sent.",
            "When there is something to send, the method is POST unless one is given.",
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
            "Form fields are sent with their brackets as they are.",
        ]
    )

    private static let urlTopic = Topic(
        name: "urls",
        title: "URLs",
        lines: [
            "The scheme may be left out (http, or what --default-scheme says), and so may localhost:",
            "",
            "  example.org/x             http://example.org/x",
            "  :8080/x                   http://localhost:8080/x",
            "  :/x or /x                 http://localhost/x",
            "  ://example.org            http://example.org",
            "",
            "Characters that cannot stand in a URL are percent-encoded; what is encoded stays as it is.",
        ]
    )

    private static let outputTopic = Topic(
        name: "output",
        title: "Output",
        lines: [
            "On a terminal the response's head and body are shown with colours, JSON is indented, binary data is not "
                + "shown, and control characters that the server sent are written as \\x1b. So are XML and HTML, JSON in text/plain, "
                + "and JSON in the data of event streams.",
            "In a pipe or a file the body alone is written, byte for byte.",
            "--print chooses the parts: H and B are the request's head and body, h and b the response's, m how long it "
                + "took. NO_COLOR in the environment switches colours off.",
            "Event streams (text/event-stream) and NDJSON are shown while they arrive; --stream does so for all bodies.",
        ]
    )

    private static let downloadTopic = Topic(
        name: "download",
        title: "Downloads",
        lines: [
            "The file's name is what --output says, or what the server suggests, or the end of the URL. A file that "
                + "exists is not overwritten unless --output names it.",
            "While it grows the bytes are in a hidden file beside it. Ctrl-C and broken connections leave them there, "
                + "with what is needed to go on in NAME.curlew-resume; --continue picks that up, and begins again if "
                + "the file has changed on the server.",
            "--continue also goes on with the beginning of a file that another program has fetched, if the server has "
                + "ranges and says which version it sends: the last bytes are compared first. What is no beginning of "
                + "the server's file is an error, and stays as it is.",
            "Several URLs are fetched at the same time, one bar each. --segments fetches one file in several parts.",
        ]
    )

    private static let webSocketTopic = Topic(
        name: "websockets",
        title: "WebSockets",
        lines: [
            "With ws:// and wss:// each line of standard input is sent as a message, and each message that comes is "
                + "printed as a line. Header and query items, credentials, proxies and TLS options belong to the "
                + "handshake. -v shows it, without the key that is made for it.",
            "",
            "  curlew wss://example.org/chat",
            "  echo hello | curlew ws://:8080/echo --subprotocol chat",
            "  curlew -I wss://example.org/feed --ping 30 > feed.txt",
            "",
            "Ctrl-D and the end of a pipe close it when the answers have come (--linger), Ctrl-C closes it now (1001). "
                + "--ignore-stdin, and standard input from /dev/null, only listen. An answer that opens no WebSocket is "
                + "printed like any other, and the exit code is 1, or 3, 4, 5 with --check-status. Another close code of "
                + "the server than 1000 and 1001 is an error.",
        ]
    )

    private static let sessionTopic = Topic(
        name: "sessions",
        title: "Sessions",
        lines: [
            "--session NAME keeps headers, cookies and credentials in "
                + "$XDG_CONFIG_HOME/curlew/sessions/HOST/NAME.json (or in $CURLEW_CONFIG_DIR), readable by you alone. Content-* and If-* headers "
                + "are not kept. --session-read-only uses a session and leaves it as it is."
        ]
    )

    private static let configTopic = Topic(
        name: "config",
        title: "Configuration",
        lines: [
            "config.json in $CURLEW_CONFIG_DIR, or else in $XDG_CONFIG_HOME/curlew or ~/.config/curlew, has options that "
                + "count as if they stood before those of every command line:",
            "",
            "  {\"default_options\": [\"--style=monokai\", \"--timeout=10\"]}",
            "",
            "'--no-' before an option's name takes it back: --no-timeout. --debug shows what was read. A mistake in the "
                + "file is an error, and nothing is sent.",
        ]
    )

    private static let curlTopic = Topic(
        name: "curl",
        title: "What curl's options are called here",
        lines: CurlHabits.all.flatMap { habit in
            ["  " + habit.flags.joined(separator: ", "), "      " + habit.meaning]
        }
    )

    private static let cacheTopic = Topic(
        name: "cache",
        title: "Cache",
        lines: [
            "--cache DIR keeps answers that may be kept, in files readable by you alone, at most 512 MiB, and uses them "
                + "again by the rules of HTTP. Several commands may use one directory at the same time. Where it cannot "
                + "be written a warning says so, and the request goes on without it.",
            "-v and --timing show what the cache had to do with the answer, in the words of RFC 9211:",
            "",
            "  Curlew; hit                           kept, and fresh",
            "  Curlew; fwd=miss                      from the server",
            "  Curlew; fwd=stale; fwd-status=304     kept, and the server said that it is still right",
            "",
            "  curlew cache list DIR                 shows what is kept, the newest first; with --json as JSON",
            "  curlew cache clear DIR                removes it",
            "  curlew cache clear DIR URL            removes the answers for one URL",
            "",
            "A directory with other files in it is neither used nor cleared. A server of the name cache is reached with "
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
