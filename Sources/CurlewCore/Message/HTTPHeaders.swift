internal import Foundation

/// An ordered list of header fields whose names are compared without regard to case.
///
/// Creating a list follows Alamofire: each name occurs once, and a later value replaces an earlier one in its place.
/// `append` and the fields of a response keep duplicates in order; read them with `values(for:)`.
public struct HTTPHeaders: Equatable, Hashable, Sendable {
    private var fields: [HTTPHeader] = []

    /// Creates an empty list.
    public init() {}

    /// Creates a list. Of several fields with one name, the last value is kept at the position of the first.
    public init(_ headers: [HTTPHeader]) {
        fields.reserveCapacity(headers.count)
        merge(headers)
    }

    /// Creates a list from a dictionary, in no particular order.
    public init(_ dictionary: [String: String]) {
        fields.reserveCapacity(dictionary.count)
        merge(dictionary.lazy.map { HTTPHeader(name: $0.key, value: $0.value) })
    }

    /// Creates a list of received fields, including duplicates.
    package init(received headers: [HTTPHeader]) { fields = headers }

    // MARK: Changing

    /// Replaces the first field of this name and removes the others; appends the field if there is none.
    public mutating func add(name: String, value: String) { add(HTTPHeader(name: name, value: value)) }

    /// Replaces the first field of this name and removes the others; appends the field if there is none.
    public mutating func add(_ header: HTTPHeader) {
        guard let first = index(of: header.name) else { return fields.append(header) }
        fields[first] = header
        guard let second = index(of: header.name, from: first + 1) else { return }
        // Removed in one pass, because a server may have sent thousands of them.
        let others = fields[second...].filter { !ASCII.equalsIgnoringCase($0.name, header.name) }
        fields.replaceSubrange(second..., with: others)
    }

    /// The number of fields up to which searching the list is faster than a dictionary of names.
    private static let linearSearchLimit = 32

    private mutating func merge(_ headers: some Collection<HTTPHeader>) {
        guard headers.count > Self.linearSearchLimit else {
            for header in headers { add(header) }
            return
        }
        var places: [FieldName: Int] = [:]
        places.reserveCapacity(headers.count)
        for header in headers {
            let name = FieldName(text: header.name)
            if let place = places[name] {
                fields[place] = header
            } else {
                places[name] = fields.count
                fields.append(header)
            }
        }
    }

    /// Adds a field and keeps those of the same name.
    public mutating func append(_ header: HTTPHeader) { fields.append(header) }

    /// Adds a field and keeps those of the same name.
    public mutating func append(name: String, value: String) { fields.append(HTTPHeader(name: name, value: value)) }

    /// Removes every field of this name.
    public mutating func remove(name: String) {
        fields.removeAll { ASCII.equalsIgnoringCase($0.name, name) }
    }

    package func sortedByName() -> HTTPHeaders {
        HTTPHeaders(received: fields.sorted { $0.name.lowercased() < $1.name.lowercased() })
    }

    // MARK: Reading

    /// Returns the first value of this name; `nil` if there is none.
    public func value(for name: String) -> String? { index(of: name).map { fields[$0].value } }

    /// Returns all values of this name in order.
    public func values(for name: String) -> [String] {
        guard let first = index(of: name) else { return [] }
        return fields[first...].filter { ASCII.equalsIgnoringCase($0.name, name) }.map(\.value)
    }

    /// Returns all values of this name joined by `, `, as RFC 9110, 5.3 allows for list fields but not for
    /// `Set-Cookie`; `nil` if there are none.
    package func combinedValue(for name: String) -> String? {
        let all = values(for: name)
        return all.isEmpty ? nil : all.joined(separator: ", ")
    }

    /// Whether there is a field of this name.
    public func contains(name: String) -> Bool { index(of: name) != nil }

    /// The first value of this name. Setting `nil` removes every field of this name.
    public subscript(_ name: String) -> String? {
        get { value(for: name) }
        set {
            if let newValue { add(name: name, value: newValue) } else { remove(name: name) }
        }
    }

    /// The names and values. The last of several fields with an identical name is kept.
    public var dictionary: [String: String] {
        Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last })
    }

    /// Calls `body` with every name in order, without copying the fields.
    func forEachName(_ body: (String) -> Void) {
        for index in fields.indices { body(fields[index].name) }
    }

    /// Returns these fields, followed by those of `defaults` whose names are missing here.
    func completed(by defaults: HTTPHeaders?) -> HTTPHeaders {
        guard let defaults else { return self }
        var all = self
        for field in defaults where !contains(name: field.name) { all.append(field) }
        return all
    }

    private func index(of name: String, from start: Int = 0) -> Int? {
        // Most names differ in length, which is cheaper to compare.
        let length = name.utf8.count
        for index in start..<fields.count where fields[index].name.utf8.count == length {
            if ASCII.equalsIgnoringCase(fields[index].name, name) { return index }
        }
        return nil
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    public init(dictionaryLiteral elements: (String, String)...) {
        merge(elements.lazy.map { HTTPHeader(name: $0.0, value: $0.1) })
    }

    public init(arrayLiteral elements: HTTPHeader...) { self.init(elements) }
}

extension HTTPHeaders: RandomAccessCollection {
    public var startIndex: Int { fields.startIndex }
    public var endIndex: Int { fields.endIndex }
    public subscript(position: Int) -> HTTPHeader { fields[position] }
}

extension HTTPHeaders: CustomStringConvertible {
    /// One field per line, without credentials, cookies and tokens.
    public var description: String { fields.map(\.description).joined(separator: "\n") }
}

/// One header field.
public struct HTTPHeader: Hashable, Sendable, CustomStringConvertible {
    /// The name, in the case in which it was written.
    public let name: String
    /// The value.
    public let value: String

    /// Creates a field. An invalid name or value is reported when the request is created.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// `Name: value` for logs, without credentials, cookies and tokens. Use `value` for the actual value.
    public var description: String { "\(name): \(Redaction.value(of: self))" }

    /// Whether the field can be sent: the name is a token, and the value contains no CR, LF or NUL.
    package var isValid: Bool { name.isHTTPToken && value.isHTTPFieldValue }
}

extension HTTPHeader {
    /// `Accept`: the acceptable media types.
    public static func accept(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept", value: value) }

    /// `Authorization` with Basic credentials (RFC 7617) in UTF-8.
    public static func authorization(username: String, password: String) -> HTTPHeader {
        authorization("Basic " + Data("\(username):\(password)".utf8).base64EncodedString())
    }

    /// `Authorization` with a bearer token.
    public static func authorization(bearerToken: String) -> HTTPHeader { authorization("Bearer \(bearerToken)") }

    /// `Authorization` with a complete value, including the scheme.
    public static func authorization(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Authorization", value: value)
    }

    /// `Content-Type`: the body's media type.
    public static func contentType(_ value: String) -> HTTPHeader { HTTPHeader(name: "Content-Type", value: value) }

    /// `User-Agent`: the name of the client.
    public static func userAgent(_ value: String) -> HTTPHeader { HTTPHeader(name: "User-Agent", value: value) }
}

extension String {
    /// Whether the string is a `token` (RFC 9110, 5.6.2), which is never empty.
    package var isHTTPToken: Bool {
        !utf8.isEmpty && utf8.allSatisfy { ASCII.isTokenByte($0) }
    }

    /// Whether the string can be the value of a header field. CR, LF or NUL could add further fields.
    package var isHTTPFieldValue: Bool {
        utf8.allSatisfy { $0 != 0x0D && $0 != 0x0A && $0 != 0x00 }
    }
}

extension Collection<String> {
    /// Joins the elements with falling qualities: `["de", "en"]` becomes `de;q=1.0, en;q=0.9`. The lowest quality is
    /// 0.1.
    package func qualityEncoded() -> String {
        enumerated().map { index, element in
            let tenths = Swift.max(10 - index, 1)
            return "\(element);q=\(tenths / 10).\(tenths % 10)"
        }.joined(separator: ", ")
    }
}

/// A field's name, compared and hashed without regard to the case of ASCII letters.
private struct FieldName: Hashable {
    let text: String

    static func == (left: Self, right: Self) -> Bool { ASCII.equalsIgnoringCase(left.text, right.text) }

    func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(ASCII.lowercased(byte)) }
    }
}
