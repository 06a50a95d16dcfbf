import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

/// Complete and truncated bodies in every content coding and framing.
@Suite("Content codings", .timeLimit(.minutes(4)))
struct ContentCodingTests {
    private static let framings: [TestServer.Response.Framing] = [.automatic, .chunked, .untilClose]

    private func answer(_ bytes: Data, _ coding: String, _ framing: TestServer.Response.Framing = .automatic)
        -> TestServer.Response
    {
        var answer = TestServer.Response.data(bytes).header("Content-Encoding", coding)
        answer.framing = framing
        return answer
    }

    private static func isOffered(_ coding: String) -> Bool {
        let features = Capabilities.ofLibcurl.features
        return switch coding {
        case "br": features.contains("brotli")
        case "zstd": features.contains("zstd")
        default: true
        }
    }

    @Test(arguments: framings)
    func contentCodingsAreDecoded(_ framing: TestServer.Response.Framing) async throws {
        try await withTransport { transport, server in
            for (coding, bytes) in CodedBodies.all where Self.isOffered(coding) {
                server.script("/x", answer(bytes, coding, framing))
                let whole = try await transport.fetch(request(server.url("/x")))
                #expect(whole.sink.body == CodedBodies.text, "\(coding)")
            }
        }
    }

    @Test(arguments: framings)
    func codedBodyCutAnywhereIsTruncated(_ framing: TestServer.Response.Framing) async throws {
        try await withTransport { transport, server in
            for (coding, bytes) in CodedBodies.all where Self.isOffered(coding) {
                // One byte, the header of gzip, half of the body, all but gzip's trailer, all but one byte.
                for count in [1, 10, bytes.count / 2, bytes.count - 8, bytes.count - 1] {
                    server.script("/x", answer(bytes.prefix(count), coding, framing))
                    let error = await transport.failure(request(server.url("/x")))
                    #expect(error.code == .truncated, "\(coding), \(count) of \(bytes.count): \(error)")
                    #expect(error.phase == .receive)
                    #expect(error.responseCode == 200)
                }
            }
        }
    }

    @Test func emptyCodedBodyIsComplete() async throws {
        try await withTransport { transport, server in
            for (coding, _) in CodedBodies.all {
                server.script("/x", answer(Data(), coding))
                let got = try await transport.fetch(request(server.url("/x")))
                #expect(got.sink.body.isEmpty)
                server.script("/x", answer(CodedBodies.gzip, coding))
                let head = try await transport.fetch(request(server.url("/x"), method: .head))
                #expect(head.sink.body.isEmpty)
            }
        }
    }

    @Test func concatenatedMembersAreOneBody() async throws {
        try await withTransport { transport, server in
            for (coding, bytes) in [("gzip", CodedBodies.gzip), ("zstd", CodedBodies.zstd)]
            where Self.isOffered(coding) {
                for segments in [[bytes + bytes], [bytes, bytes], [bytes + bytes.prefix(1), bytes.dropFirst()]] {
                    let head =
                        "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(2 * bytes.count)\r\n\r\n"
                    server.script("/x", .raw([Data(head.utf8)] + segments.map { Data($0) }))
                    let answer = try await transport.fetch(request(server.url("/x")))
                    #expect(answer.sink.body == CodedBodies.text + CodedBodies.text, "\(coding)")
                }
                server.script("/x", answer(bytes + bytes.prefix(20), coding))
                #expect(await transport.failure(request(server.url("/x"))).code == .truncated)
            }
        }
    }

    @Test func garbageAfterTheEndIsNotDecoded() async throws {
        try await withTransport { transport, server in
            for (coding, bytes) in CodedBodies.all where Self.isOffered(coding) {
                for garbage in ["g", "garbage", "\0\0\0\0\0\0\0\0"]
                where bytes != CodedBodies.rawDeflate || garbage != "g" {
                    server.script("/x", answer(bytes + Data(garbage.utf8), coding))
                    let error = await transport.failure(request(server.url("/x")))
                    #expect(error.code == .contentDecodingFailed, "\(coding): \(error)")
                    #expect(error.native?.number == 61)
                }
            }
        }
    }

    @Test func nestedContentCodingsAreDecoded() async throws {
        try await withTransport { transport, server in
            let twice = CodedBodies.zstd(of: CodedBodies.gzip)
            guard Self.isOffered("zstd") else { return }
            server.script("/x", answer(twice, "gzip, zstd"))
            let got2 = try await transport.fetch(request(server.url("/x")))
            #expect(got2.sink.body == CodedBodies.text)
            server.script("/x", answer(CodedBodies.zstd(of: CodedBodies.gzip.dropLast(4)), "gzip, zstd"))
            #expect(await transport.failure(request(server.url("/x"))).code == .truncated)
            server.script("/x", answer(CodedBodies.gzip, "gzip, identity"))
            let got3 = try await transport.fetch(request(server.url("/x")))
            #expect(got3.sink.body == CodedBodies.text)
        }
    }

    @Test(arguments: ["lzma", "gzip, gzip, gzip, gzip, gzip, gzip"])
    func unsupportedContentCodingIsAnError(_ coding: String) async throws {
        try await withTransport { transport, server in
            server.script("/x", answer(CodedBodies.gzip, coding))
            #expect(await transport.failure(request(server.url("/x"))).code == .contentDecodingFailed)
        }
    }

    @Test func unrequestedTransferCodingIsRefusedOrDecoded() async throws {
        try await withTransport { transport, server in
            let coded = CodedBodies.gzip
            let head =
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n\(String(coded.count, radix: 16))\r\n"
            server.script("/x", .raw([Data(head.utf8) + coded + Data("\r\n0\r\n\r\n".utf8)]))
            // libcurl from 8.14 on refuses transfer codings that it did not ask for. libcurl 8.5 to 8.13 garbles them,
            // so the engine refuses them. With an older libcurl the engine undoes them.
            if Capabilities.ofLibcurl.isAtLeast(8, 5, 0) {
                let sink = CollectingSink()
                #expect(await transport.failure(request(server.url("/x")), sink).code == .contentDecodingFailed)
                #expect(sink.body.isEmpty)
            } else {
                let whole = try await transport.fetch(request(server.url("/x")))
                #expect(whole.sink.body == CodedBodies.text)
            }
        }
    }

    /// Each pause interrupts a chunk of libcurl, which then passes the chunk again.
    @Test func pausesInTheMiddleLoseNothingAndRepeatNothing() async throws {
        try await withTransport { transport, server in
            let pattern = TestServer.patternBytes(count: 900_000)
            let bytes = try #require(CodedBodies.gzip(of: pattern))
            server.script("/x", answer(bytes, "gzip"))
            let sink = CollectingSink()
            sink.state.withLock { $0.bodyAnswers = (0..<120).map { $0.isMultiple(of: 3) ? .pause : .proceed } }
            sink.observe { event in
                guard event == .body, let control = sink.control else { return }
                Task { control.resumeReceiving() }
            }
            let answer = try await transport.fetch(request(server.url("/x")), sink)
            #expect(answer.sink.body == pattern)
            #expect(answer.sink.state.withLock { $0.chunks } > 10)
        }
    }

    @Test func acceptEncodingListsSupportedCodings() async throws {
        try await withTransport { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            let offered = server.requests.first?.headers["Accept-Encoding"]
            let names = ["deflate", "gzip"] + ["br", "zstd"].filter { Self.isOffered($0) }
            #expect(offered == names.joined(separator: ", "))
        }
    }
}
