import Synchronization
import Tracing

/// A tracer that keeps every span, and propagates identifiers in the field `traceparent`.
final class RecordingTracer: Tracer {
    private let kept = Mutex<[RecordingSpan]>([])

    var spans: [RecordingSpan] { kept.withLock(\.self) }
    var finished: [RecordingSpan] { spans.filter(\.hasEnded) }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> RecordingSpan {
        kept.withLock { kept in
            let parent = context()
            let span = RecordingSpan("\(kept.count + 1)", operationName, kind, parent)
            kept.append(span)
            return span
        }
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        if let id = context[SpanID.self] { injector.inject(id, forKey: "traceparent", into: &carrier) }
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}
}

enum SpanID: ServiceContextKey {
    typealias Value = String
}

final class RecordingSpan: Span {
    struct State {
        var name: String
        var attributes = SpanAttributes([:])
        var status: SpanStatus?
        var errors = 0
        var ends: [UInt64] = []
    }

    let id: String
    let kind: SpanKind
    let parentID: String?
    let context: ServiceContext
    private let state: Mutex<State>

    init(_ id: String, _ name: String, _ kind: SpanKind, _ parent: ServiceContext) {
        var context = parent
        context[SpanID.self] = id
        (self.id, self.kind, self.context, parentID) = (id, kind, context, parent[SpanID.self])
        state = Mutex(State(name: name))
    }

    var operationName: String {
        get { state.withLock(\.name) }
        set { state.withLock { $0.name = newValue } }
    }
    var attributes: SpanAttributes {
        get { state.withLock(\.attributes) }
        set { state.withLock { $0.attributes = newValue } }
    }
    var isRecording: Bool { true }
    var status: SpanStatus? { state.withLock(\.status) }
    var errorCount: Int { state.withLock(\.errors) }
    var hasEnded: Bool { state.withLock { !$0.ends.isEmpty } }
    var endCount: Int { state.withLock(\.ends.count) }

    /// The attributes as text, to compare.
    var texts: [String: String] {
        var texts: [String: String] = [:]
        attributes.forEach { name, value in
            switch value {
            case .string(let text): texts[name] = text
            case .int64(let number): texts[name] = String(number)
            default: texts[name] = "another type"
            }
        }
        return texts
    }

    func setStatus(_ status: SpanStatus) { state.withLock { $0.status = status } }
    func addEvent(_ event: SpanEvent) {}
    func addLink(_ link: SpanLink) {}
    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) { state.withLock { $0.errors += 1 } }
    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let nanoseconds = instant().nanosecondsSinceEpoch
        state.withLock { $0.ends.append(nanoseconds) }
    }
}
