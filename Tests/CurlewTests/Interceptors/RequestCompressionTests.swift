import CurlewTesting
import Foundation
import Testing

import struct CurlewAlamofire.DeflateRequestCompressor

@testable import Curlew

@Suite(.timeLimit(.minutes(4)))
struct RequestCompressionTests {
    private func adapted(_ request: URLRequest, by adapter: any RequestInterceptor) async throws -> URLRequest {
        try await adapter.adapt(
            request, using: RequestAdapterState(requestID: UUID(), session: Session(transport: MockTransport())))
    }

    private func post(_ body: Data?, headers: HTTPHeaders = [:]) throws -> URLRequest {
        var request = try URLRequest(url: "https://example.com/", method: .post, headers: headers)
        request.httpBody = body
        return request
    }

    private func python(_ expression: String, _ data: Data) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", "import sys,zlib,gzip;sys.stdout.buffer.write(\(expression))"]
        // The input is a file, because writing to a pipe without a reader raises SIGPIPE.
        let scratch = try ScratchDirectory()
        let input = try FileHandle(forReadingFrom: scratch.write("input", data))
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        defer {
            // Foundation's `Process` retains itself and its files.
            try? input.close()
            try? output.fileHandleForReading.close()
        }
        try process.run()
        let result = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return result
    }

    @Test(arguments: [0, 1, 5, 100_000])
    func deflateCompressorCompressesTheBody(size: Int) async throws {
        let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let request = try await adapted(post(body, headers: ["Content-Length": "\(size)"]), by: .deflateCompressor)
        let compressed = try #require(request.httpBody)
        #expect(compressed.prefix(2) == Data([0x78, 0x5E]))
        #expect(request.headers["Content-Encoding"] == "deflate")
        #expect(request.headers["Content-Length"] == nil)
        #expect(try python("zlib.decompress(sys.stdin.buffer.read())", compressed) == body)
    }

    @Test func gzipCompressorCompressesTheBody() async throws {
        let body = Data(repeating: 7, count: 10_000)
        let request = try await adapted(post(body), by: .gzipCompressor)
        let compressed = try #require(request.httpBody)
        #expect(compressed.count < 100)
        #expect(compressed.prefix(2) == Data([0x1F, 0x8B]))
        #expect(request.headers["Content-Encoding"] == "gzip")
        #expect(try python("gzip.decompress(sys.stdin.buffer.read())", compressed) == body)
    }

    @Test func duplicateContentEncodingIsHandledAsConfigured() async throws {
        let request = try post(Data("x".utf8), headers: ["Content-Encoding": "br"])
        await #expect(throws: DeflateRequestCompressor.DuplicateHeaderError.self) {
            try await adapted(request, by: .deflateCompressor)
        }
        #expect(try await adapted(request, by: .deflateCompressor(duplicateHeaderBehavior: .skip)) == request)
        let replaced = try await adapted(request, by: .deflateCompressor(duplicateHeaderBehavior: .replace))
        #expect(replaced.headers["Content-Encoding"] == "deflate")
    }

    @Test func missingOrUnwantedBodyIsNotCompressed() async throws {
        let without = try post(nil)
        #expect(try await adapted(without, by: .deflateCompressor) == without)
        let small = try post(Data("x".utf8))
        let choosy = DeflateRequestCompressor(shouldCompressBodyData: { $0.count > 10 })
        #expect(try await adapted(small, by: choosy) == small)
    }
}
