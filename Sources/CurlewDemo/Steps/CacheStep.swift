internal import Curlew
internal import CurlewTesting
internal import Foundation

enum CacheStep: DemoStep {
    static let title = "A cache: what was fetched is served again, and a crowd sends one request"
    static let file = #filePath

    static func run(on stage: Stage) async throws {
        stage.server.route("/catalogue") { request in
            let isKnown = request.headers["If-None-Match"] == "\"v1\""
            let response = isKnown ? TestServer.Response.status(304) : .text("plovers and curlews")
            return response.header("Cache-Control", "max-age=60").header("ETag", "\"v1\"")
        }
        let gate = Gate()
        stage.server.route("/crowd") { _ in
            .text("one for all").header("Cache-Control", "max-age=60").stalling(until: gate, at: .beforeHead)
        }
        let server = stage.server.url("")
        func requests(for path: String) -> Int { stage.server.requests.count { $0.path == path } }
        // show
        let cache = ResponseCache()
        let session = Session(configuration: SessionConfiguration { $0.cache = cache })
        let first = await session.request("\(server)/catalogue").response()
        let second = await session.request("\(server)/catalogue").response()
        let third = await session.request("\(server)/catalogue").cachePolicy(.revalidate).response()
        for response in [first, second, third] { stage.say("\(response.cacheStatus ?? .miss)") }
        // end
        try expect(first.cacheStatus == .miss, "the first came from \(String(describing: first.cacheStatus))")
        try expect(second.cacheStatus == .hit, "the second came from \(String(describing: second.cacheStatus))")
        try expect(third.cacheStatus == .revalidated, "the third came from \(String(describing: third.cacheStatus))")
        try expect(third.data == first.data && second.data == first.data, "they differ")
        try expect(requests(for: "/catalogue") == 2, "\(requests(for: "/catalogue")) requests were sent")
        let crowd = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await session.request("\(server)/crowd").string() } }
            try await gate.waitForArrivals(count: 1)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        try expect(crowd == Array(repeating: "one for all", count: 50), "not all of the crowd got it")
        try expect(requests(for: "/crowd") == 1, "the crowd sent \(requests(for: "/crowd")) requests")
        stage.worked("3 answers from 2 requests, 50 more at once from 1")
        await session.invalidate()
    }
}
