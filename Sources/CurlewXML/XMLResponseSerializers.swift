public import Curlew
internal import CurlewFailures
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

    /// Creates a source of a body.
    public init(data: Data) { self.data = data }

    /// A parser at the beginning of the text: give it a delegate and call `parse()`.
    public func makeParser() -> XMLParser {
        let parser = XMLParser(data: data)
        parser.shouldResolveExternalEntities = false
        return parser
    }
}

/// Gives what an `XMLParser` needs. The body is checked, but not parsed. A document that declares entities, elements or
/// attributes of its own is an error, because a parser can fill the memory with them. To parse a body without these checks, make
/// an `XMLSource` from its data.
public struct XMLParserResponseSerializer: ResponseSerializer {
    private let maximumSize: Int
    private let maximumAttributes: Int

    /// A text of more than `maximumSize` bytes and an element with more than `maximumAttributes` attributes are `.limitExceeded`.
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
        // A response without a body that may have none.
        guard !body.isEmpty else { return XMLSource(data: body) }
        do {
            try XMLProlog.check(body, maximumSize: maximumSize, maximumAttributes: maximumAttributes)
        } catch {
            throw error.asCurlewError(url: request?.url)
        }
        return XMLSource(data: body)
    }
}

/// Parses the body into a tree.
///
/// Nothing is fetched and nothing is expanded for a document: its DTD is not loaded, and one that declares entities,
/// elements or attributes of its own is an error, and so is whatever the parser complains about. A tree takes many times
/// the memory of its text, hence `maximumSize`.
public struct XMLDocumentResponseSerializer: ResponseSerializer {
    /// More than Foundation's trees can have is not possible: what is nested deeper would be missing from them.
    public static let greatestDepth = 256

    private let options: XMLNode.Options
    private let maximumSize: Int
    private let maximumDepth: Int
    private let maximumAttributes: Int

    /// `options` as for `XMLDocument`, of which those that would load or validate something else have no effect. A text of
    /// more than `maximumSize` bytes, elements nested more than `maximumDepth` deep (at most `greatestDepth`) and an element
    /// with more than `maximumAttributes` attributes are `.limitExceeded`. The time that libxml2 takes for an element grows
    /// with the square of the number of its attributes.
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

    /// Validation loads the DTD, and XInclude any file.
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
            // FoundationXML's document accepts broken text on Linux, and prints about it: ask the parser first.
            try WellFormedness.check(XMLSource(data: body), maximumDepth: maximumDepth)
            return XMLTree(try XMLDocument(data: body, options: options))
        } catch let flaw as XMLFlaw {
            throw flaw.asCurlewError(url: request?.url)
        } catch {
            throw CurlewError.responseSerializationFailed(reason: .customSerializationFailed(error: error))
        }
    }
}

/// Whatever the parser reports is an error, also where it goes on and says that it parsed the text; and every element that
/// begins must end, and must not be nested too deep.
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

extension XMLFlaw {
    fileprivate func asCurlewError(url: URL?) -> CurlewError {
        switch self {
        case .tooLarge, .tooDeep, .tooManyAttributes:
            CurlewError(.limitExceeded, phase: .decoding, reason: description, url: url, underlying: self)
        case .unreadable, .declarations, .encoding:
            .responseSerializationFailed(reason: .customSerializationFailed(error: self))
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
