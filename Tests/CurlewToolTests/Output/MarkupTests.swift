import Testing

@testable import CurlewTool

@Suite("XML and HTML")
struct MarkupTests {
    @Test func indentsXML() {
        let body = "<?xml version=\"1.0\"?><!-- c --><a x='1>2'><b>text</b><c/><d></d><e><f>1</f></e></a>\n"
        #expect(
            shaped(body, type: "application/xml") == """
                <?xml version="1.0"?>
                <!-- c -->
                <a x='1>2'>
                  <b>text</b>
                  <c/>
                  <d></d>
                  <e>
                    <f>1</f>
                  </e>
                </a>
                """)
    }

    @Test(
        "significant white space is kept",
        arguments: [
            "<p>Hello <b>big</b> <i>world</i> </p>", "<p> </p>", "<p>\n text\n</p>",
            "<p xml:space=\"preserve\"> <b/> <c> </c></p>", "<p><![CDATA[ <x> ]]> <b/> </p>",
        ])
    func keepsMixedContent(_ text: String) {
        #expect(shaped(text, type: "text/xml") == text)
    }

    @Test func replacesTheWhiteSpaceOfElements() {
        #expect(shaped("<a>\r\n\t<b/>\n\n\n<c/> </a>", type: "image/svg+xml") == "<a>\n  <b/>\n  <c/>\n</a>")
        #expect(
            shaped("<!DOCTYPE a [<!ENTITY e \"]>\">]><a/>", type: "text/xml")
                == "<!DOCTYPE a [<!ENTITY e \"]>\">]>\n<a/>")
    }

    @Test(
        "a body that is not well-formed XML keeps all characters besides white space",
        arguments: ["not xml", "<a></b> <c>", "<a>< b></a>", "<a", "</a>", "<a><b></a>", "<>", "{\"a\":1}"])
    func givesUp(_ text: String) {
        let out = shaped(text, type: "application/xml")
        #expect(out.filter { !$0.isWhitespace } == text.filter { !$0.isWhitespace })
    }

    @Test func changesNothingAfterTheFirstTokenThatIsNotXML() {
        #expect(
            shaped("<a>  <b/>  </c>  <d>\n</d> ", type: "application/xml") == "<a>\n  <b/>  </c>  <d>\n</d> ")
    }

    @Test func obeysOptions() {
        var look = Look()
        look.format.xmlIndent = 4
        #expect(shaped("<a><b/></a>", type: "text/xml", look: look) == "<a>\n    <b/>\n</a>")
        look.format.formatsXML = false
        #expect(shaped("<a><b/></a>", type: "text/xml", look: look) == "<a><b/></a>")
        #expect(shaped("<a> <b/></a>", type: "text/xml", pretty: .colors).contains("</a"))
    }

    @Test func colorsTags() {
        let e = "\u{1B}["
        #expect(
            shaped("<a x=\"1\" y><!--c--></a>", type: "text/html", pretty: .colors)
                == "\(e)1;34m<a\(e)0m \(e)36mx\(e)0m=\(e)33m\"1\"\(e)0m \(e)36my\(e)0m\(e)1;34m>\(e)0m"
                + "\(e)90m<!--c-->\(e)0m\(e)1;34m</a\(e)0m\(e)1;34m>\(e)0m")
    }

    @Test("tag names that are not UTF-8 are written unchanged", arguments: ["application/xml", "text/html"])
    func colorsBrokenNames(_ type: String) throws {
        let body: [UInt8] =
            Array("<a".utf8) + [0xFF, 0xFE, 0xFF] + Array("></a".utf8) + [0xFF, 0xFE, 0xFF] + Array(">".utf8)
        var formatter = BodyFormatter(
            kind: MediaKind(contentType: type), target: .init(isTerminal: false, pretty: .colors))
        var out: [UInt8] = []
        formatter.feed(body, into: &out)
        formatter.finish(into: &out)
        for code in ["\u{1B}[1;34m", "\u{1B}[0m"] {
            while let range = out.firstRange(of: Array(code.utf8)) { out.removeSubrange(range) }
        }
        #expect(out == body)
    }

    @Test func indentsHTML() {
        let page = """
            <!DOCTYPE html><html><head><title>T</title><meta charset=utf-8><script>if (a < b) {
              x("</p>");
            }</script></head><body><h1>Hi <b>you</b></h1>
            <p>one
               two<p>three<ul><li>a<li>b</ul><pre> x
              <i>y</i></pre>1 < 2<br>end</body></html>
            """
        #expect(
            shaped(page, type: "text/html; charset=utf-8") == """
                <!DOCTYPE html>
                <html>
                  <head>
                    <title>T</title>
                    <meta charset=utf-8>
                    <script>if (a < b) {
                  x("</p>");
                }</script>
                  </head>
                  <body>
                    <h1>Hi <b>you</b></h1>
                    <p>one
                      two
                    <p>three
                    <ul>
                      <li>a
                      <li>b
                    </ul>
                    <pre> x
                  <i>y</i></pre>
                    1 < 2<br>end
                  </body>
                </html>
                """)
    }

    @Test("the nesting depth of an HTML page is tracked up to 256")
    func boundsNesting() {
        var page = PrettyHTML(MarkupWriter(palette: Palette(isColored: false)))
        var out: [UInt8] = []
        page.feed(String(repeating: "<div>", count: 1000).utf8, into: &out)
        #expect(page.depth == 256)
        page.feed(String(repeating: "</div>", count: 1000).utf8, into: &out)
        page.finish(into: &out)
        #expect(page.depth == 0)
        #expect(out.filter { $0 == UInt8(ascii: "<") }.count == 2000)
    }

    @Test(arguments: ["", "just text", "a < b", "<", "<div", "</nothing>", "<script>never ends", "<!-- open"])
    func malformedHTMLIsKeptCompletely(_ text: String) { #expect(shaped(text, type: "text/html") == text) }
}
