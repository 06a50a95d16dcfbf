/// What will be sent, before the library sees it. `--offline`, `--curl`, `-v` and the sending itself all
/// read this.
struct RequestPlan: Equatable, Sendable {
    var method: String
    /// Complete and encoded.
    var url: String
    /// In the order in which they are shown; a name stands once.
    var headers: [HeaderField]
    /// Fields that are sent by themselves unless one forbids it, in lower case.
    var suppressedHeaders: Set<String> = []
    var body: PlannedBody = .none

    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Where the body's bytes come from.
enum PlannedBody: Equatable, Sendable {
    case none
    case data([UInt8])
    case file(path: String)
    /// Standard input, sent while it comes.
    case standardInput
    case multipart([MultipartPart], boundary: String)

    var isEmpty: Bool { self == .none }
}

/// One part of a form.
struct MultipartPart: Equatable, Sendable {
    enum Content: Equatable, Sendable {
        case text(String)
        case file(path: String, mediaType: String?)
        /// What a pipe or device has given, sent as a file of that name.
        case bytes([UInt8], path: String, mediaType: String?)
    }

    let name: String
    let content: Content
}

extension RequestPlan {
    /// The head as HTTP/1.1 has it. `bodyLength` is nil where it is not known beforehand.
    func head(bodyLength: Int64?, acceptEncoding: String?) -> RequestHead {
        var fields: [HeaderField] = []
        func add(_ name: String, _ value: String?) {
            guard let value, header(name) == nil, !suppressedHeaders.contains(name.lowercased()) else { return }
            fields.append(HeaderField(name, value))
        }
        let parts = URLParts(url)
        add("Host", parts.sentAuthority)
        fields += headers
        add("Accept-Encoding", acceptEncoding)
        if case .none = body {
            if method == "POST" || method == "PUT" || method == "PATCH" { add("Content-Length", "0") }
        } else if let bodyLength {
            add("Content-Length", String(bodyLength))
        } else {
            add("Transfer-Encoding", "chunked")
        }
        return RequestHead(method: method, target: parts.target, headers: fields)
    }
}

extension RequestHead {
    /// Shows what the library makes of the plan: the version that it was told to speak, and compression, which
    /// leaves the length to be seen later.
    mutating func show(_ invocation: Invocation, isCompressed: Bool) {
        switch invocation.network.httpVersion {
        case .http2PriorKnowledge: version = "HTTP/2"
        case .http3: version = "HTTP/3"
        case .http1_1, .http2, nil: break
        }
        if isCompressed {
            headers.removeAll { $0.name == "Content-Length" }
            headers.append(HeaderField("Content-Encoding", "deflate"))
        }
    }
}
