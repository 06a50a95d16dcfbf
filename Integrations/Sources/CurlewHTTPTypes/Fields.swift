public import Curlew
public import HTTPTypes

extension HTTPHeaders {
    /// Creates the fields in their order. Repeated fields stay separate.
    public init(_ fields: HTTPFields) {
        self.init()
        for field in fields { append(name: field.name.rawName, value: field.value) }
    }
}

extension HTTPFields {
    /// Creates the fields in their order, without those whose name is not a token, which HTTPTypes cannot express.
    public init(_ headers: HTTPHeaders) {
        self.init()
        // HTTPTypes ends the process at 65,535 fields. A server can send as many if `maximumHeaderSize` is raised.
        for header in headers.prefix(Self.limit) {
            guard let name = HTTPField.Name(header.name) else { continue }
            append(HTTPField(name: name, value: header.value))
        }
    }

    private static var limit: Int { 60_000 }
}

extension HTTPMethod {
    /// Creates the method.
    public init(_ method: HTTPRequest.Method) { self.init(rawValue: method.rawValue) }
}

extension HTTPRequest.Method {
    /// Creates the method. `nil` if it is not a token.
    public init?(_ method: HTTPMethod) { self.init(rawValue: method.rawValue) }
}

extension HTTPResponse {
    /// Creates the response from the head of one, without its version.
    public init(_ head: ResponseHead) {
        // HTTPTypes ends the process for a status that has not three digits.
        let code = (0...999).contains(head.status) ? head.status : 0
        self.init(
            status: Status(code: code, reasonPhrase: head.reason), headerFields: HTTPFields(head.headers))
    }
}

extension ResponseHead {
    /// Creates the head, for instance of a `Reply` of a middleware.
    public init(_ response: HTTPResponse, version: HTTPVersion = .http1_1) {
        self.init(
            status: response.status.code, reason: response.status.reasonPhrase, version: version,
            headers: HTTPHeaders(response.headerFields))
    }
}
