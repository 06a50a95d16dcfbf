import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite("Properties of a URLRequest", .timeLimit(.minutes(4)))
struct URLRequestPropertyTests {
    private func sentRequest(_ change: (inout URLRequest) -> Void) async throws -> MockRequest {
        var request = URLRequest(url: try #require(URL(string: "https://example.com")))
        change(&request)
        let transport = MockTransport { _ in .text("") }
        _ = try await Session(transport: transport).request(request).data()
        return try #require(transport.requests.first)
    }

    @Test(
        "cache policies become Cache-Control and Pragma fields",
        arguments: [
            (URLRequest.CachePolicy.useProtocolCachePolicy, nil, nil),
            (.reloadIgnoringLocalCacheData, nil, nil),
            (.reloadIgnoringLocalAndRemoteCacheData, "no-cache", "no-cache"),
            (.reloadRevalidatingCacheData, "max-age=0", nil),
        ] as [(URLRequest.CachePolicy, String?, String?)])
    func cachePolicy(policy: URLRequest.CachePolicy, control: String?, pragma: String?) async throws {
        let sent = try await sentRequest { $0.cachePolicy = policy }
        #expect(sent.headers.value(for: "Cache-Control") == control)
        #expect(sent.headers.value(for: "Pragma") == pragma)
    }

    @Test("a user's Cache-Control field is kept, and a request that only a cache may answer is an error")
    func cacheExceptions() async throws {
        let sent = try await sentRequest {
            $0.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
            $0.setValue("no-store", forHTTPHeaderField: "Cache-Control")
        }
        #expect(sent.headers.value(for: "Cache-Control") == "no-store")
        let error = await #expect(throws: CurlewError.self) {
            _ = try await sentRequest { $0.cachePolicy = .returnCacheDataDontLoad }
        }
        #expect(error?.code == .notInCache)
    }

    @Test(
        "service types become traffic classes and priorities",
        arguments: [
            (URLRequest.NetworkServiceType.default, TrafficClass.normal, nil),
            (.background, .background, "u=6"), (.video, .video, "u=2, i"), (.voice, .voice, "u=1"),
            (.networkServiceTypeCallSignaling, .signalling, "u=1"),
        ] as [(URLRequest.NetworkServiceType, TrafficClass, String?)])
    func serviceType(type: URLRequest.NetworkServiceType, traffic: TrafficClass, priority: String?) async throws {
        let sent = try await sentRequest { $0.networkServiceType = type }
        #expect(sent.transfer.options.trafficClass == traffic)
        #expect(sent.headers.value(for: "Priority") == priority)
    }

    @Test("timeoutInterval sets the first-byte and idle timeouts, and multiplexing can be turned off")
    func others() async throws {
        let sent = try await sentRequest { $0.timeoutInterval = 7 }
        #expect(sent.transfer.options.timeouts.firstByte == .seconds(7))
        #expect(sent.transfer.options.timeouts.idle == .seconds(7))
        #expect(sent.transfer.options.multiplexes)
        let transport = MockTransport { _ in .text("") }
        let session = Session(transport: transport)
        _ = try await session.request("https://example.com").multiplexing(false).data()
        #expect(transport.requests.first?.transfer.options.multiplexes == false)
    }
}
