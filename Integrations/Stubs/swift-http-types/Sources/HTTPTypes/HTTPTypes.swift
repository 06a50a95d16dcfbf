// A stand-in for apple/swift-http-types: the part of its API that the adapters and their tests use.

public struct HTTPField: Hashable, Sendable {
    public struct Name: Hashable, Sendable {
        public let rawName: String
        public var canonicalName: String { rawName.lowercased() }

        public init?(_ name: String) {
            guard !name.isEmpty,
                name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "!#$%&'*+-.^_`|~".contains($0)) })
            else { return nil }
            rawName = name
        }

        public static func == (lhs: Name, rhs: Name) -> Bool { lhs.canonicalName == rhs.canonicalName }
        public func hash(into hasher: inout Hasher) { hasher.combine(canonicalName) }

        public static let accept = Name("Accept")!
        public static let authorization = Name("Authorization")!
        public static let contentEncoding = Name("Content-Encoding")!
        public static let contentLength = Name("Content-Length")!
        public static let contentType = Name("Content-Type")!
        public static let cookie = Name("Cookie")!
        public static let location = Name("Location")!
        public static let setCookie = Name("Set-Cookie")!
    }

    public var name: Name
    public var value: String

    public init(name: Name, value: String) { (self.name, self.value) = (name, value) }
}

public struct HTTPFields: Hashable, Sendable, ExpressibleByDictionaryLiteral, RangeReplaceableCollection,
    RandomAccessCollection, MutableCollection
{
    private var fields: [HTTPField] = []

    public init() {}
    public init(dictionaryLiteral elements: (HTTPField.Name, String)...) {
        fields = elements.map { HTTPField(name: $0, value: $1) }
    }

    public var startIndex: Int { fields.startIndex }
    public var endIndex: Int { fields.endIndex }
    public subscript(position: Int) -> HTTPField {
        get { fields[position] }
        set { fields[position] = newValue }
    }
    public mutating func replaceSubrange<C: Collection>(_ subrange: Range<Int>, with newElements: C)
    where C.Element == HTTPField { fields.replaceSubrange(subrange, with: newElements) }

    public subscript(name: HTTPField.Name) -> String? {
        get {
            let values = self[values: name]
            return values.isEmpty ? nil : values.joined(separator: name == .cookie ? "; " : ", ")
        }
        set { self[values: name] = newValue.map { [$0] } ?? [] }
    }
    public subscript(values name: HTTPField.Name) -> [String] {
        get { fields.filter { $0.name == name }.map(\.value) }
        set {
            fields.removeAll { $0.name == name }
            fields += newValue.map { HTTPField(name: name, value: $0) }
        }
    }
}

public struct HTTPRequest: Hashable, Sendable {
    public struct Method: Hashable, Sendable, RawRepresentable {
        public let rawValue: String
        public init?(_ method: String) { self.init(rawValue: method) }
        public init?(rawValue: String) {
            guard HTTPField.Name(rawValue) != nil else { return nil }
            self.rawValue = rawValue
        }
        public static let connect = Method("CONNECT")!
        public static let get = Method("GET")!
        public static let head = Method("HEAD")!
        public static let post = Method("POST")!
        public static let put = Method("PUT")!
    }

    public var method: Method
    public var scheme: String?
    public var authority: String?
    public var path: String?
    public var headerFields: HTTPFields

    public init(method: Method, scheme: String?, authority: String?, path: String?, headerFields: HTTPFields = [:]) {
        (self.method, self.scheme, self.authority, self.path) = (method, scheme, authority, path)
        self.headerFields = headerFields
    }
}

public struct HTTPResponse: Hashable, Sendable {
    public struct Status: Hashable, Sendable {
        public let code: Int
        public let reasonPhrase: String
        public init(code: Int, reasonPhrase: String = "") {
            precondition((0...999).contains(code))
            (self.code, self.reasonPhrase) = (code, reasonPhrase)
        }
    }

    public var status: Status
    public var headerFields: HTTPFields

    public init(status: Status, headerFields: HTTPFields = [:]) {
        (self.status, self.headerFields) = (status, headerFields)
    }
}
