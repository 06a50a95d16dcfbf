import Curlew
import CurlewXML
import Foundation
import FoundationXML
import Testing

@Suite("XML serializers")
struct XMLSerializerTests {
    private let xml = Data("<list><item id=\"1\">a</item><item id=\"2\">b</item></list>".utf8)

    @Test func `a source gives as many parsers as are wanted`() throws {
        let source = try XMLParserResponseSerializer().serialize(request: nil, response: nil, data: xml, error: nil)
        for _ in 0..<2 {
            let counter = ElementCounter()
            let parser = source.makeParser()
            parser.delegate = counter
            #expect(parser.parse())
            #expect(counter.names == ["list", "item", "item"])
        }
    }

    @Test func `a source is bounded as a document is`() throws {
        func source(_ text: String, size: Int = 1_000, attributes: Int = 2) throws -> XMLSource {
            try XMLParserResponseSerializer(maximumSize: size, maximumAttributes: attributes)
                .serialize(request: nil, response: nil, data: Data(text.utf8), error: nil)
        }
        func code(_ text: String, size: Int = 1_000) -> CurlewError.Code? {
            #expect(throws: CurlewError.self) { try source(text, size: size) }?.code
        }
        #expect(try source("<a b='1' c=\"'2\"/>", size: 17).data.count == 17)
        #expect(code("<a b='1' c=\"'2\"/>", size: 16) == .limitExceeded)
        #expect(code("<a b='1' c='2' d='3'/>") == .limitExceeded)
        #expect(code("<!DOCTYPE a [<!ENTITY x \"lol\">]><a>&x;</a>") == .decodingFailed)
        #expect(try source("<!DOCTYPE a SYSTEM \"[>\"><a/>").makeParser().parse())
    }

    @Test func `a document can be asked from within a question`() throws {
        let tree = try XMLDocumentResponseSerializer().serialize(request: nil, response: nil, data: xml, error: nil)
        #expect(tree.withDocument { _ in tree.withDocument { $0.rootElement()?.name } } == "list")
    }

    @Test func `a document can be asked`() throws {
        let tree = try XMLDocumentResponseSerializer().serialize(request: nil, response: nil, data: xml, error: nil)
        let ids = tree.withDocument { document in
            document.rootElement()?.elements(forName: "item").compactMap { $0.attribute(forName: "id")?.stringValue }
        }
        #expect(ids == ["1", "2"])
    }

    private func tree(_ data: Data, options: XMLNode.Options = [], maximumSize: Int = 1 << 24) throws -> XMLTree {
        try XMLDocumentResponseSerializer(options: options, maximumSize: maximumSize)
            .serialize(request: nil, response: nil, data: data, error: nil)
    }

    @Test(
        arguments: [
            "", "<a>", "no xml", "<a/>garbage", "<a/><b/>", "<a><b></a></b>", "<a x='1' x='2'/>", "<a>&foo;</a>",
            "<p:a/>",
            "<a>\u{1}</a>", "<!DOCTYPE a", "<!-- ", "<?xml version=\"1.0\" encoding=\"nonsense\"?><a/>",
            "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0//EN\" \"x.dtd\"><html>&nbsp;</html>",
        ])
    func `what is no document is a decoding error`(text: String) {
        let error = #expect(throws: CurlewError.self) {
            try XMLDocumentResponseSerializer()
                .serialize(request: nil, response: nil, data: Data(text.utf8), error: nil)
        }
        #expect(error?.code == .decodingFailed)
    }

    private static let declaring = "<!DOCTYPE a [<!ENTITY x \"lol\">]><a>&x;</a>"

    /// Documents that declare entities or attributes, and documents whose encoding could hide such a declaration.
    private static let declarations: [Data] = [
        Data(declaring.utf8), Data("\u{FEFF}<?xml version='1.0'?>\n<!-- <a> -->\n<?x ?>\(declaring)".utf8),
        declaring.data(using: .utf16) ?? Data(), declaring.data(using: .utf16BigEndian) ?? Data(),
        Data("<!DOCTYPE a SYSTEM '[>' [<!ENTITY x 'lol'>]><a>&x;</a>".utf8),
        Data("<!DOCTYPE a [<!ATTLIST a x CDATA 'lol'>]><a/>".utf8),
        Data("<?xml version='1.0' encoding='UTF-7'?><!DOCTYPE a +AFs- <!ENTITY x 'lol'> +AF0- ><a>&x;</a>".utf8),
        // If this is read as ASCII, the comment ends early and a root element follows.
        Data(
            "<?xml version='1.0' encoding='ISO-2022-JP'?><!-- \u{1B}$B--><a/>\u{1B}(B -->\(declaring)".utf8),
        Data([0, 0, 0, 0x3C]) + Data("a/>".utf8),
    ]

    @Test(arguments: declarations)
    func `a document that declares entities or attributes is refused, whatever its encoding`(data: Data) {
        let error = #expect(throws: CurlewError.self) { try tree(data) }
        #expect(error?.code == .decodingFailed)
    }

    @Test func `entities do not fill the memory`() {
        let text =
            "<!DOCTYPE a [<!ENTITY x \"\(String(repeating: "x", count: 60_000))\">]><a>"
            + String(repeating: "&x;", count: 600) + "</a>"
        #expect(throws: CurlewError.self) { try tree(Data(text.utf8)) }
    }

    @Test(
        arguments: [
            XMLNode.Options.documentValidate, .nodeLoadExternalEntitiesAlways, .nodeLoadExternalEntitiesSameOriginOnly,
            .documentXInclude, [.documentValidate, .nodePreserveAll],
        ])
    func `nothing outside of the body is loaded, whatever the options`(options: XMLNode.Options) throws {
        let secret = FileManager.default.temporaryDirectory.appending(path: "curlew-\(UUID().uuidString)")
        try Data("<!ENTITY x \"secret\"><!ATTLIST a y CDATA \"secret\">".utf8).write(to: secret)
        defer { try? FileManager.default.removeItem(at: secret) }
        let location = secret.absoluteString
        let plain = try tree(Data("<!DOCTYPE a SYSTEM \"\(location)\"><a/>".utf8), options: options)
        #expect(plain.withDocument { $0.rootElement()?.attribute(forName: "y") == nil })
        for text in [
            "<!DOCTYPE a SYSTEM \"\(location)\"><a>&x;</a>",
            "<!DOCTYPE a [<!ENTITY x SYSTEM \"\(location)\">]><a>&x;</a>",
            "<a xmlns:i=\"http://www.w3.org/2001/XInclude\"><i:include href=\"\(location)\" parse=\"text\"/></a>",
        ] {
            let document = try? tree(Data(text.utf8), options: options)
            #expect(document?.withDocument { $0.xmlString.contains("secret") } != true)
        }
    }

    @Test func `a document type without declarations is no error`() throws {
        let text = "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0//EN\" \"http://127.0.0.1:1/x.dtd\">\n<html>a</html>"
        for data in [Data(text.utf8), text.data(using: .utf16) ?? Data()] {
            #expect(try tree(data).withDocument { $0.rootElement()?.stringValue } == "a")
        }
        let named = Data("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\u{1}</a>".utf8).map { $0 == 1 ? 0xE4 : $0 }
        #expect(try tree(Data(named)).withDocument { $0.rootElement()?.stringValue } == "ä")
    }

    @Test(arguments: [(256, true), (257, false), (1000, false)])
    func `what is nested too deep is an error, not half a tree`(depth: Int, isTaken: Bool) throws {
        let text = String(repeating: "<a>", count: depth) + "x" + String(repeating: "</a>", count: depth)
        if isTaken {
            #expect(try tree(Data(text.utf8)).withDocument { $0.rootElement()?.stringValue } == "x")
        } else {
            let error = #expect(throws: CurlewError.self) { try tree(Data(text.utf8)) }
            #expect(error?.code == .limitExceeded)
        }
    }

    /// The parser may compare each attribute of an element with all preceding ones, which takes quadratic time.
    @Test(arguments: [String.Encoding.utf8, .utf16])
    func `an element with too many attributes is an error before the parser sees it`(encoding: String.Encoding) throws {
        func text(_ count: Int) throws -> Data {
            let attributes = (0..<count).map { $0 % 2 == 0 ? "a\($0)='\">'" : "a\($0) = \"/>'\"" }.joined(
                separator: " ")
            let others = "<!-- <a '' '' --><?a '' ''?><r b=''><![CDATA[<a '' '']]>'' ''</r>"
            return try #require("<r>\(others)<a \(attributes)/></r>".data(using: encoding))
        }
        let error = #expect(throws: CurlewError.self) { try tree(text(40_000)) }
        #expect(error?.code == .limitExceeded)
        #expect(throws: CurlewError.self) { try tree(text(1_001)) }
        for (limit, isTaken) in [(3, true), (2, false)] {
            let serializer = XMLDocumentResponseSerializer(maximumAttributes: limit)
            let data = try text(3)
            let tree = try? serializer.serialize(request: nil, response: nil, data: data, error: nil)
            #expect((tree != nil) == isTaken)
        }
        let taken = try tree(text(1_000))
        #expect(taken.withDocument { $0.rootElement()?.elements(forName: "a").first?.attributes?.count } == 1_000)
    }

    @Test func `what is too large is an error`() throws {
        #expect(throws: Never.self) { try tree(xml, maximumSize: xml.count) }
        let error = #expect(throws: CurlewError.self) { try tree(xml, maximumSize: xml.count - 1) }
        #expect(error?.code == .limitExceeded)
    }
}

private final class ElementCounter: NSObject, XMLParserDelegate {
    var names: [String] = []

    func parser(
        _ parser: XMLParser,
        didStartElement elementName: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        names.append(elementName)
    }
}
