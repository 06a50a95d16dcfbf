import Testing

@testable import Curlew

struct SessionStateTests {
    @Test func sessionClosesOnlyOnce() {
        var machine = SessionLifecycle()
        #expect(machine.takesRequests)
        machine.drainBegan()
        #expect(machine.state == .draining && !machine.takesRequests)
        let closings = [machine.closed(), machine.closed()]
        #expect(closings == [true, false])
        machine.drainBegan()
        #expect(machine.state == .closed && !machine.takesRequests)
    }
}
