internal import Foundation

/// A command line that asks for something: one exchange, or downloads.
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
        let exchange = ExchangeRun(preparation: try Preparation(invocation, context: context), context: context)
        let work = Task { try await exchange.run() }
        let interruption = await Interruption { work.cancel() }
        defer { withExtendedLifetime(interruption) {} }
        do {
            return try await work.value
        } catch {
            if work.isCancelled { throw ToolFailure.interrupted }
            throw error
        }
    }
}
