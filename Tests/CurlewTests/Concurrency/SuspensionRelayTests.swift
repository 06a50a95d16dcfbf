import CurlewCore
import CurlewLocks
import Testing

@testable import Curlew

/// The calls to a transfer's control, by thread. A step is one acquisition of the owner's lock; any other thread may
/// take a step between two steps of a thread.
@Suite struct SuspensionRelayTests {
    enum Step: Sendable {
        case suspend, resume
        /// Another control replaces the current one.
        case attach
        /// The transfer has ended.
        case detach
        /// A thread asks what to call, for the first time since its `suspend` or `resume`.
        case ask(Character)
        /// The call that a thread was given has returned, and it asks again.
        case returned(Character)
    }

    /// The letter of a thread, and the call that it is given: `+` to suspend, `-` to resume, `.` for none.
    static let interleavings: [(name: String, steps: [Step], calls: String)] = [
        ("nothing to tell", [.attach, .ask("a")], "a."),
        ("no control yet", [.suspend, .ask("a")], "a."),
        ("a control that starts late", [.suspend, .ask("a"), .attach, .ask("b"), .returned("b")], "a. b+ b."),
        ("told once", [.attach, .suspend, .ask("a"), .returned("a"), .ask("b")], "a+ a. b."),
        (
            "resumed while it is told to suspend",
            [.attach, .suspend, .ask("a"), .resume, .ask("b"), .returned("a"), .returned("a")], "a+ b. a- a."
        ),
        (
            "resumed after the call and before the thread asks again",
            [.attach, .suspend, .ask("a"), .returned("a"), .resume, .ask("b"), .returned("b")], "a+ a. b- b."
        ),
        ("suspended and resumed before anyone asks", [.attach, .suspend, .resume, .ask("a"), .ask("b")], "a. b."),
        (
            "suspended, resumed and suspended during one call",
            [.attach, .suspend, .ask("a"), .resume, .ask("b"), .suspend, .ask("c"), .returned("a")], "a+ b. c. a."
        ),
        (
            "the order is that of the lock, not that of the threads",
            [.attach, .suspend, .resume, .suspend, .ask("c"), .ask("b"), .returned("c"), .ask("a")], "c+ b. c. a."
        ),
        (
            "a control that is replaced during a call",
            [.attach, .suspend, .ask("a"), .attach, .ask("b"), .returned("a"), .resume, .ask("c"), .returned("b")],
            "a+ b+ a. c. b-"
        ),
        (
            "the call of a replaced control returns first, and does not free the next one",
            [.attach, .suspend, .ask("a"), .attach, .ask("b"), .resume, .returned("a"), .returned("b")], "a+ b+ a. b-"
        ),
        (
            "the end during a call",
            [.attach, .suspend, .ask("a"), .detach, .resume, .returned("a"), .ask("b")], "a+ a. b."
        ),
        (
            "a new control is not suspended although the former one was",
            [.attach, .suspend, .ask("a"), .returned("a"), .resume, .attach, .ask("b")], "a+ a. b."
        ),
    ]

    @Test("one thread at a time passes on the latest state", arguments: interleavings)
    func interleavedThreads(_ name: String, _ steps: [Step], _ calls: String) {
        var relay = SuspensionRelay()
        var isSuspended = false
        var made: [Character: SuspensionRelay.Call] = [:]
        var seen: [String] = []
        for step in steps {
            switch step {
            case .suspend: isSuspended = true
            case .resume: isSuspended = false
            case .attach: _ = relay.attach(NoControl())
            case .detach: _ = relay.attach(nil)
            case .ask(let thread), .returned(let thread):
                var done: SuspensionRelay.Call?
                if case .returned = step { done = made.removeValue(forKey: thread) }
                let call = relay.next(after: done, isSuspended: isSuspended)
                made[thread] = call
                seen.append("\(thread)" + (call.map { $0.isSuspending ? "+" : "-" } ?? "."))
            }
        }
        #expect(seen.joined(separator: " ") == calls, "\(name)")
    }

    @Test("a call is made to the control that was attached last")
    func replacedControls() {
        var relay = SuspensionRelay()
        let (first, second) = (NoControl(), NoControl())
        #expect(relay.attach(first) == nil)
        let former = relay.next(after: nil, isSuspended: true)
        #expect(former?.control === first)
        #expect(relay.attach(second) === first)
        let latter = relay.next(after: nil, isSuspended: true)
        #expect(latter?.control === second)
        #expect(relay.next(after: former, isSuspended: false) == nil)
        #expect(relay.next(after: latter, isSuspended: false)?.control === second)
    }

    /// The control of each exchange gets the latest state, whichever thread has set it.
    @Test("every one of several controls gets the latest state")
    func severalControls() async {
        for _ in 0..<100 {
            let (controls, first, late) = (CombinedControl(), HeardControl(), HeardControl())
            controls.add(first, for: 0)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { controls.add(late, for: 1) }
                for _ in 0..<2 {
                    group.addTask {
                        for _ in 0..<20 {
                            controls.suspend()
                            controls.resume()
                        }
                    }
                }
            }
            #expect(!first.isSuspended && !late.isSuspended)
            controls.suspend()
            #expect(first.isSuspended && late.isSuspended)
        }
    }

    @Test("a control that is added after the cancellation is cancelled")
    func addingAfterCancellation() {
        let (controls, control) = (CombinedControl(), HeardControl())
        controls.suspend()
        controls.cancel(with: .cancelled)
        controls.add(control, for: 0)
        #expect(control.ending?.code == .cancelled)
        #expect(!control.isSuspended)
    }
}

private final class HeardControl: TransferControl {
    private let state = Lock((isSuspended: false, ending: CurlewError?.none))

    var isSuspended: Bool { state.withLock { $0.isSuspended } }
    var ending: CurlewError? { state.withLock { $0.ending } }

    func resumeReceiving() {}
    func suspend() { state.withLock { $0.isSuspended = true } }
    func resume() { state.withLock { $0.isSuspended = false } }
    func cancel(with error: CurlewError) { state.withLock { $0.ending = error } }
}
