public import Curlew
internal import Dispatch
public import Logging

/// The levels and the metadata keys of a log.
public struct LogStyle: Sendable {
    /// The level of a line of `LogEventMonitor`. The default is the level of the same name.
    ///
    /// A service that logs every outgoing request at a lower level maps `.info` to `.debug`.
    public var level: @Sendable (LogEventMonitor.Level) -> Logger.Level = { level in
        switch level {
        case .debug: .debug
        case .info: .info
        case .warning: .warning
        case .error: .error
        }
    }
    /// The metadata keys.
    public var keys = Keys()

    /// Creates the default style.
    public init() {}

    /// The metadata keys of a log line. The defaults are OpenTelemetry's names of attributes, if there are any.
    public struct Keys: Sendable {
        /// The method.
        public var method = "http.request.method"
        /// The URL without user information and query values.
        public var url = "url.full"
        /// The status of the response.
        public var status = "http.response.status_code"
        /// The code of the error.
        public var error = "error.type"
        /// The number of the attempt, from 1.
        public var attempt = "curlew.attempt"
        /// The duration of the exchange in milliseconds.
        public var milliseconds = "curlew.milliseconds"
        /// The identifier of the exchange.
        public var task = "curlew.task"
        /// The name of a field that was dropped.
        public var field = "curlew.field"
        /// Whether the second copy of a hedged exchange has `won` or `lost`.
        public var hedge = "curlew.hedge"
        /// The reason of a decision of the session's resilience.
        public var reason = "curlew.reason"

        /// Creates the default keys.
        public init() {}

        fileprivate func key(of field: String) -> String {
            switch field {
            case "method": method
            case "url": url
            case "status": status
            case "code": error
            case "attempt": attempt
            case "milliseconds": milliseconds
            case "task": task
            case "field": self.field
            case "hedge": hedge
            case "reason": reason
            default: "curlew.\(field)"
            }
        }
    }

    /// Returns a monitor that writes to `logger`. Lines that the logger would drop are not built.
    func monitor(writingTo logger: Logger, on queue: DispatchQueue) -> LogEventMonitor {
        let wanted = [LogEventMonitor.Level.debug, .info, .warning].first { level($0) >= logger.logLevel } ?? .error
        return LogEventMonitor(minimumLevel: wanted, queue: queue) { [self] level, message, fields in
            var metadata: Logger.Metadata = [:]
            for (name, value) in fields { metadata[keys.key(of: name)] = .string(value) }
            logger.log(level: self.level(level), "\(message)", metadata: metadata, source: "Curlew")
        }
    }
}

extension Logger {
    /// Returns the logger with what its metadata provider returns in the current task. Lines are written in another task,
    /// where the provider would not find the task-local values that it reads.
    func bindingProvidedMetadata() -> Logger {
        guard let provided = metadataProvider?.get(), !provided.isEmpty else { return self }
        var logger = self
        for (key, value) in provided { logger[metadataKey: key] = value }
        return logger
    }
}
