import AsyncHTTPClient
import BenchmarkSupport
import Foundation
import NIOCore
import NIOFoundationCompat

/// AsyncHTTPClient over NIO's event loops, one for each core, used as its documentation says.
struct AsyncHTTPClientClient: Client {
    static var name: String { "asynchttpclient" }

    private let options: Options
    private let tally: Tally
    private let client: HTTPClient

    init(options: Options, tally: Tally) throws {
        self.options = options
        self.tally = tally
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = options.usesHTTP2 ? .automatic : .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            options.connections ?? options.inFlight
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func run(_ url: URL, number: Int) async throws {
        var request = HTTPClientRequest(url: url.absoluteString)
        if options.closes { request.headers.add(name: "Connection", value: "close") }
        switch options.mode {
        case .get, .hold: tally.add(bytes: try await body(of: request).readableBytes)
        case .json: _ = try JSONDecoder().decode([Item].self, from: try await body(of: request))
        case .download:
            let response = try await client.execute(request, timeout: .minutes(2))
            try expectSuccess(response)
            for try await chunk in response.body { tally.add(bytes: chunk.readableBytes) }
        case .upload:
            guard let file = options.file else { throw UnexpectedAnswer("no file") }
            let chunks = try FileChunks(file)
            request.method = .PUT
            request.body = .stream(chunks, length: .known(Int64(chunks.size)))
            try expectSuccess(try await client.execute(request, timeout: .minutes(2)))
            tally.add(bytes: chunks.size)
        case .multipart: throw UnexpectedAnswer("it has no forms")
        }
    }

    private func body(of request: HTTPClientRequest) async throws -> ByteBuffer {
        let response = try await client.execute(request, timeout: .minutes(2))
        try expectSuccess(response)
        return try await response.body.collect(upTo: 16 << 20)
    }

    private func expectSuccess(_ response: HTTPClientResponse) throws {
        guard (200..<300).contains(response.status.code) else { throw UnexpectedAnswer("\(response.status)") }
    }
}

/// A file in buffers of 256 KiB, each read when the client asks for it.
struct FileChunks: AsyncSequence, Sendable {
    let file: URL
    let size: Int

    init(_ file: URL) throws {
        self.file = file
        size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int ?? 0
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let handle: FileHandle?

        mutating func next() async throws -> ByteBuffer? {
            guard let data = try handle?.read(upToCount: 256 << 10), !data.isEmpty else { return nil }
            return ByteBuffer(data: data)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(handle: try? FileHandle(forReadingFrom: file)) }
}

@main
struct Main {
    static func main() { measure(AsyncHTTPClientClient.self) }
}
