import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import Curlew

@Suite("The delivery of a response") struct ResponseDeliveryTests {
    @Test("a network exchange that is attached to a suspended delivery is suspended")
    func attachingWhileSuspended() {
        let (delivery, network) = (ResponseDelivery(), FakeNetwork())
        delivery.suspend()
        delivery.attach(network)
        #expect(network.isSuspended)
        delivery.resume()
        #expect(!network.isSuspended)
    }

    @Test("a resume during the call that suspends the network is passed on after that call")
    func resumingWhileSuspending() {
        let (delivery, network) = (ResponseDelivery(), FakeNetwork())
        delivery.suspend()
        // Another thread resumes after `attach` has decided to suspend the network and before it does so.
        network.beforeSuspending.withLock { $0 = { delivery.resume() } }
        delivery.attach(network)
        #expect(!network.isSuspended)
    }

    @Test("the last of many concurrent suspensions and resumptions counts")
    func concurrentCommands() async {
        for _ in 0..<200 {
            let (delivery, network) = (ResponseDelivery(), FakeNetwork())
            await withTaskGroup(of: Void.self) { group in
                group.addTask { delivery.attach(network) }
                for _ in 0..<2 {
                    group.addTask {
                        for _ in 0..<20 {
                            delivery.suspend()
                            delivery.resume()
                        }
                    }
                }
            }
            #expect(!network.isSuspended)
            delivery.suspend()
            #expect(network.isSuspended)
        }
    }

    @Test("a network exchange that is attached to a cancelled delivery is cancelled")
    func attachingAfterCancellation() {
        let (delivery, network) = (ResponseDelivery(), FakeNetwork())
        delivery.cancel(with: CurlewError(.cancelled, phase: .waiting))
        delivery.attach(network)
        #expect(network.ending?.code == .cancelled)
    }
}

private final class FakeNetwork: TransferControl {
    private let state = Lock((isSuspended: false, ending: CurlewError?.none))
    /// Called once, before the first suspension.
    let beforeSuspending = Lock<(@Sendable () -> Void)?>(nil)

    var isSuspended: Bool { state.withLock { $0.isSuspended } }
    var ending: CurlewError? { state.withLock { $0.ending } }

    func resumeReceiving() {}
    func suspend() {
        beforeSuspending.withLock { exchange(&$0, with: nil) }?()
        state.withLock { $0.isSuspended = true }
    }
    func resume() { state.withLock { $0.isSuspended = false } }
    func cancel(with error: CurlewError) { state.withLock { $0.ending = error } }
}
