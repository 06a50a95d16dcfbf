import Testing

@testable import CurlewTool

@Suite("Options for the appearance of the output")
struct LookTests {
    private func look(_ words: String...) throws -> Look {
        try invocation(words + ["x"]).output.look
    }

    @Test func readsFormatOptions() throws {
        let format = try look(
            "--format-options=json.indent:2,headers.sort:true", "--format-options", "xml.format:false"
        ).format
        #expect(format.jsonIndent == 2)
        #expect(format.sortsHeaders)
        #expect(!format.sortsKeys)
        #expect(!format.formatsXML)
    }

    @Test func orderIsKeptByDefault() throws {
        #expect(try look().format == FormatOptions())
        #expect(!FormatOptions().sortsHeaders && !FormatOptions().sortsKeys)
        #expect(try look("--sorted").format.sortsKeys)
        #expect(try look("--sorted", "--unsorted").format == FormatOptions())
        #expect(try look("--sorted", "--format-options=json.sort_keys:false").format.sortsHeaders)
    }

    @Test(
        arguments: [
            (
                "--format-options=json.indnt:2", "--format-options: there is no 'json.indnt'",
                "Did you mean 'json.indent'?"
            ),
            (
                "--format-options=json.indent", "--format-options: 'json.indent' is not NAME:VALUE",
                "For instance json.indent:2."
            ),
            ("--format-options=json.indent:99", "json.indent: '99' is not a number from 0 to 16", nil),
            ("--format-options=headers.sort:yes", "headers.sort: 'yes' is neither true nor false", nil),
            (
                "--style=monokay",
                "--style: 'monokay' is not one of auto, dark, light, monokai, solarized, fruity, mono",
                "Did you mean 'monokai'?"
            ),
            (
                "--response-charset=klingon", "--response-charset: the charset 'klingon' is not known here",
                "For instance utf-8, iso-8859-1, shift_jis, gbk, big5."
            ),
            ("--response-mime=json", "--response-mime: 'json' is not a media type", "For instance application/json."),
        ] as [(String, String, String?)])
    func invalidFormatOptionIsExplained(_ word: String, _ message: String, _ hint: String?) {
        #expect(throws: UsageError(message, hint: hint)) { try look(word) }
    }

    @Test func everyThemeHasTheEssentialStyles() {
        for theme in Theme.all {
            for style in [Style.method, .statusError, .jsonKey, .tag, .error] { #expect(theme.code(style) != nil) }
            #expect(Theme.named(theme.name) == theme)
        }
        #expect(Palette(isColored: true, theme: .monokai).start(.jsonKey) == "\u{1B}[1;38;5;197m")
        #expect(Palette(isColored: false, theme: .monokai).start(.jsonKey) == "")
    }

    @Test func takesHTTPSForURLsWithoutAScheme() throws {
        #expect(try invocation("--https", ":/x").network.defaultScheme == "https")
        #expect(try invocation("--https", "--default-scheme=http", "x").network.defaultScheme == "http")
    }
}
