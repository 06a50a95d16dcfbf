internal import Foundation

/// Runs a command that sends requests: an exchange, a WebSocket, or downloads.
struct RequestCommand: Sendable {
    let invocation: Invocation
    let context: ToolContext

    init(_ invocation: Invocation, context: ToolContext) {
        self.invocation = invocation
        self.context = context
    }

    func run() async throws -> ExitStatus {
        if invocation.download != nil, invocation.output.mode == .send {
            return try await DownloadRun(invocation: invocation, context: context).run()
        }
        let preparation = try Preparation(invocation, context: context)
        if invocation.isWebSocket { return try await WebSocketRun(preparation: preparation, context: context).run() }
        let exchange = ExchangeRun(preparation: preparation, context: context)
        // Set up before the work begins, so that a request can be interrupted from the start.
        let interruption = await Interruption()
        defer { withExtendedLifetime(interruption) {} }
        let work = Task { try await exchange.run() }
        interruption.answer { work.cancel() }
        do {
            return try await work.value
        } catch {
            if work.isCancelled { throw ToolFailure.interrupted }
            throw error
        }
    }
}
