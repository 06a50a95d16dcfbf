import CurlewCore
import Foundation
import Testing

@testable import Curlew

@Suite("The phases of an archived exchange")
struct HARTimingsTests {
    @Test("an archived exchange has connection phases unless it reused a connection", arguments: [false, true])
    func connections(isReused: Bool) {
        func date(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }
        var metrics = TransferMetrics(queued: date(0), ended: date(32))
        (metrics.nameLookupEnded, metrics.connected, metrics.tlsEstablished) = (date(1), date(2), date(4))
        (metrics.requestSent, metrics.firstByte) = (date(8), date(16))
        metrics.isConnectionReused = isReused
        let timings = HARArchive.Timings(metrics)
        let shown = [timings.dns, timings.connect, timings.ssl, timings.send, timings.wait, timings.receive]
        #expect(timings.blocked == -1)
        #expect(shown == (isReused ? [-1, -1, -1, 8000, 8000, 16000] : [1000, 3000, 2000, 4000, 8000, 16000]))
    }

    @Test("the time before a second copy that has won is the time in which the exchange was blocked")
    func hedged() {
        func date(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }
        var metrics = TransferMetrics(queued: date(0), ended: date(34))
        (metrics.nameLookupEnded, metrics.connected, metrics.tlsEstablished) = (date(3), date(4), date(6))
        (metrics.requestSent, metrics.firstByte) = (date(10), date(18))
        metrics.hedge = Hedge(delay: .seconds(2), hasWon: true)
        let won = HARArchive.Timings(metrics)
        #expect([won.blocked, won.dns, won.connect, won.send, won.wait] == [2000, 1000, 3000, 4000, 8000])
        metrics.hedge = Hedge(delay: .seconds(2), hasWon: false)
        let lost = HARArchive.Timings(metrics)
        #expect(lost.blocked == -1 && lost.dns == 3000)
    }
}
