/// The request as it will be sent, independent of the library. `--offline`, `--curl`, `-v` and the sending itself all
/// read it.
struct RequestPlan: Equatable, Sendable {
    var method: String
    /// The complete, encoded URL.
    var url: String
    /// The fields in the order in which they are shown. Names are unique.
    var headers: [HeaderField]
    /// The lower-case names of fields that the user removed (`Name:`), and that are not added automatically either.
    var suppressedHeaders: Set<String> = []
    var body: PlannedBody = .none

    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

extension RequestPlan {
    /// Returns the head in the notation of HTTP/1.1. `bodyLength` is `nil` if it is not known in advance.
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

/// The source of the body's bytes.
enum PlannedBody: Equatable, Sendable {
    case none
    case data([UInt8])
    case file(path: String)
    /// Standard input, sent while it arrives.
    case standardInput
    case multipart([MultipartPart], boundary: String)

    var isEmpty: Bool { self == .none }
}

/// One part of a form.
struct MultipartPart: Equatable, Sendable {
    enum Content: Equatable, Sendable {
        case text(String)
        case file(path: String, mediaType: String?)
        /// The bytes of a pipe or device, sent as a file with this path's name.
        case bytes([UInt8], path: String, mediaType: String?)
    }

    let name: String
    let content: Content
}

/// A request's line and fields, in the notation of HTTP/1.1.
struct RequestHead: Equatable, Sendable {
    var method: String
    var target: String
    var version = "HTTP/1.1"
    var headers: [HeaderField]
}

extension RequestHead {
    /// Applies the library's changes to the head: the HTTP version, and for a compressed body `Content-Encoding`
    /// without a length, which is not known yet.
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

/// A name and a value, independent of the library's header types.
struct HeaderField: Equatable, Sendable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// An ordered list of header fields with unique names.
struct HeaderList: Equatable, Sendable {
    private(set) var fields: [HeaderField] = []

    mutating func set(_ name: String, _ value: String) {
        if let index = index(of: name) {
            fields[index] = HeaderField(name, value)
        } else {
            fields.append(HeaderField(name, value))
        }
    }

    /// Appends a value to a field that may exist: after a comma (RFC 9110, 5.3), or after a semicolon for cookies.
    mutating func append(_ name: String, _ value: String) {
        guard let index = index(of: name) else { return set(name, value) }
        let joint = name.lowercased() == "cookie" ? "; " : ", "
        fields[index] = HeaderField(fields[index].name, fields[index].value + joint + value)
    }

    mutating func remove(_ name: String) { fields.removeAll { $0.name.lowercased() == name.lowercased() } }

    private func index(of name: String) -> Int? {
        fields.firstIndex { $0.name.lowercased() == name.lowercased() }
    }
}
