#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The events that every request has. A monitor that does nothing with one of them shows that when it gets the first;
/// what no monitor does anything with is not built any more.
package struct UsualEvents: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    static let madeInitialRequest = UsualEvents(rawValue: 1 << 0)
    static let adaptedRequest = UsualEvents(rawValue: 1 << 1)
    static let madeRequest = UsualEvents(rawValue: 1 << 2)
    static let madeTask = UsualEvents(rawValue: 1 << 3)
    static let resumed = UsualEvents(rawValue: 1 << 4)
    static let resumedTask = UsualEvents(rawValue: 1 << 5)
    static let collectedMetrics = UsualEvents(rawValue: 1 << 6)
    static let gatheredMetrics = UsualEvents(rawValue: 1 << 7)
    static let endedExchange = UsualEvents(rawValue: 1 << 8)
    static let completedTask = UsualEvents(rawValue: 1 << 9)
    static let finished = UsualEvents(rawValue: 1 << 10)
    /// Only where there is a cache.
    package static let storedResponses = UsualEvents(rawValue: 1 << 13)

    /// The two that are dear to tell (`MonitorHub.Dear`): of these it is known for each monitor whether it listens.
    package static let heads = UsualEvents(rawValue: 1 << 11)
    package static let bodies = UsualEvents(rawValue: 1 << 12)

    static let everything = UsualEvents(rawValue: .max)
    /// Those that show a `URLRequest`, also where no adapter does.
    static let requests: UsualEvents = [.madeInitialRequest, .madeRequest]
}

/// Finds out whether a monitor does something with an event: where it does not, the event's default implementation
/// is called, and says so to the trial of its thread. Another event's default does not count, nor does that of another
/// type, which a monitor calls to pass its events on.
package struct EventTrial {
    private let usual: UsualEvents
    private var passed: ObjectIdentifier?

    /// Whether `event` reached nothing but its default for this type.
    static func passes(_ type: any EventMonitor.Type, _ usual: UsualEvents, _ event: () -> Void) -> Bool {
        let outer = pthread_getspecific(key)
        defer { pthread_setspecific(key, outer) }
        var trial = EventTrial(usual: usual)
        withUnsafeMutablePointer(to: &trial) { place in
            // SAFETY: the place outlives `event`, which is over when this closure ends; only this thread finds it.
            _ = pthread_setspecific(key, place)
            event()
        }
        return trial.passed == ObjectIdentifier(type)
    }

    /// This event's default implementation was called.
    package static func pass(_ type: any EventMonitor.Type, _ usual: UsualEvents) {
        guard let place = pthread_getspecific(key) else { return }
        // SAFETY: see `passes`, which alone writes the key.
        let trial = place.assumingMemoryBound(to: EventTrial.self)
        if trial.pointee.usual == usual { trial.pointee.passed = ObjectIdentifier(type) }
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        precondition(code == 0, "pthread_key_create failed: \(code)")
        return key
    }()
}
