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

    @Test(arguments: ["", "<a>", "no xml"])
    func `what is no document is a decoding error`(text: String) {
        let error = #expect(throws: CurlewError.self) {
            try XMLDocumentResponseSerializer()
                .serialize(request: nil, response: nil, data: Data(text.utf8), error: nil)
        }
        #expect(error?.code == .decodingFailed)
    }

    @Test func `external entities are not loaded`() throws {
        let secret = FileManager.default.temporaryDirectory.appending(path: "curlew-\(UUID().uuidString)")
        try Data("secret".utf8).write(to: secret)
        defer { try? FileManager.default.removeItem(at: secret) }
        let text = "<!DOCTYPE a [<!ENTITY x SYSTEM \"\(secret.absoluteString)\">]><a>&x;</a>"
        let tree = try? XMLDocumentResponseSerializer()
            .serialize(request: nil, response: nil, data: Data(text.utf8), error: nil)
        #expect(tree?.withDocument { $0.xmlString.contains("secret</a>") } != true)
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
