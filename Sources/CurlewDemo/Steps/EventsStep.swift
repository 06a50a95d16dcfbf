internal import Curlew
internal import CurlewTesting
internal import Foundation

enum EventsStep: DemoStep {
    static let title = "Server-sent events as an async sequence"
    static let file = #filePath

    static func run(on stage: Stage) async throws {
        let server = stage.server.url("")
        var seen: [String] = []
        // show
        let session = Session()
        for try await event in session.streamRequest("\(server)/sse?count=100&delay=0.1").events {
            stage.say("event \(event.id ?? "?"): \(event.data)")
            seen.append(event.data)
            if seen.count == 5 { break }  // leaving the loop ends the transfer
        }
        // end
        try expect(seen == (0..<5).map { "{\"id\": \($0)}" }, "the events were \(seen)")
        await session.drain()
        stage.worked("\(seen.count) events, and the connection is closed")
    }
}
