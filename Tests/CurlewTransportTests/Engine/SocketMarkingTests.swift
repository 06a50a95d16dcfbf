import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Traffic classes of sockets")
struct SocketMarkingTests {
    @Test(arguments: [TrafficClass.normal, .background, .video, .voice, .signalling], [AF_INET, AF_INET6])
    func `the code point is on the socket`(traffic: TrafficClass, family: Int32) throws {
        let fd = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        try #require(fd >= 0)
        defer { close(fd) }
        SocketMarking.mark(fd, family: family, as: traffic)
        var value: Int32 = -1
        var size = socklen_t(MemoryLayout<Int32>.size)
        let (level, option) = family == AF_INET6 ? (Int32(IPPROTO_IPV6), IPV6_TCLASS) : (Int32(IPPROTO_IP), IP_TOS)
        #expect(getsockopt(fd, level, option, &value, &size) == 0)
        #expect(value == Int32(traffic.codePoint) << 2)
    }

    @Test func `a class has connections of its own`() throws {
        var request = TransferRequest(
            identifier: TaskIdentifier(rawValue: 1), url: try #require(URL(string: "https://example.com")))
        let planner = RequestPlanner(TransportConfiguration(), .ofLibcurl)
        let plain = try planner.plan(request, bodyLength: nil)
        request.options.trafficClass = .voice
        let voice = try planner.plan(request, bodyLength: nil)
        #expect(
            !plain.settings.contains { "\($0)".contains("FRESH") } && plain.settings.count + 2 == voice.settings.count)
        request.options.trafficClass = .normal
        #expect(try planner.plan(request, bodyLength: nil).settings == plain.settings)
    }
}
