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

extension StandardRoutes {
    /// Bodies sent piece by piece. `delay` is the pause between pieces, in seconds.
    static let streams: [Entry] = [
        Entry("/stream/{count}") { request in
            try counted(request, type: "application/json", every: .zero) { index, count in
                JSONValue.echo(request).adding([("id", .number(String(index)))]).text + (index < count - 1 ? "\n" : "")
            }
        },
        Entry("/payloads/{count}") { request in
            try counted(request, type: "application/octet-stream", every: .milliseconds(1)) { _, _ in
                JSONValue.echo(request).text
            }
        },
        Entry("/ndjson/{count}") { request in
            try counted(request, type: "application/x-ndjson", every: .zero) { index, _ in
                JSONValue.object([("id", .number(String(index)))]).text + "\n"
            }
        },
        Entry("/sse") { request in
            let count = try request.count("count", default: 10)
            // A client that reconnects sends the last event that it has received.
            let first = request.headers["Last-Event-ID"].flatMap { Int($0) }.map { $0 == .max ? $0 : $0 + 1 } ?? 0
            var pieces = (min(first, count)..<count).map { index in
                let name = request.queryValue("event").map { "event: \($0)\n" } ?? ""
                return Data("id: \(index)\n\(name)data: {\"id\": \(index)}\n\n".utf8)
            }
            if let retry = request.number("retry") { pieces.insert(Data("retry: \(retry)\n\n".utf8), at: 0) }
            return TestServer.Response(
                headers: ["Content-Type": "text/event-stream", "Cache-Control": "no-cache"],
                body: .chunks(pieces, every: try request.seconds("delay") ?? .zero)
            )
        },
        Entry("/trailers", ["GET", "POST"]) { request in
            var response = TestServer.Response.json(JSONValue.echo(request))
            response.framing = .chunked
            for pair in request.query {
                let field = HTTPHeader(name: pair.name, value: pair.value)
                guard field.isValid else { return .text("not a header field\n", status: 400) }
                response.headers.append(name: "Trailer", value: pair.name)
                response.trailers.append(field)
            }
            return response
        },
    ]

    private static func counted(
        _ request: TestServer.Request,
        type: String,
        every pause: Duration,
        _ make: (_ index: Int, _ count: Int) -> String
    ) throws(StandardRoutes.OutOfBounds) -> TestServer.Response {
        let count = try request.count("count")
        return TestServer.Response(
            headers: ["Content-Type": type],
            body: .chunks(
                (0..<count).map { Data(make($0, count).utf8) },
                every: try request.seconds("delay") ?? pause
            )
        )
    }
}
