import CurlewTesting
import Foundation
import Testing
@testable import CurlewTool

/// Reads the completion scripts and the man page with the programs that they are generated for.
@Suite("Shell completions and the man page", .timeLimit(.minutes(4)))
struct ShellTests {
    private let scratch: ScratchDirectory

    init() throws { scratch = try ScratchDirectory() }

    private static func isThere(_ program: String) -> Bool { access("/usr/bin/" + program, X_OK) == 0 }

    /// Writes the output of `curlew` to a file, and runs a program that reads the file.
    private func read(
        _ words: String...,
        with program: String,
        _ arguments: (_ file: String) -> [String]
    ) async throws -> ToolProcess.Outcome {
        var tool = ToolProcess()
        tool.arguments = words
        let made = try await tool.run()
        #expect(made.status == 0)
        let file = try scratch.write("made", made.output).path
        var reader = ToolProcess()
        reader.program = URL(filePath: "/usr/bin/" + program)
        reader.arguments = arguments(file)
        reader.folder = scratch.url
        return try await reader.run()
    }

    @Test func bashCompletes() async throws {
        func words(_ typed: String) async throws -> [String] {
            let count = typed.split(separator: " ", omittingEmptySubsequences: false).count - 1
            let outcome = try await read("completions", "bash", with: "bash") { file in
                [
                    "-c",
                    ". \(file); COMP_WORDS=(\(typed)); COMP_CWORD=\(count); _curlew; printf '%s\\n' \"${COMPREPLY[@]}\"",
                ]
            }
            #expect(outcome.errors == "")
            return outcome.text.split(separator: "\n").map(String.init)
        }
        #expect(try await words("curlew --fol") == ["--follow"])
        #expect(try await words("curlew --pretty f") == ["format"])
        #expect(try await words("curlew --style = mono") == ["monokai", "mono"])
        #expect(try await words("curlew --pretty =") == ["all", "colors", "format", "none"])
        #expect(try await words("curlew completions z") == ["zsh"])
        #expect(try await words("curlew help down") == ["download"])
        try scratch.write("photo.jpg", "")
        #expect(try await words("curlew x photo@pho") == ["photo@photo.jpg"])
    }

    @Test func bashCompletesTheNamesOfSessions() async throws {
        try FileManager.default.createDirectory(
            at: scratch.url.appending(path: "own/sessions/example.org"), withIntermediateDirectories: true)
        try scratch.write("own/sessions/example.org/ada.json", "{}")
        let outcome = try await read("completions", "bash", with: "bash") { file in
            [
                "-c",
                "export CURLEW_CONFIG_DIR=own; . \(file); COMP_WORDS=(curlew --session a); COMP_CWORD=2; _curlew; "
                    + "printf '%s\\n' \"${COMPREPLY[@]}\"",
            ]
        }
        #expect(outcome.errors == "")
        #expect(outcome.text == "ada\n")
    }

    @Test(.enabled(if: isThere("fish"), "fish is not installed")) func fishCompletes() async throws {
        let outcome = try await read("completions", "fish", with: "fish") { file in
            ["--no-config", "-c", "source \(file); complete -C 'curlew --fol'; complete -C 'curlew completions z'"]
        }
        #expect(outcome.errors == "")
        let words = outcome.lines.map { $0.prefix { $0 != "\t" } }
        #expect(words.contains("--follow"))
        #expect(words.contains("zsh"))
    }

    @Test(.enabled(if: isThere("zsh"), "zsh is not installed")) func zshReadsItsFile() async throws {
        let outcome = try await read("completions", "zsh", with: "zsh") { file in
            ["-f", "-c", "autoload -U compinit && compinit -u -d \(file).dump && . \(file) && print $_comps[curlew]"]
        }
        #expect(outcome.errors == "")
        #expect(outcome.text == "_curlew\n")
    }

    @Test(.enabled(if: isThere("groff"), "groff is not installed")) func manPageHasNoErrors() async throws {
        let outcome = try await read("man", with: "groff") { ["-man", "-Tascii", "-ww", "-P-cbou", $0] }
        #expect(outcome.errors == "")
        let headings = outcome.lines.filter { $0.first?.isUppercase == true }
        #expect(headings.contains("SYNOPSIS"))
        #expect(headings.contains("EXIT CODES"))
    }
}

@Suite("The demo", .timeLimit(.minutes(2)))
struct DemoTests {
    @Test("every step succeeds and prints the lines that it ran")
    func works() async throws {
        var demo = ToolProcess()
        demo.program = ToolProcess.built("CurlewDemo")
        let outcome = try await demo.run()
        #expect(outcome.status == 0, "\(outcome.text)")
        #expect(outcome.lines.count { $0.hasPrefix("   ✓ ") } == 9)
        #expect(outcome.text.contains("   │ let bird = try await session.request("))
    }

    @Test("the demo runs to its end if the reader of its output exits")
    func goesOnWithoutAReader() async throws {
        var shell = ToolProcess("-c", "'\(ToolProcess.built("CurlewDemo").path)' | head -1; exit ${PIPESTATUS[0]}")
        shell.program = URL(filePath: "/bin/bash")
        let outcome = try await shell.run()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.lines.first?.contains("127.0.0.1") == true, "\(outcome.text)")
    }
}
