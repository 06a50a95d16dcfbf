import CurlewAFNetworking
import CurlewTesting
import Foundation
import Testing

@Suite("Header fields that change while a session runs", .timeLimit(.minutes(4)))
struct RuntimeHeadersTests {
    private func session(_ fields: RuntimeHeaders, _ transport: MockTransport) -> Session {
        Session(
            configuration: SessionConfiguration {
                $0.runtimeHeaders = fields
                $0.headers = ["X-A": "configured", "X-B": "configured"]
            },
            transport: transport
        )
    }

    @Test("runtime headers override the session's headers and are overridden by the request's own")
    func order() async throws {
        let fields = RuntimeHeaders(["x-a": "runtime"])
        let transport = MockTransport { request in
            .text(["X-A", "X-B", "X-C"].map { request.headers.value(for: $0) ?? "-" }.joined(separator: " "))
        }
        let session = session(fields, transport)
        let url = "https://example.com"
        #expect(try await session.request(url).string() == "runtime configured -")
        #expect(try await session.request(url, headers: ["X-A": "own"]).string() == "own configured -")
        fields["X-C"] = "new"
        #expect(try await session.request(url).string() == "runtime configured new")
        fields["X-A"] = nil
        fields.change {
            $0.remove(name: "X-C")
            $0.add(name: "X-B", value: "both")
        }
        #expect(try await session.request(url).string() == "configured both -")
        #expect(fields["X-A"] == nil && fields["x-b"] == "both")
    }

    @Test("the transport gets the same object of headers until the fields change")
    func identity() async throws {
        let fields = RuntimeHeaders(["X-A": "1"])
        let transport = MockTransport { _ in .text("") }
        let session = session(fields, transport)
        for _ in 0..<2 { _ = try await session.request("https://example.com").data() }
        fields["X-A"] = "2"
        _ = try await session.request("https://example.com").data()
        let objects = transport.requests.map(\.transfer.defaultHeaders)
        #expect(objects[0] === objects[1] && objects[1] !== objects[2])
    }

    @Test("runtime headers for one origin are not sent to another, also after a redirect")
    func origin() async throws {
        let fields = RuntimeHeaders(onlyFor: URL(string: "https://example.com"))
        fields.setAuthorization(bearerToken: "secret")
        let transport = MockTransport { request in
            request.path == "/away"
                ? MockResponse(status: 302, headers: ["Location": "https://other.org/"])
                : .text(request.headers.value(for: "Authorization") ?? "-")
        }
        let session = session(fields, transport)
        #expect(try await session.request("https://example.com/").string() == "Bearer secret")
        #expect(try await session.request("https://other.org/").string() == "-")
        #expect(try await session.request("https://example.com/away").string() == "-")
        #expect(try await session.request("http://example.com/").string() == "-", "another scheme is another origin")
    }

    @Test("runtime headers may be changed from many threads")
    func threads() async {
        let fields = RuntimeHeaders()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for step in 0..<200 {
                        fields["X-\(worker)"] = "\(step)"
                        _ = fields.headers
                        fields.setAuthorization(username: "\(worker)", password: "\(step)")
                        if step % 3 == 0 { fields.clearAuthorization() }
                    }
                }
            }
        }
        for worker in 0..<8 { #expect(fields["X-\(worker)"] == "199") }
    }
}
