import CurlewCore
import CurlewTesting
import Foundation
import Testing

@Suite("Errors for requests without a match", .timeLimit(.minutes(4)))
struct MissTests {
    private func reason(_ transport: some Transport, _ request: TransferRequest) async -> String {
        let error = await transport.result(of: request, sink: RecordingSink()).error
        #expect(error?.code == .unsupported)
        return error?.reason ?? ""
    }

    private func cassette(_ requests: Cassette.Request...) -> Cassette {
        Cassette(exchanges: requests.map { Cassette.Exchange(request: $0, response: Cassette.Response(status: 200)) })
    }

    @Test func missNamesTheQueryAndTheNearestRoutes() async throws {
        let mock = MockTransport()
        #expect(
            await reason(mock, .test("/wether?city=Oslo"))
                == "MockTransport has no answer for GET /wether?city=Oslo: it has no routes, and its queue is empty")
        mock.route("/a/very/long/route/{id}") { _ in .status(200) }
        mock.route("/wether", method: .post) { _ in .status(200) }
        mock.route("/weather") { _ in .status(200) }
        mock.route("/{any}/feather") { _ in .status(200) }
        #expect(
            await reason(mock, .test("/wether?city=Oslo"))
                == "MockTransport has no answer for GET /wether?city=Oslo; "
                + "nearest routes: POST /wether, any method /weather, any method /{any}/feather")
    }

    @Test func missShowsNoSecretsOfTheQuery() async throws {
        #expect(
            await reason(MockTransport(), .test("/a?access_token=s3cret&city=Oslo"))
                == "MockTransport has no answer for GET /a?access_token=<redacted>&city=Oslo: "
                + "it has no routes, and its queue is empty")
    }

    @Test func missListsDifferencesOfNearestRequests() async throws {
        let replay = ReplayTransport(
            cassette(
                Cassette.Request(method: "GET", url: "http://mock.test/weather?city=Bergen"),
                Cassette.Request(method: "POST", url: "http://mock.test/weather?city=Oslo"),
                Cassette.Request(method: "GET", url: "http://other.test/birds"),
                Cassette.Request(method: "GET", url: "http://mock.test/weather?city=Rome&token=<redacted>")
            ))
        #expect(
            await reason(replay, .test("/weather?city=Oslo"))
                == "the cassette has no exchange left for GET http://mock.test/weather?city=Oslo; nearest: "
                + "POST http://mock.test/weather?city=Oslo (method differs), "
                + "GET http://mock.test/weather?city=Bergen (query differs), "
                + "GET http://mock.test/weather?city=Rome&token=<redacted> (query differs)")
    }

    @Test func missNamesExchangesAlreadyUsed() async throws {
        let replay = ReplayTransport(cassette(Cassette.Request(method: "GET", url: "http://mock.test/a")))
        _ = try await replay.perform(.test("/a"), sink: RecordingSink())
        #expect(
            await reason(replay, .test("/a"))
                == "the cassette has no exchange left for GET http://mock.test/a; nearest: GET http://mock.test/a (used already)"
        )
        #expect(await reason(ReplayTransport(Cassette()), .test("/a")).hasSuffix("GET http://mock.test/a; it is empty"))
    }

    @Test(arguments: [
        (ReplayTransport.Matching.methodAndURL, "/a?x=1", true),
        (.methodAndURL, "/a?x=2", false),
        (.methodAndURL, "/b?x=1", false),
        (.methodAndURL.ignoring("x"), "/a?x=2", true),
        (.methodAndURL.ignoring("%78"), "/a?x=2", false),
        (.methodAndURL.ignoring("x"), "/a?%78=2", true),
        (.methodAndURL.ignoring("x"), "/a", true),
        (.methodAndURL.ignoring("x"), "/a?x=2&y=1", false),
        (ReplayTransport.Matching([.method, .path]), "/a?z=9", true),
        (ReplayTransport.Matching([]), "/anything", true),
        (.methodAndURL.adding(.header("accept")), "/a?x=1", false),
        (.methodAndURL.adding(.header("X-None")), "/a?x=1", true),
    ])
    func matchingComparesConfiguredParts(matching: ReplayTransport.Matching, path: String, fits: Bool) async throws {
        let recorded = Cassette.Request(
            method: "GET", url: "http://mock.test/a?x=1", headers: [.init("Accept", "text/plain")])
        let replay = ReplayTransport(cassette(recorded), matching: matching)
        let result = await replay.result(of: .test(path), sink: RecordingSink())
        #expect((result.error == nil) == fits)
    }

    @Test(arguments: [
        ("application/json", #"{"a":1,"b":[{"at":1}]}"#, #"{ "b" : [ { "at" : 2 } ], "a" : 1 }"#, true),
        ("application/json", #"{"a":1}"#, #"{"a":true}"#, false),
        ("application/json", "{not json", "{not json", true),
        ("application/json", "{not json", "{not", false),
        ("application/x-www-form-urlencoded", "a=1&at=5", "a=1&at=7", true),
        ("application/x-www-form-urlencoded", "a=1&at=5", "a=2&at=5", false),
        ("text/plain", "a=1&at=5", "a=1&at=7", false),
    ])
    func bodiesAreComparedByTheirMembers(type: String, recorded: String, sent: String, fits: Bool) async throws {
        let replay = ReplayTransport(
            cassette(
                Cassette.Request(
                    method: "POST", url: "http://mock.test/", headers: [.init("Content-Type", type)],
                    body: .text(recorded))),
            matching: .methodURLAndBody.ignoring("at"))
        var request = TransferRequest.test("/", method: .post, body: .data(Data(sent.utf8)))
        request.headers["Content-Type"] = type
        let result = await replay.result(of: request, sink: RecordingSink())
        #expect((result.error == nil) == fits)
    }
}
