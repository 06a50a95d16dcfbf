import Testing

@testable import Curlew

@Suite("Waiting for the network", .timeLimit(.minutes(4)))
struct OfflineRetrierTests {
    static let cases: [([NetworkReachabilityStatus], NetworkReachabilityStatus.ConnectionType?, Bool)] = [
        ([.notReachable, .reachable(.ethernetOrWiFi)], nil, true),
        ([.notReachable, .notReachable, .reachable(.cellular)], nil, true),
        // The network is reachable, so the failure has another reason.
        ([.reachable(.ethernetOrWiFi)], nil, false),
        ([.notReachable], nil, false),
        ([], nil, false),
        ([.reachable(.cellular), .reachable(.ethernetOrWiFi)], .ethernetOrWiFi, true),
        ([.notReachable, .reachable(.cellular)], .ethernetOrWiFi, false),
    ]

    @Test(arguments: cases)
    func requiredNetworkDecidesWhetherToRetry(
        statuses: [NetworkReachabilityStatus],
        required: NetworkReachabilityStatus.ConnectionType?,
        retries: Bool
    ) async {
        let (stream, continuation) = AsyncStream.makeStream(of: NetworkReachabilityStatus.self)
        for status in statuses { continuation.yield(status) }
        continuation.finish()
        let retrier = OfflineRetrier(maximumWait: .seconds(30), requiredConnection: required)
        #expect(await retrier.networkCameBack(stream) == retries)
    }

    @Test func `the wait has an end`() async {
        let (stream, continuation) = AsyncStream.makeStream(of: NetworkReachabilityStatus.self)
        continuation.yield(.notReachable)
        #expect(await OfflineRetrier(maximumWait: .milliseconds(5)).networkCameBack(stream) == false)
    }

    @Test(arguments: [
        (CurlewError.Code.resolveFailed, true), (.connectFailed, true), (.connectTimedOut, true),
        (.unacceptableStatus, false), (.tlsFailed, false), (.cancelled, false), (.receiveFailed, false),
    ])
    func `only errors that a missing network explains are waited for`(code: CurlewError.Code, waits: Bool) {
        #expect(OfflineRetrier.mayBeOffline(CurlewError(code, phase: .connect)) == waits)
    }
}
