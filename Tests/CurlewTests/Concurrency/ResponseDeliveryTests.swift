import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import Curlew

/// The control that a reader holds while a cache is between it and the network.
@Suite struct ResponseDeliveryTests {
    @Test func theNetworkIsToldWhatCameBeforeIt() {
        let (exchange, network) = (ResponseDelivery(), FakeNetwork())
        exchange.suspend()
        exchange.attach(network)
        #expect(network.isSuspended)
        exchange.resume()
        #expect(!network.isSuspended)
    }

    @Test func whatComesWhileTheNetworkIsBeingToldIsToldAfterwards() {
        let (exchange, network) = (ResponseDelivery(), FakeNetwork())
        exchange.suspend()
        // Another thread resumes after `attach` has decided to suspend the network and before it does so.
        network.beforeSuspending.withLock { $0 = { exchange.resume() } }
        exchange.attach(network)
        #expect(!network.isSuspended)
    }

    @Test func theLastOfManyWordsCounts() async {
        for _ in 0..<200 {
            let (exchange, network) = (ResponseDelivery(), FakeNetwork())
            await withTaskGroup(of: Void.self) { group in
                group.addTask { exchange.attach(network) }
                for _ in 0..<2 {
                    group.addTask {
                        for _ in 0..<20 {
                            exchange.suspend()
                            exchange.resume()
                        }
                    }
                }
            }
            #expect(!network.isSuspended)
            exchange.suspend()
            #expect(network.isSuspended)
        }
    }

    @Test func anExchangeThatIsOverCancelsTheNetwork() {
        let (exchange, network) = (ResponseDelivery(), FakeNetwork())
        exchange.cancel(with: CurlewError(.cancelled, phase: .waiting))
        exchange.attach(network)
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
