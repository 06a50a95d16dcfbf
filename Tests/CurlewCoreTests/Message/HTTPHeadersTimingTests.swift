internal import CurlewCore
internal import CurlewTesting
internal import Testing

@Suite("Time for many header fields", .timeLimit(.minutes(4)))
struct HTTPHeadersTimingTests {
    private static func distinct(_ count: Int) -> [HTTPHeader] {
        (0..<count).map { HTTPHeader(name: "Name-\($0 + 10_000)", value: "\($0)") }
    }

    @Test("the time to make a list does not grow quadratically with its length")
    func making() {
        func time(_ count: Int) -> Duration {
            ProcessorTime.ofFastestRound({ Self.distinct(count) }) { #expect(HTTPHeaders($0).count == count) }
        }
        let (few, many) = (time(2_000), time(20_000))
        #expect(many < few * 25, "\(few) for 2 000, \(many) for 20 000")
    }

    @Test("the time to replace many fields by one does not grow quadratically with their number")
    func replacing() {
        func time(_ count: Int) -> Duration {
            let fields = (0..<count).map { HTTPHeader(name: "A", value: "\($0)") }
            return ProcessorTime.ofFastestRound({ HTTPHeaders(received: fields) }) { headers in
                headers.add(name: "a", value: "one")
                #expect(headers.map(\.description) == ["a: one"])
            }
        }
        let (few, many) = (time(2_000), time(20_000))
        #expect(many < few * 25, "\(few) for 2 000, \(many) for 20 000")
    }
}
