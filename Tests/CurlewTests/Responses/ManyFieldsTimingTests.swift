import CurlewCore
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

/// A head may have as many fields as fit into `maximumHeaderSize`.
@Suite("A response with many header fields", .timeLimit(.minutes(4)))
struct ManyFieldsTimingTests {
    private func timeToLift(_ fields: [HTTPHeader]) -> Duration {
        let head = ResponseHead(status: 200, headers: HTTPHeaders(received: fields))
        return ProcessorTime.ofFastestRound({ LazyResponse(url: URL(filePath: "/"), head: head) }) { response in
            #expect(response.value?.headers.isEmpty == false)
        }
    }

    @Test(
        "a head is converted to an HTTPURLResponse without quadratic time in its fields",
        arguments: [false, true])
    func lifting(haveOneName: Bool) {
        let value = String(repeating: "v", count: 300)
        let fields = (0..<5_000).map { HTTPHeader(name: haveOneName ? "X-A" : "X-\($0 + 10_000)", value: value) }
        let (few, many) = (timeToLift(Array(fields.prefix(500))), timeToLift(fields))
        #expect(many < few * 25, "\(few) for 500, \(many) for 5 000")
    }

    @Test("a converted head keeps the first spelling of a name, and joins its values in order")
    func joining() throws {
        let fields = [("X-a", ""), ("x-B", "1"), ("X-A", "2"), ("x-a", "3")].map { HTTPHeader(name: $0, value: $1) }
        let head = ResponseHead(status: 200, headers: HTTPHeaders(received: fields))
        let lifted = try #require(LazyResponse(url: URL(filePath: "/"), head: head).value)
        #expect(lifted.allHeaderFields as? [String: String] == ["X-a": ", 2, 3", "x-B": "1"])
    }
}
