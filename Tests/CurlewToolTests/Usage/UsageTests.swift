import Curlew
import Testing
@testable import CurlewTool

@Suite("Help, man page and completions")
struct UsageTests {
    @Test func helpNamesEveryOptionAndFits() {
        let text = HelpText.overview(width: 80)
        for spec in OptionTable.all { #expect(text.contains(HelpText.label(spec))) }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test(arguments: Topics.all.map(\.name))
    func helpTopicsFitTheWidth(_ name: String) throws {
        let topic = try #require(Topics.topic(name))
        #expect(topic.text(width: 80).split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test func helpNamesEveryChoiceAndShowsExamples() throws {
        for spec in OptionTable.all {
            guard case .choice(let words)? = spec.value?.kind else { continue }
            for word in words { #expect(spec.fullHelp.contains(word)) }
        }
        let style = try #require(OptionTable.spec(.style))
        #expect(HelpText.option(style).hasSuffix("\n\n    curlew --style=monokai example.org\n"))
        #expect(HelpText.overview().contains("Examples:\n  curlew example.org"))
    }

    @Test("every example is a valid command line")
    func examplesAreSound() throws {
        for example in Topics.examples.map(\.command) + OptionTable.all.compactMap(\.example) {
            guard !example.contains("| "), !example.contains("'") else { continue }
            var words = example.split(separator: " ").map(String.init)
            #expect(words.removeFirst() == "curlew")
            let sound = words.map { $0.replacing("9f86...", with: String(repeating: "0", count: 64)) }
            #expect(throws: Never.self) { try CommandBuilder.command(for: sound) }
        }
    }

    @Test func manPageNamesEveryOption() {
        let text = ManPage.text(version: "1.0")
        for spec in OptionTable.all { #expect(text.contains("\\fB" + ManPage.escaped(spec.flag) + "\\fR")) }
        #expect(text.hasPrefix(".\\\""))
        for status in ExitStatus.allCases { #expect(text.contains(ManPage.escaped(status.meaning))) }
    }

    @Test(arguments: Shell.allCases)
    func completionsNameEveryOption(_ shell: Shell) {
        let script = Completions.script(for: shell)
        for spec in OptionTable.all {
            #expect(script.contains(shell == .fish ? "-l \(spec.name)" : spec.flag))
            for word in spec.value?.words ?? [] { #expect(script.contains(word)) }
        }
    }

    @Test func exitCodesFollowTheStatus() {
        #expect(ExitStatus.checking(200, follows: false) == .success)
        #expect(ExitStatus.checking(301, follows: false) == .redirection)
        #expect(ExitStatus.checking(304, follows: true) == .success)
        #expect(ExitStatus.checking(404, follows: false) == .clientError)
        #expect(ExitStatus.checking(503, follows: true) == .serverError)
    }

    @Test(arguments: [("a b c", 3, ["a b", "c"]), ("", 5, [""]), ("abcdef", 3, ["abcdef"]), ("a  b", 9, ["a b"])])
    func textIsWrappedAtWords(_ text: String, _ width: Int, _ expected: [String]) {
        #expect(TextWrap.lines(text, width: width) == expected)
    }
}

@Suite("--version")
struct VersionTests {
    @Test("the text lists libcurl's capabilities and the reason for each refused feature")
    func version() {
        let text = VersionText.text(
            Capabilities(
                version: "8.14.1", versionNumber: 0x080E01, features: ["HTTP2", "HTTP3", "IDN"],
                protocols: ["http", "https"], tlsBackend: "GnuTLS/3.8.9", hasCustomResolver: false,
                http3Library: "ngtcp2/1.11.0 nghttp3/1.8.0", contentCodings: ["deflate", "gzip", "br"],
                internationalNameLibrary: "libidn2 2.3.8"))
        let lines = text.split(separator: "\n")
        for line in [
            "libcurl 8.14.1 with GnuTLS/3.8.9", "encodings: deflate gzip br", "HTTP/3: ngtcp2/1.11.0 nghttp3/1.8.0",
            "DNS over HTTPS: yes", "international names: libidn2 2.3.8", "public suffixes: no",
            "not available here: --unix-socket", "refused: a client identity in memory, needs libcurl with OpenSSL",
        ] {
            #expect(lines.contains { $0 == line }, "\(line)")
        }
        #expect(!text.contains("refused: HTTP/3, "))
    }

    @Test("the running libcurl has gzip, public suffixes and DNS over HTTPS, and names its HTTP/3 library")
    func running() {
        #expect(Capabilities.current.contentCodings.starts(with: ["deflate", "gzip"]))
        #expect(Capabilities.current.publicSuffixLibrary?.hasPrefix("libpsl ") == true)
        #expect(Capabilities.current.hasDNSOverHTTPS)
        #expect((Capabilities.current.http3Library != nil) == Capabilities.current.features.contains("HTTP3"))
    }
}
