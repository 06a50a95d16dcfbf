internal import Curlew
internal import Dispatch

/// Logs every step of an exchange on standard error (`--debug`).
struct DebugLog: Sendable {
    let monitors: [any EventMonitor]
    private let queue = DispatchQueue(label: "curlew.debug")

    init(_ invocation: Invocation, context: ToolContext) {
        guard invocation.isDebugging else {
            monitors = []
            return
        }
        let errors = context.errors
        monitors = [
            LogEventMonitor(minimumLevel: .debug, queue: queue) { _, message, fields in
                let details = fields.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
                try? errors.write(DebugText.line(([message] + details).joined(separator: " ")))
            }
        ]
    }

    /// Returns when all events so far have been written.
    func flush() async {
        guard !monitors.isEmpty else { return }
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}
