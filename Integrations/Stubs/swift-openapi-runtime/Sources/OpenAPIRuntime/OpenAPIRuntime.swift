// A stand-in for apple/swift-openapi-runtime: the part of its API that CurlewOpenAPI and its tests use.

public import Foundation
public import HTTPTypes

public protocol ClientTransport: Sendable {
    func send(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?)
}

public enum IterationBehavior: Sendable { case single, multiple }

public final class HTTPBody: AsyncSequence, Sendable {
    public typealias ByteChunk = ArraySlice<UInt8>
    public typealias Element = ByteChunk
    public enum Length: Sendable, Equatable { case unknown, known(Int64) }

    public let iterationBehavior: IterationBehavior
    public let length: Length
    private let makeNext: @Sendable () -> () async throws -> ByteChunk?

    public init<Bytes: AsyncSequence & Sendable>(
        _ sequence: Bytes, length: Length, iterationBehavior: IterationBehavior
    )
    where Bytes.Element == ByteChunk {
        self.length = length
        self.iterationBehavior = iterationBehavior
        makeNext = {
            var iterator = sequence.makeAsyncIterator()
            return { try await iterator.next() }
        }
    }

    public convenience init(_ bytes: ByteChunk) {
        self.init(
            AsyncStream<ByteChunk>.Once(bytes), length: .known(Int64(bytes.count)), iterationBehavior: .multiple)
    }
    public convenience init(_ data: Data) { self.init(ArraySlice(data)) }
    public convenience init(_ string: some StringProtocol & Sendable) { self.init(ArraySlice(string.utf8)) }

    public func makeAsyncIterator() -> Iterator { Iterator(produceNext: makeNext()) }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let produceNext: () async throws -> ByteChunk?
        public mutating func next() async throws -> ByteChunk? { try await produceNext() }
    }
}

extension AsyncStream where Element == HTTPBody.ByteChunk {
    /// A sequence of one chunk, which every iterator returns once.
    fileprivate struct Once: AsyncSequence, Sendable {
        let chunk: HTTPBody.ByteChunk
        init(_ chunk: HTTPBody.ByteChunk) { self.chunk = chunk }
        func makeAsyncIterator() -> AsyncStream<HTTPBody.ByteChunk>.Iterator {
            AsyncStream { continuation in
                continuation.yield(chunk)
                continuation.finish()
            }.makeAsyncIterator()
        }
    }
}

extension Array where Element == UInt8 {
    public init(collecting body: HTTPBody, upTo maxBytes: Int) async throws {
        self = []
        for try await chunk in body {
            guard count + chunk.count <= maxBytes else { throw CancellationError() }
            self += chunk
        }
    }
}

extension String {
    public init(collecting body: HTTPBody, upTo maxBytes: Int) async throws {
        self = try await String(decoding: [UInt8](collecting: body, upTo: maxBytes), as: UTF8.self)
    }
}
