import CurlewCore
import Testing

@Suite("Segment plan", .timeLimit(.minutes(4)))
struct SegmentPlanTests {
    static let validator = EntityValidator.entityTag("\"v1\"")

    @Test(
        "a file is divided into parts that cover it once",
        arguments: [
            // total, probed, count, minimum → lengths
            (1000, 0, 4, 1, [250, 250, 250, 250]), (1000, 100, 4, 1, [100, 225, 225, 225, 225]),
            (1003, 0, 4, 1, [251, 251, 251, 250]), (1000, 0, 4, 400, [500, 500]), (1000, 0, 4, 2000, [1000]),
            (1000, 1000, 4, 1, [1000]), (1000, 2000, 4, 1, [1000]), (3, 0, 8, 1, [1, 1, 1]), (0, 0, 4, 1, []),
            (10, 0, 0, 1, [10]), (10, 0, -3, 0, [10]), (10, 4, 1, 1, [4, 6]),
        ] as [(Int64, Int64, Int, Int64, [Int64])])
    func division(_ total: Int64, _ probed: Int64, _ count: Int, _ minimum: Int64, _ lengths: [Int64]) {
        let plan = SegmentPlan(validator: Self.validator, total: total, probed: probed, count: count, minimum: minimum)
        #expect(plan.segments.map(\.length) == lengths)
        var position: Int64 = 0
        for segment in plan.segments {
            #expect(segment.first == position)
            position = segment.end
        }
        #expect(position == total)
        #expect(plan.bytesWritten == 0)
    }

    @Test("the request of a segment asks for its missing bytes of the same version")
    func headers() {
        var plan = SegmentPlan(validator: Self.validator, total: 100, probed: 10, count: 2, minimum: 1)
        plan.wrote(10, inSegment: 0)
        plan.wrote(5, inSegment: 1)
        #expect(plan.headers(forSegment: 0) == nil)
        #expect(
            plan.headers(forSegment: 1) == [
                HTTPHeader(name: "Range", value: "bytes=15-54"), HTTPHeader(name: "If-Range", value: "\"v1\""),
                HTTPHeader(name: "Accept-Encoding", value: "identity"),
            ])
        #expect(plan.headers(forSegment: 2)?.first?.value == "bytes=55-99")
        #expect(plan.bytesWritten == 15)
        #expect(!plan.isComplete)
        plan.wrote(40, inSegment: 1)
        plan.wrote(99, inSegment: 2)
        #expect(plan.isComplete)
        #expect(plan.bytesWritten == 100)
        #expect(SegmentPlan.probeHeaders(length: 10).first?.value == "bytes=0-9")
    }

    struct Probe: Sendable {
        var status: Int
        var headers: HTTPHeaders
        var decision: SegmentPlan.ProbeDecision
    }

    @Test(
        "the response to the probe decides whether the file is divided",
        arguments: [
            Probe(
                status: 206, headers: ["Content-Range": "bytes 0-9/100", "ETag": "\"v1\""],
                decision: .divide(validator: validator, probed: 10, total: 100)),
            Probe(
                status: 206, headers: ["Content-Range": "bytes 0-4/5", "ETag": "\"v1\""],
                decision: .divide(validator: validator, probed: 5, total: 5)),
            Probe(status: 206, headers: ["Content-Range": "bytes 0-9/*", "ETag": "\"v1\""], decision: .startOver),
            Probe(status: 206, headers: ["Content-Range": "bytes 1-9/100", "ETag": "\"v1\""], decision: .startOver),
            Probe(status: 206, headers: ["Content-Range": "bytes 0-9/100"], decision: .startOver),
            Probe(status: 206, headers: ["Content-Range": "bytes 0-9/100", "ETag": "W/\"v1\""], decision: .startOver),
            Probe(
                status: 206,
                headers: ["Content-Range": "bytes 0-9/100", "ETag": "\"v1\"", "Content-Encoding": "gzip"],
                decision: .startOver), Probe(status: 206, headers: ["ETag": "\"v1\""], decision: .startOver),
            Probe(status: 200, headers: ["ETag": "\"v1\""], decision: .wholeFile),
            Probe(status: 200, headers: ["Content-Encoding": "gzip"], decision: .startOver),
            Probe(status: 416, headers: ["Content-Range": "bytes */0"], decision: .startOver),
            Probe(status: 404, headers: [:], decision: .errorPage),
            Probe(status: 503, headers: [:], decision: .errorPage),
        ])
    func probes(_ probe: Probe) {
        let head = ResponseHead(status: probe.status, headers: probe.headers)
        #expect(SegmentPlan.decision(forProbe: head) == probe.decision)
    }

    @Test(
        "a response that is not the requested part of the same version restarts the download",
        arguments: [
            (206, ["Content-Range": "bytes 15-54/100"], SegmentPlan.SegmentDecision.write),
            (206, ["Content-Range": "bytes 15-54/100", "ETag": "\"v1\""], .write),
            (206, ["Content-Range": "bytes 15-30/100"], .write),
            (206, ["Content-Range": "bytes 15-55/100"], .startOver),
            (206, ["Content-Range": "bytes 14-54/100"], .startOver),
            (206, ["Content-Range": "bytes 15-54/101"], .startOver),
            (206, ["Content-Range": "bytes 15-54/*"], .startOver),
            (206, ["Content-Range": "bytes 15-54/100", "ETag": "\"v2\""], .startOver),
            (206, ["Content-Range": "bytes 15-54/100", "Content-Encoding": "gzip"], .startOver), (206, [:], .startOver),
            (200, [:], .startOver), (416, [:], .startOver), (503, [:], .errorPage), (404, [:], .errorPage),
        ] as [(Int, [String: String], SegmentPlan.SegmentDecision)])
    func answers(_ status: Int, _ headers: [String: String], _ decision: SegmentPlan.SegmentDecision) {
        var plan = SegmentPlan(validator: Self.validator, total: 100, probed: 10, count: 2, minimum: 1)
        plan.wrote(5, inSegment: 1)
        let head = ResponseHead(status: status, headers: HTTPHeaders(headers))
        #expect(plan.decision(for: head, segment: 1) == decision)
    }

    @Test("a plan continues existing segments, and can fetch the last byte again")
    func goesOn() {
        var plan = SegmentPlan(
            validator: .entityTag("\"a\""), total: 20,
            segments: [FileSegment(0..<10, written: 10), FileSegment(10..<20, written: 10)])
        #expect(plan.isComplete)
        plan.forgetLastByte()
        #expect(plan.bytesWritten == 19 && !plan.isComplete)
        var empty = SegmentPlan(validator: .entityTag("\"a\""), total: 20, segments: [FileSegment(0..<20)])
        empty.forgetLastByte()
        #expect(empty.bytesWritten == 0)
    }
}
