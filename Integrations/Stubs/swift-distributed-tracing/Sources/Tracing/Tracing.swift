// A stand-in for apple/swift-distributed-tracing: the part of its API that CurlewTracing and its tests use.

@_exported public import ServiceContextModule

public protocol Injector: Sendable {
    associatedtype Carrier: Sendable
    func inject(_ value: String, forKey key: String, into carrier: inout Carrier)
}

public protocol Extractor: Sendable {
    associatedtype Carrier: Sendable
    func extract(key: String, from carrier: Carrier) -> String?
}

public protocol Instrument: Sendable {
    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract)
    where Extract.Carrier == Carrier
    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject) where Inject.Carrier == Carrier
}

public protocol TracerInstant: Comparable, Hashable, Sendable {
    var nanosecondsSinceEpoch: UInt64 { get }
}

public struct DefaultTracerClock {
    public struct Timestamp: TracerInstant {
        public let nanosecondsSinceEpoch: UInt64
        public init(nanosecondsSinceEpoch: UInt64) { self.nanosecondsSinceEpoch = nanosecondsSinceEpoch }
        public static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanosecondsSinceEpoch < rhs.nanosecondsSinceEpoch }
    }
    public static var now: Timestamp { Timestamp(nanosecondsSinceEpoch: 1) }
}

public protocol LegacyTracer: Instrument {
    func forceFlush()
}

public protocol Tracer: LegacyTracer {
    associatedtype Span: Tracing.Span
    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> Span
}

extension Tracer {
    public func startSpan(
        _ operationName: String, context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
        ofKind kind: SpanKind = .internal, function: String = #function, file fileID: String = #fileID,
        line: UInt = #line
    ) -> Span {
        startSpan(
            operationName, context: context(), ofKind: kind, at: DefaultTracerClock.now, function: function,
            file: fileID,
            line: line)
    }
}

public enum SpanKind: Sendable { case server, client, producer, consumer, `internal` }

public struct SpanStatus: Equatable, Sendable {
    public enum Code: Sendable { case ok, error }
    public let code: Code
    public let message: String?
    public init(code: Code, message: String? = nil) { (self.code, self.message) = (code, message) }
}

public protocol SpanAttributeConvertible { func toSpanAttribute() -> SpanAttribute }
public enum SpanAttribute: Equatable, Sendable { case string(String), int64(Int64), bool(Bool) }
extension String: SpanAttributeConvertible { public func toSpanAttribute() -> SpanAttribute { .string(self) } }
extension Int: SpanAttributeConvertible { public func toSpanAttribute() -> SpanAttribute { .int64(Int64(self)) } }

public struct SpanAttributes: Equatable, Sendable {
    private var values: [String: SpanAttribute] = [:]
    public init(_ attributes: [String: SpanAttribute]) { values = attributes }
    public subscript(name: String) -> (any SpanAttributeConvertible)? {
        get { nil }
        set { values[name] = newValue?.toSpanAttribute() }
    }
    public func get(_ name: String) -> SpanAttribute? { values[name] }
    public func forEach(_ body: (String, SpanAttribute) -> Void) { for (name, value) in values { body(name, value) } }
}

public struct SpanEvent: Equatable, Sendable {}
public struct SpanLink: Sendable {}

public protocol Span: Sendable {
    var context: ServiceContext { get }
    var operationName: String { get nonmutating set }
    var attributes: SpanAttributes { get nonmutating set }
    var isRecording: Bool { get }
    func setStatus(_ status: SpanStatus)
    func addEvent(_ event: SpanEvent)
    func addLink(_ link: SpanLink)
    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant)
    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant)
}

extension Span {
    public func updateAttributes(_ update: (inout SpanAttributes) -> Void) {
        var attributes = self.attributes
        update(&attributes)
        self.attributes = attributes
    }
}

public enum InstrumentationSystem {
    public static var tracer: any Tracer { NoOpTracer() }
}

public func withSpan<T>(_ operationName: String, _ operation: (any Span) async throws -> T) async rethrows -> T {
    try await operation(NoOpTracer.NoOpSpan(context: .topLevel))
}

public struct NoOpTracer: Tracer {
    public typealias Span = NoOpSpan

    public init() {}
    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> NoOpSpan { NoOpSpan(context: context()) }
    public func forceFlush() {}
    public func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}
    public func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {}

    public struct NoOpSpan: Tracing.Span {
        public let context: ServiceContext
        public var operationName: String {
            get { "" }
            nonmutating set {}
        }
        public var attributes: SpanAttributes {
            get { SpanAttributes([:]) }
            nonmutating set {}
        }
        public var isRecording: Bool { false }
        public func setStatus(_ status: SpanStatus) {}
        public func addEvent(_ event: SpanEvent) {}
        public func addLink(_ link: SpanLink) {}
        public func recordError<Instant: TracerInstant>(
            _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
        ) {}
        public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {}
    }
}
