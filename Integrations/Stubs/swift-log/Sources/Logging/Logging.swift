// A stand-in for apple/swift-log: the part of its API that CurlewLogging and its tests use.

public struct Logger: Sendable {
    public enum Level: String, Codable, CaseIterable, Comparable, Sendable {
        case trace, debug, info, notice, warning, error, critical

        public static func < (lhs: Level, rhs: Level) -> Bool {
            allCases.firstIndex(of: lhs)! < allCases.firstIndex(of: rhs)!
        }
    }

    public struct Message: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, Equatable, Sendable,
        CustomStringConvertible
    {
        public let description: String
        public init(stringLiteral value: String) { description = value }
    }

    public enum MetadataValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, Equatable, Sendable {
        case string(String)
        case stringConvertible(any CustomStringConvertible & Sendable)
        public init(stringLiteral value: String) { self = .string(value) }

        public static func == (lhs: Self, rhs: Self) -> Bool { lhs.text == rhs.text }
        private var text: String {
            switch self {
            case .string(let text): text
            case .stringConvertible(let value): value.description
            }
        }
    }

    public typealias Metadata = [String: MetadataValue]

    public struct MetadataProvider: Sendable {
        private let provide: @Sendable () -> Metadata
        public init(_ provideMetadata: @escaping @Sendable () -> Metadata) { provide = provideMetadata }
        public func get() -> Metadata { provide() }
    }

    @TaskLocal private static var bound: Logger?

    public let label: String
    public var handler: any LogHandler

    public init(label: String) { self.init(label: label) { _ in SilentHandler() } }
    public init(label: String, factory: (String) -> any LogHandler) {
        self.label = label
        handler = factory(label)
    }

    public static var current: Logger { bound ?? Logger(label: "") }
    public var metadataProvider: MetadataProvider? { handler.metadataProvider }
    public var logLevel: Level {
        get { handler.logLevel }
        set { handler.logLevel = newValue }
    }
    public subscript(metadataKey key: String) -> MetadataValue? {
        get { handler[metadataKey: key] }
        set { handler[metadataKey: key] = newValue }
    }

    public func log(
        level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil,
        source: @autoclosure () -> String? = nil, file: String = #fileID, function: String = #function,
        line: UInt = #line
    ) {
        guard level >= logLevel else { return }
        handler.log(event: LogEvent(level: level, message: message(), metadata: metadata(), source: source() ?? ""))
    }

    fileprivate static var binding: TaskLocal<Logger?> { $bound }
}

public struct LogEvent: Sendable {
    public var level: Logger.Level
    public var message: Logger.Message
    public var metadata: Logger.Metadata?
    public var source: String
}

public protocol LogHandler: Sendable {
    var metadataProvider: Logger.MetadataProvider? { get set }
    var metadata: Logger.Metadata { get set }
    var logLevel: Logger.Level { get set }
    subscript(metadataKey key: String) -> Logger.MetadataValue? { get set }
    func log(event: LogEvent)
}

public nonisolated(nonsending) func withLogger<Result>(
    _ logger: Logger, _ operation: nonisolated(nonsending) (Logger) async throws -> Result
) async rethrows -> Result {
    try await Logger.binding.withValue(logger) { try await operation(logger) }
}

private struct SilentHandler: LogHandler {
    var metadataProvider: Logger.MetadataProvider?
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info
    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {}
}
