import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("CURLE codes")
struct CurlCodeTests {
    /// Returns every result code of the installed header, with its name.
    private func headerCodes() throws -> [(Int, String)] {
        let paths = [
            "/usr/include/x86_64-linux-gnu/curl/curl.h", "/usr/include/aarch64-linux-gnu/curl/curl.h",
            "/usr/include/curl/curl.h",
        ]
        let path = try #require(paths.first { FileManager.default.fileExists(atPath: $0) })
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let start = try #require(text.range(of: "CURLE_OK = 0"))
        // After this enumerator, newer headers define numbers for libcurl's own tests.
        let end = try #require(text.range(of: "CURL_LAST", range: start.upperBound..<text.endIndex))
        var number = -1
        var codes: [(Int, String)] = []
        for line in text[start.lowerBound..<end.lowerBound].split(separator: "\n") {
            let word = line.drop { $0 == " " }.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            guard word.hasPrefix("CURLE_"), line.hasPrefix("  CURLE_") || line.hasPrefix("CURLE_") else { continue }
            number += 1
            codes.append((number, String(word)))
        }
        return codes
    }

    @Test func everyCodeOfTheHeaderHasItsNameAndAMeaning() throws {
        let codes = try headerCodes()
        #expect(codes.count > 95)
        for (number, name) in codes where number > 0 {
            let row = CurlCode.row(number)
            #expect(row.number == number)
            if !name.contains("OBSOLETE") { #expect(row.name == name) }
            #expect(CurlewError.Code.allKnown.contains(row.code))
        }
    }

    @Test func unknownNumbersAreInternal() {
        #expect(CurlCode.row(9999).code == .internal)
        #expect(CurlCode.native(28).description == "28 CURLE_OPERATION_TIMEDOUT")
    }

    @Test func theRunningLibraryTellsWhatItCan() {
        let capabilities = Capabilities.ofLibcurl
        #expect(capabilities.isAtLeast(7, 80, 0))
        #expect(capabilities.protocols.isSuperset(of: ["http", "https"]))
        #expect(!capabilities.version.isEmpty)
    }
}
