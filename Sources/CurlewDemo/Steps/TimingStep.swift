internal import Curlew
internal import CurlewTesting
internal import Foundation

enum TimingStep: DemoStep {
    static let title = "Where the time went"
    static let file = #filePath

    static func run(on stage: Stage) async throws {
        stage.server.script(
            "/slow", TestServer.Response.bytes(200_000).delayed(by: .milliseconds(300)).throttled(to: 500_000))
        let server = stage.server.url("")
        // show
        let session = Session()
        let response = await session.request("\(server)/slow").response()
        guard let metrics = response.metrics else { throw DemoFailure(description: "no metrics") }
        let marks = [
            ("lookup", metrics.nameLookupEnded), ("connect", metrics.connected), ("send", metrics.requestSent),
            ("wait", metrics.firstByte), ("receive", metrics.ended),
        ]
        // end
        var before = metrics.queued
        let total = metrics.duration
        for (name, mark) in marks {
            guard let mark else { throw DemoFailure(description: "\(name) was not measured") }
            let start = Int(before.timeIntervalSince(metrics.queued) / total * 50)
            let length = max(1, Int((mark.timeIntervalSince(before) / total * 50).rounded()))
            let bar =
                String(repeating: " ", count: min(49, start))
                + String(repeating: "█", count: min(length, 50 - min(49, start)))
            let time = String(format: "%6.1f ms", mark.timeIntervalSince(before) * 1000)
            stage.say(name.padding(toLength: 8, withPad: " ", startingAt: 0) + time + "  " + bar)
            before = mark
        }
        try expect(response.error == nil && response.value??.count == 200_000, "the answer was not complete")
        try expect(total > 0.6, "it cannot have taken \(total) s only")
        stage.worked(
            "\(metrics.httpVersion?.rawValue ?? "?") to \(metrics.remoteAddress ?? "?"), \(metrics.bytesReceived) bytes on the wire"
        )
    }
}
