import Curlew
import CurlewTesting
import Foundation
import Testing

import struct CurlewAlamofire.DataStreamTask

/// Tests over sockets, for the bytes that the pipeline sends and receives.
@Suite(.timeLimit(.minutes(4)))
struct WireTests {
    @Test func credentialsInTheURLBecomeBasicAuthentication() async throws {
        let server = try TestServer()
        server.route("/private") { request in
            .text(request.headers["Authorization"] ?? "none")
        }
        let url = server.url("/private").absoluteString.replacingOccurrences(of: "http://", with: "http://me:p%40ss@")
        let request = Session().request(url)
        #expect(try await request.string() == "Basic " + Data("me:p@ss".utf8).base64EncodedString())
        #expect(!request.description.contains("p%40ss"))
        #expect(!request.cURLDescription().contains("p%40ss"))
    }

    @Test func refusedConnectionHasErrorCodeAndMetrics() async throws {
        let response = await Session().request("http://127.0.0.1:1/").response()
        #expect(response.error?.code == .connectFailed)
        #expect(response.metrics != nil)
    }

    @Test func progressEndsAtOne() async throws {
        let server = try TestServer()
        server.route("/bytes") { _ in .data(Data(count: 300_000)) }
        let request = Session().request(server.url("/bytes"))
        let stream = request.downloadProgress(bufferingPolicy: .unbounded)
        async let fractions = stream.reduce(into: [Double]()) { $0.append($1.fractionCompleted) }
        _ = try await request.data()
        let seen = await fractions
        #expect(seen.last == 1)
        #expect(seen == seen.sorted())
        #expect(request.downloadProgress.fractionCompleted == 1)
    }

    @Test func onHTTPResponseDecidesAboutTheBody() async throws {
        let server = try TestServer()
        server.route("/bytes") { _ in .data(Data(count: 100_000)) }
        let session = Session()
        let allowed = session.request(server.url("/bytes")).onHTTPResponse { _, answer in answer(.allow) }
        #expect(try await allowed.data().count == 100_000)
        let refused = session.request(server.url("/bytes")).onHTTPResponse { _, answer in answer(.cancel) }
        #expect(await refused.response().error?.code == .cancelled)
    }

    @Test func formsAreStreamedWithTheirLength() async throws {
        let server = try TestServer()
        server.route("/form", methods: [.post]) { request in
            .text("\(request.headers["Content-Length"] ?? "-") \(request.headers["Transfer-Encoding"] ?? "-")")
        }
        let request = Session().upload(
            multipartFormData: { $0.append(Data("Ada".utf8), withName: "name") },
            to: server.url("/form")
        )
        let answer = try await request.string()
        #expect(answer.hasSuffix(" -"))
        #expect((Int(answer.split(separator: " ")[0]) ?? 0) > 3)
    }
}
