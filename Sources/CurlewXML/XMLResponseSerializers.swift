public import Curlew
public import Foundation
public import FoundationNetworking
public import FoundationXML

// XML stands apart from Curlew because FoundationXML is one more library to load at every start.

/// What XML is labelled with.
public let xmlContentTypes: Set<String> = ["application/xml", "text/xml"]

/// Bytes of XML, and fresh parsers over them. External entities are never loaded.
public struct XMLSource: Sendable, Equatable {
    /// The body.
    public let data: Data

    /// Makes a source of a body.
    public init(data: Data) { self.data = data }

    /// A parser at the beginning of the text: give it a delegate and call `parse()`.
    public func makeParser() -> XMLParser {
        let parser = XMLParser(data: data)
        parser.shouldResolveExternalEntities = false
        return parser
    }
}

/// Gives what an `XMLParser` needs. The body is not parsed yet.
public struct XMLParserResponseSerializer: ResponseSerializer {
    /// Makes a serializer.
    public init() {}

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> XMLSource {
        XMLSource(data: try body(request: request, response: response, data: data, error: error))
    }
}

/// Parses the body into a tree.
public struct XMLDocumentResponseSerializer: ResponseSerializer {
    private let options: XMLNode.Options

    /// `options` as for `XMLDocument`; external entities are never loaded.
    public init(options: XMLNode.Options = []) { self.options = options.union(.nodeLoadExternalEntitiesNever) }

    public func serialize(
        request: URLRequest?,
        response: HTTPURLResponse?,
        data: Data?,
        error: (any Error)?
    ) throws -> XMLTree {
        let body = try body(request: request, response: response, data: data, error: error)
        do {
            // FoundationXML's document accepts broken text on Linux, and prints about it: ask the parser first.
            try WellFormedness.check(XMLSource(data: body))
            return XMLTree(try XMLDocument(data: body, options: options))
        } catch {
            throw AFError.responseSerializationFailed(reason: .customSerializationFailed(error: error))
        }
    }
}

/// Every element that begins must end: the parser alone lets a text pass that stops in the middle.
private final class WellFormedness: NSObject, XMLParserDelegate {
    private var openElements = 0
    private var elements = 0

    static func check(_ source: XMLSource) throws {
        let checker = WellFormedness()
        let parser = source.makeParser()
        parser.delegate = checker
        let parsed = parser.parse()
        guard parsed, checker.elements > 0, checker.openElements == 0 else {
            throw parser.parserError ?? CocoaError(.fileReadCorruptFile)
        }
    }

    func parser(
        _ parser: XMLParser,
        didStartElement elementName: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        elements += 1
        openElements += 1
    }

    func parser(_ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName: String?) {
        openElements -= 1
    }
}

/// A parsed document. `XMLDocument` is a mutable class, so one thread at a time gets at it.
// SAFETY: `document` is only touched inside `lock`.
public final class XMLTree: @unchecked Sendable {
    private let document: XMLDocument
    // Recursive, because foreign code runs under it, which may ask this tree.
    private let lock = NSRecursiveLock()

    init(_ document: sending XMLDocument) { self.document = document }

    /// Runs `body` with the document to itself; nodes must not leave it.
    public func withDocument<R: Sendable>(_ body: (XMLDocument) throws -> R) rethrows -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(document)
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
