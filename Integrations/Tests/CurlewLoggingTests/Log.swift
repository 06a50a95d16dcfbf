import CurlewTesting
import Logging
import Synchronization

/// Records the lines of its loggers.
final class Log: Sendable {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: [String: String]
        let source: String
    }

    private let recorded = Mutex<[Line]>([])
    private let (written, writing) = AsyncStream.makeStream(of: Line.self)

    var lines: [Line] { recorded.withLock(\.self) }

    /// Returns the first line as soon as there is one.
    func firstLine() async throws -> Line {
        for await line in written { return line }
        throw CancellationError()
    }

    func logger(
        at level: Logger.Level, metadata: Logger.Metadata = [:], provider: Logger.MetadataProvider? = nil
    ) -> Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self, metadataProvider: provider) }
        logger.logLevel = level
        for (key, value) in metadata { logger[metadataKey: key] = value }
        return logger
    }

    private struct Handler: LogHandler {
        let log: Log
        var metadataProvider: Logger.MetadataProvider?
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            var texts: [String: String] = [:]
            for (key, value) in metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }) {
                if case .string(let text) = value { texts[key] = text }
            }
            let line = Line(
                level: event.level, message: event.message.description, metadata: texts, source: event.source)
            log.recorded.withLock { $0.append(line) }
            log.writing.yield(line)
        }
    }
}
