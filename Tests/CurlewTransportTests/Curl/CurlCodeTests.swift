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

    @Test(arguments: [
        (CurlCode.unsupportedProtocol, "CURLE_UNSUPPORTED_PROTOCOL"),
        (CurlCode.notBuiltIn, "CURLE_NOT_BUILT_IN"),
        (CurlCode.couldNotResolveProxy, "CURLE_COULDNT_RESOLVE_PROXY"),
        (CurlCode.couldNotResolveHost, "CURLE_COULDNT_RESOLVE_HOST"),
        (CurlCode.couldNotConnect, "CURLE_COULDNT_CONNECT"),
        (CurlCode.partialFile, "CURLE_PARTIAL_FILE"),
        (CurlCode.outOfMemory, "CURLE_OUT_OF_MEMORY"),
        (CurlCode.operationTimedOut, "CURLE_OPERATION_TIMEDOUT"),
        (CurlCode.sslConnectError, "CURLE_SSL_CONNECT_ERROR"),
        (CurlCode.badFunctionArgument, "CURLE_BAD_FUNCTION_ARGUMENT"),
        (CurlCode.unknownOption, "CURLE_UNKNOWN_OPTION"),
        (CurlCode.gotNothing, "CURLE_GOT_NOTHING"),
        (CurlCode.sslEngineNotFound, "CURLE_SSL_ENGINE_NOTFOUND"),
        (CurlCode.sslEngineSetFailed, "CURLE_SSL_ENGINE_SETFAILED"),
        (CurlCode.sendError, "CURLE_SEND_ERROR"),
        (CurlCode.receiveError, "CURLE_RECV_ERROR"),
        (CurlCode.sslCertificateProblem, "CURLE_SSL_CERTPROBLEM"),
        (CurlCode.sslCipher, "CURLE_SSL_CIPHER"),
        (CurlCode.peerFailedVerification, "CURLE_PEER_FAILED_VERIFICATION"),
        (CurlCode.badContentEncoding, "CURLE_BAD_CONTENT_ENCODING"),
        (CurlCode.useSSLFailed, "CURLE_USE_SSL_FAILED"),
        (CurlCode.sslEngineInitFailed, "CURLE_SSL_ENGINE_INITFAILED"),
        (CurlCode.sslCACertificateBadFile, "CURLE_SSL_CACERT_BADFILE"),
        (CurlCode.sslShutdownFailed, "CURLE_SSL_SHUTDOWN_FAILED"),
        (CurlCode.sslCRLBadFile, "CURLE_SSL_CRL_BADFILE"),
        (CurlCode.sslIssuerError, "CURLE_SSL_ISSUER_ERROR"),
        (CurlCode.sslPinnedKeyNotMatched, "CURLE_SSL_PINNEDPUBKEYNOTMATCH"),
        (CurlCode.sslInvalidCertificateStatus, "CURLE_SSL_INVALIDCERTSTATUS"),
        (CurlCode.proxy, "CURLE_PROXY"),
        (CurlCode.sslClientCertificate, "CURLE_SSL_CLIENTCERT"),
    ])
    func curlCodesEqualTheHeadersConstants(number: Int, name: String) { #expect(CurlCode.row(number).name == name) }

    @Test func unknownNumbersAreInternal() {
        #expect(CurlCode.row(9999).code == .internal)
        #expect(CurlCode.native(28).description == "28 CURLE_OPERATION_TIMEDOUT")
    }

    @Test func libcurlReportsItsCapabilities() {
        let capabilities = Capabilities.ofLibcurl
        #expect(capabilities.isAtLeast(7, 80, 0))
        #expect(capabilities.protocols.isSuperset(of: ["http", "https"]))
        #expect(!capabilities.version.isEmpty)
    }
}
