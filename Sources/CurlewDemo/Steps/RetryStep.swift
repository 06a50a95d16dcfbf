internal import Curlew
internal import CurlewTesting
internal import Foundation

enum RetryStep: DemoStep {
    static let title = "A busy server says when to come again"
    static let file = #filePath

    static func run(on stage: Stage) async throws {
        stage.server.script(
            "/busy",
            .status(503, headers: ["Retry-After": "1"]),
            .status(503, headers: ["Retry-After": "1"]),
            .text("at last")
        )
        let server = stage.server.url("")
        let began = ContinuousClock.now
        // show
        let session = Session(interceptor: RetryPolicy(retryLimit: 3))
        let request = session.request("\(server)/busy")
        let text = try await request.string()
        // end
        let waited = ContinuousClock.now - began
        try expect(text == "at last", "the answer was \(text)")
        try expect(request.retryCount == 2, "it took \(request.retryCount) retries")
        try expect(waited >= .seconds(2), "it waited \(waited) only")
        stage.worked("'\(text)' after \(request.retryCount) retries and \(waited.components.seconds) s of Retry-After")
    }
}
