internal import CurlewCore
internal import Foundation

extension StandardRoutes {
    /// Bodies sent piece by piece. `delay` is the pause between pieces, in seconds.
    static let streams: [Entry] = [
        Entry("/stream/{count}") { request in
            try counted(request, type: "application/json", every: .zero) { index, count in
                JSONText.echo(request).adding([("id", .number(String(index)))]).text + (index < count - 1 ? "\n" : "")
            }
        },
        Entry("/payloads/{count}") { request in
            try counted(request, type: "application/octet-stream", every: .milliseconds(1)) { _, _ in
                JSONText.echo(request).text
            }
        },
        Entry("/ndjson/{count}") { request in
            try counted(request, type: "application/x-ndjson", every: .zero) { index, _ in
                JSONText.object([("id", .number(String(index)))]).text + "\n"
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
            var response = TestServer.Response.json(JSONText.echo(request))
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
