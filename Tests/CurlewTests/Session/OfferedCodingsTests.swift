import Curlew
import CurlewAFNetworking
import CurlewTesting
import Foundation
import Testing

@Suite("Codings that a session offers", .timeLimit(.minutes(4)))
struct OfferedCodingsTests {
    private static func exchange(
        _ configure: (inout SessionConfiguration) -> Void, path: String = "/gzip"
    ) async throws -> (offer: String?, body: Data) {
        let server = try await TestServer.start()
        let session = Session(configuration: SessionConfiguration(configure))
        let body = try await session.request(server.url(path)).data()
        let offer = server.requests.first?.headers["Accept-Encoding"]
        await session.invalidate()
        server.stop()
        return (offer, body)
    }

    @Test("by default a session offers all supported codings, with Alamofire's field at the beginning")
    func standard() async throws {
        let offer = try #require(try await Self.exchange { _ in }.offer)
        let names = offer.split(separator: ", ").map { String($0.prefix { $0 != ";" }) }
        #expect(Set(names) == Set(Capabilities.current.contentCodings))
        if Capabilities.current.contentCodings.contains("br") {
            #expect(offer.hasPrefix("br;q=1.0, gzip;q=0.9, deflate;q=0.8"))
        }
    }

    @Test("the configured acceptedEncodings are offered, and their bodies are decoded")
    func chosen() async throws {
        let exchange = try await Self.exchange { $0.acceptedEncodings = ["gzip"] }
        #expect(exchange.offer == "gzip")
        #expect(exchange.body.first == UInt8(ascii: "{"))
    }

    @Test("without accepted encodings the session offers none, and decodes no body")
    func none() async throws {
        let exchange = try await Self.exchange { $0.acceptedEncodings = [] }
        #expect(exchange.offer == nil)
        #expect(exchange.body.prefix(2) == Data([0x1F, 0x8B]))
    }

    @Test("a user's Accept-Encoding field is sent unchanged, and identity turns decoding off")
    func own() async throws {
        let own = try await Self.exchange {
            $0.headers["Accept-Encoding"] = "gzip;q=0.5"
            $0.acceptedEncodings = ["deflate"]
        }
        #expect(own.offer == "gzip;q=0.5")
        #expect(own.body.first == UInt8(ascii: "{"))
        let identity = try await Self.exchange { $0.headers["Accept-Encoding"] = "identity" }
        #expect(identity.offer == "identity")
        #expect(identity.body.prefix(2) == Data([0x1F, 0x8B]))
        let runtime = RuntimeHeaders()
        runtime["Accept-Encoding"] = "Identity"
        let late = try await Self.exchange { $0.runtimeHeaders = runtime }
        #expect(late.offer == "Identity")
        #expect(late.body.prefix(2) == Data([0x1F, 0x8B]))
    }
}
