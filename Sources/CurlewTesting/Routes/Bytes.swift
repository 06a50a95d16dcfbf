internal import CurlewCore
internal import Foundation

extension StandardRoutes {
    /// Bodies of a given size. Except for `/drip`, `seed` selects the bytes and `rate` limits the bytes per second.
    static let bytes: [Entry] = [
        Entry("/bytes/{count}") { request in
            try counted(request) { .bytes(Int64($0), seed: $1) }
        },
        Entry("/stream-bytes/{count}") { request in
            try counted(request) { count, seed in
                streamed(count, seed, portion: max(1, request.number("chunk_size") ?? 10_240))
            }
        },
        Entry("/chunked/{count}") { request in
            // Each byte is one chunk.
            try counted(request, upTo: StandardRoutes.largestCount) { count, seed in
                let data = TestServer.patternBytes(count: count, seed: seed)
                return TestServer.Response(
                    headers: ["Content-Type": "application/octet-stream"],
                    body: .chunks(data.map { Data([$0]) }, every: .milliseconds(1))
                )
            }
        },
        Entry("/drip") { request in
            let count = try request.count("numbytes", default: 10)
            let duration = try request.seconds("duration") ?? .seconds(2)
            let pieces = (0..<count).map { _ in Data("*".utf8) }
            var response = TestServer.Response(
                status: request.number("code") ?? 200,
                headers: ["Content-Type": "application/octet-stream", "Content-Length": String(count)],
                body: .chunks(pieces, every: count > 1 ? duration / (count - 1) : .zero)
            )
            response.framing = .asIs
            return response.delayed(by: try request.seconds("delay") ?? .zero)
        },
    ]

    private static func counted(
        _ request: TestServer.Request,
        upTo limit: Int = StandardRoutes.largestBody,
        _ make: (_ count: Int, _ seed: UInt64) -> TestServer.Response
    ) throws(StandardRoutes.OutOfBounds) -> TestServer.Response {
        let count = try request.count("count", upTo: limit)
        let seed = UInt64(clamping: request.number("seed") ?? 0)
        return make(count, seed).changed { $0.sendRate = request.number("rate") }
    }

    private static func streamed(_ count: Int, _ seed: UInt64, portion: Int) -> TestServer.Response {
        TestServer.Response(
            headers: ["Content-Type": "application/octet-stream"],
            body: .generated(length: nil) { offset, most in
                let left = min(Int64(count) - offset, Int64(min(most, portion)))
                return TestServer.patternBytes(from: offset, count: Int(left), seed: seed)
            }
        )
    }
}
