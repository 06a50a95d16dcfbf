public import Curlew
public import Foundation
public import FoundationNetworking
public import FoundationXML

// XML is a separate module, because FoundationXML is a library that would be loaded whenever a program starts.

/// The content types of XML.
public let xmlContentTypes: Set<String> = ["application/xml", "text/xml"]

/// The bytes of an XML document, from which parsers are created. External entities are never loaded.
public struct XMLSource: Sendable, Equatable {
    /// The body.
    public let data: Data

    /// Creates a source from a body.
    public init(data: Data) { self.data = data }

    /// Returns a new parser for the text. Set its delegate and call `parse()`.
    public func makeParser() -> XMLParser {
        let parser = XMLParser(data: data)
        parser.shouldResolveExternalEntities = false
        return parser
    }
}

/// Serializes a body into the source of an `XMLParser`. The body is checked, but not parsed.
///
/// A document that declares entities, elements or attributes is an error, because a parser can exhaust the memory with
/// them. To parse a body without these checks, create an `XMLSource` from its data.
public struct XMLParserResponseSerializer: ResponseSerializer {
    private let maximumSize: Int
    private let maximumAttributes: Int

    /// Creates a serializer. A text of more than `maximumSize` bytes, and an element with more than `maximumAttributes`
    /// attributes, fail with `.limitExceeded`.
    public init(maximumSize: Int = 16 * 1024 * 1024, maximumAttributes: Int = 1_000) {
        self.maximumSize = maximumSize
        self.maximumAttributes = maximumAttributes
    }

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> XMLSource {
        let body = try body(request: request, response: response, data: data, error: error)
        // The response has no body, and may have none.
        guard !body.isEmpty else { return XMLSource(data: body) }
        do {
            try XMLProlog.check(body, maximumSize: maximumSize, maximumAttributes: maximumAttributes)
        } catch {
            throw error.asCurlewError(url: request?.url)
        }
        return XMLSource(data: body)
    }
}

/// Parses a body into a tree.
///
/// The DTD of a document is not loaded, and nothing is fetched or expanded. A document that declares entities, elements
/// or attributes is an error, and so is everything that the parser reports. A tree takes many times the memory of its
/// text; limit it with `maximumSize`.
public struct XMLDocumentResponseSerializer: ResponseSerializer {
    /// The maximum depth that Foundation's trees support. They would silently lack deeper elements.
    public static let greatestDepth = 256

    private let options: XMLNode.Options
    private let maximumSize: Int
    private let maximumDepth: Int
    private let maximumAttributes: Int

    /// Creates a serializer. `options` are those of `XMLDocument`; options that load or validate other resources have
    /// no effect.
    ///
    /// A text of more than `maximumSize` bytes, elements nested more than `maximumDepth` deep (at most
    /// `greatestDepth`), and an element with more than `maximumAttributes` attributes fail with `.limitExceeded`. The
    /// time that libxml2 before 2.12 takes for an element grows with the square of the number of its attributes.
    public init(
        options: XMLNode.Options = [],
        maximumSize: Int = 16 * 1024 * 1024,
        maximumDepth: Int = XMLDocumentResponseSerializer.greatestDepth,
        maximumAttributes: Int = 1_000
    ) {
        self.options = options.subtracting(Self.loading).union(.nodeLoadExternalEntitiesNever)
        self.maximumSize = maximumSize
        self.maximumDepth = min(maximumDepth, Self.greatestDepth)
        self.maximumAttributes = maximumAttributes
    }

    /// Options that load other resources: validation loads the DTD, and XInclude loads any file.
    private static let loading: XMLNode.Options = [
        .documentValidate, .documentXInclude, .nodeLoadExternalEntitiesAlways, .nodeLoadExternalEntitiesSameOriginOnly,
    ]

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> XMLTree {
        let body = try body(request: request, response: response, data: data, error: error)
        do {
            try XMLProlog.check(body, maximumSize: maximumSize, maximumAttributes: maximumAttributes)
            // On Linux, `XMLDocument` accepts malformed text and prints messages about it, so the parser checks it
            // first.
            try WellFormedness.check(XMLSource(data: body), maximumDepth: maximumDepth)
            return XMLTree(try XMLDocument(data: body, options: options))
        } catch let flaw as XMLFlaw {
            throw flaw.asCurlewError(url: request?.url)
        } catch {
            throw CurlewError.serializerFailed(error)
        }
    }
}

/// Checks that a text is well-formed and not nested too deep. Every error that the parser reports counts, even if it
/// continues and returns success, and every element that begins must end.
private final class WellFormedness: NSObject, XMLParserDelegate {
    private let maximumDepth: Int
    private var depth = 0
    private var elements = 0
    private var isTooDeep = false

    private init(maximumDepth: Int) { self.maximumDepth = maximumDepth }

    static func check(_ source: XMLSource, maximumDepth: Int) throws {
        let checker = WellFormedness(maximumDepth: maximumDepth)
        let parser = source.makeParser()
        parser.delegate = checker
        let parsed = parser.parse()
        if checker.isTooDeep { throw XMLFlaw.tooDeep(maximumDepth) }
        if let error = parser.parserError { throw error }
        guard parsed, checker.elements > 0, checker.depth == 0 else { throw CocoaError(.fileReadCorruptFile) }
    }

    func parser(
        _ parser: XMLParser,
        didStartElement elementName: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        elements += 1
        depth += 1
        guard depth > maximumDepth else { return }
        isTooDeep = true
        parser.abortParsing()
    }

    func parser(_ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName: String?) {
        depth -= 1
    }
}

/// A parsed document. `XMLDocument` is a mutable class, so only one thread at a time has access to it.
// SAFETY: `document` is only accessed while `lock` is held.
public final class XMLTree: @unchecked Sendable {
    private let document: XMLDocument
    // Recursive, because user code runs under the lock and may use this tree.
    private let lock = NSRecursiveLock()

    init(_ document: sending XMLDocument) { self.document = document }

    /// Runs `body` with exclusive access to the document. Nodes must not escape from it.
    public func withDocument<R: Sendable>(_ body: (XMLDocument) throws -> R) rethrows -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(document)
    }
}

extension XMLFlaw {
    fileprivate func asCurlewError(url: URL?) -> CurlewError {
        switch self {
        case .tooLarge, .tooDeep, .tooManyAttributes:
            CurlewError(.limitExceeded, phase: .decoding, reason: description, url: url, underlying: self)
        case .unreadable, .declarations, .encoding:
            .serializerFailed(self)
        }
    }
}

extension ResponseSerializer {
    fileprivate func body(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> Data {
        try DataResponseSerializer(dataPreprocessor: dataPreprocessor)
            .serialize(request: request, response: response, data: data, error: error)
    }
}
