import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("The time that recording a body takes", .timeLimit(.minutes(4)))
struct HARRecorderTimingTests {
    @Test("recording a body does not take quadratic time in its length")
    func pieces() throws {
        let session = Session(transport: MockTransport())
        let request = session.request("https://example.org/")
        let sent = try URLRequest(url: "https://example.org/", method: .get)
        let task = TaskIdentifier(rawValue: 1)
        let piece = Data(repeating: 0x61, count: 16 * 1024)
        func time(_ count: Int) -> Duration {
            ProcessorTime.ofFastestRound {
                let recorder = HARRecorder(maximumBodySize: .max)
                recorder.request(request, didCreateURLRequest: sent)
                recorder.request(request, didChangeTask: task, to: .resumed)
                return recorder
            } _: { recorder in
                for _ in 0..<count { recorder.request(request, task: task, didReceive: piece) }
            }
        }
        let (few, many) = (time(50), time(500))
        #expect(many < few * 25, "\(few) for 50 pieces, \(many) for 500")
    }
}
