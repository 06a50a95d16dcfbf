/// All options of the command, in the order of `--help`.
enum OptionTable {
    static let all: [OptionSpec] = body + output + download + session + cache + network + tls + webSocket + general

    static func spec(_ option: Option) -> OptionSpec? { all.first { $0.option == option } }

    static func spec(long name: String) -> OptionSpec? { all.first { $0.names.contains(name) } }

    static func spec(short: Character) -> OptionSpec? { all.first { $0.short == short } }

    private static let body: [OptionSpec] = [
        OptionSpec(
            .json, "json", short: "j", group: .body,
            help: "Send data items as a JSON object, and ask for JSON. This is the default when there are data items."
        ),
        OptionSpec(
            .form, "form", short: "f", group: .body,
            help: "Send data items as a URL-encoded form; as multipart/form-data if there are file items.",
            example: "curlew --form example.org name=Ada photo@ada.jpg"
        ),
        OptionSpec(
            .multipart, "multipart", group: .body,
            help: "Send data items as multipart/form-data, also without file items."
        ),
        OptionSpec(
            .boundary, "boundary", value: .text("TEXT"), group: .body,
            help: "Use this boundary between the parts of a multipart body."
        ),
        OptionSpec(
            .raw, "raw", value: .text("TEXT"), group: .body,
            help: "Send this text unchanged as the body. To send a file, use the item '@FILE' or pipe it into the "
                + "command.",
            example: "curlew example.org --raw 'any text'"
        ),
        OptionSpec(
            .compress, "compress", short: "x", group: .body,
            help: "Send the body with Content-Encoding: deflate if that makes it smaller; given twice, always."
        ),
        OptionSpec(
            .chunked, "chunked", group: .body,
            help: "Send piped input while it arrives, with Transfer-Encoding: chunked."
        ),
    ]

    private static let output: [OptionSpec] = [
        OptionSpec(
            .print, "print", short: "p", value: .text("WHAT"), group: .output,
            help: "What to print: H request head, B request body, h response head, b response body, m metadata. "
                + "The default is 'hb' on a terminal and 'b' when output goes elsewhere.",
            example: "curlew --print=Hh example.org"
        ),
        OptionSpec(
            .headers, "headers", short: "h", group: .output,
            help: "Print the response head only (--print=h), and do not wait for the body."),
        OptionSpec(.body, "body", short: "b", group: .output, help: "Print the response body only (--print=b)."),
        OptionSpec(.meta, "meta", short: "m", group: .output, help: "Print the metadata only (--print=m)."),
        OptionSpec(
            .verbose, "verbose", short: "v", group: .output,
            help: "Print the whole exchange (--print=HBhb), including each redirect; given twice, metadata too."
        ),
        OptionSpec(.all, "all", group: .output, help: "With --follow, also print the responses that redirected."),
        OptionSpec(
            .pretty, "pretty", value: .choice("HOW", ["all", "colors", "format", "none"]), group: .output,
            help: "Colour and format the output. The default is 'all' on a terminal and 'none' elsewhere.",
            example: "curlew --pretty=all example.org | less -R"
        ),
        OptionSpec(
            .style, "style", short: "s", value: .choice("STYLE", Theme.all.map(\.name)), group: .output,
            help: "The colours. The default is 'auto', the colours of the terminal's own theme.",
            example: "curlew --style=monokai example.org"
        ),
        OptionSpec(
            .formatOptions, "format-options", value: .text("NAME:VALUE,..."), group: .output,
            help: "How to format: headers.sort, json.format, json.indent, json.sort_keys, xml.format (HTML too), "
                + "xml.indent. May be given several times.",
            example: "curlew --format-options=json.indent:2,headers.sort:true example.org"
        ),
        OptionSpec(
            .sorted, "sorted", group: .output,
            help: "Sort header fields and JSON keys. By default they keep the order of the response."),
        OptionSpec(
            .unsorted, "unsorted", group: .output,
            help: "Keep header fields and JSON keys in the order of the response."),
        OptionSpec(
            .responseCharset, "response-charset",
            value: .suggestion("CHARSET", ["utf-8", "iso-8859-1", "shift_jis", "euc-jp", "gbk", "big5", "euc-kr"]),
            group: .output,
            help: "Read the response's text in this charset, whatever its Content-Type says.",
            example: "curlew --response-charset=shift_jis example.org/old.txt"
        ),
        OptionSpec(
            .responseMIME, "response-mime",
            value: .suggestion(
                "TYPE", ["application/json", "application/xml", "text/html", "text/plain", "text/event-stream"]),
            group: .output,
            help: "Format and colour the response as this media type, whatever its Content-Type says.",
            example: "curlew --response-mime=application/json example.org/data"
        ),
        OptionSpec(
            .stream, "stream", short: "S", group: .output,
            help: "Print the body while it arrives: line by line for NDJSON and event streams, flushed at once."
        ),
        OptionSpec(
            .output, "output", short: "o", value: .file(), group: .output,
            help:
                "Write the output to FILE, which is created or emptied when a response has come. '-' is standard output."
        ),
        OptionSpec(
            .quiet, "quiet", short: "q", group: .output,
            help: "Print only errors and warnings; given twice, only errors."
        ),
        OptionSpec(.offline, "offline", group: .output, help: "Print the request without sending it."),
        OptionSpec(
            .curl, "curl", group: .output, help: "Print a curl command for the same request, without sending it."),
        OptionSpec(
            .har, "har", value: .file(), group: .output,
            help: "Record the exchanges in FILE as HTTP Archive 1.2, which browsers can show. Credentials are left out."
        ),
        OptionSpec(
            .timing, "timing", group: .output,
            help: "Draw the phases of the exchange as bars on standard error: name lookup, connect, TLS, sending, "
                + "waiting, receiving; with --cache also what the cache did."
        ),
    ]

    private static let download: [OptionSpec] = [
        OptionSpec(
            .download, "download", short: "d", group: .download,
            help: "Save the body in a file, with a progress bar. Several URLs are downloaded at the same time."
        ),
        OptionSpec(
            .resume, "continue", short: "c", group: .download,
            help: "Resume an interrupted download of curlew or another program: fetch only the rest of the file."
        ),
        OptionSpec(
            .checksum, "checksum", value: .text("sha256:HEX"), group: .download,
            help:
                "Check the downloaded file: sha256, sha384, sha512, sha1 or md5. On a mismatch, no file is written.",
            example: "curlew -d --checksum sha256:9f86... example.org/disk.img"
        ),
        OptionSpec(
            .segments, "segments", value: .text("N"), group: .download,
            help: "Fetch N parts of the file at the same time, if the server supports ranges."
        ),
    ]
}
