import CurlewCore
import CurlewTesting
import Foundation
import Testing

@Suite("Cassettes", .timeLimit(.minutes(4)))
struct CassetteTests {
    @Test func replaysWhatItRecordedThroughAFile() async throws {
        let binary = Data([0xFF, 0x00, 0x80])
        let mock = MockTransport()
        mock.enqueue(
            .text("one").changed { $0.trailers = ["T": "v"] },
            .data(binary, status: 404),
            .failing(CurlewError(.connectFailed, phase: .connect, reason: "no way")),
            .text("cut").failing(with: CurlewError(.truncated, phase: .receive))
        )
        let recorder = RecordingTransport(mock)
        for path in ["/a", "/b", "/c", "/d"] {
            _ = await recorder.result(
                of: .test(path, method: .post, body: .data(Data("x".utf8))), sink: RecordingSink())
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "cassette-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try recorder.save(to: file)
        let replay = try ReplayTransport(file: file)
        #expect(try Cassette(file: file) == recorder.cassette)

        // Different requests may be replayed in any order.
        let (cut, second, first, failed) = (RecordingSink(), RecordingSink(), RecordingSink(), RecordingSink())
        #expect(await replay.result(of: .test("/d", method: .post), sink: cut).error?.code == .truncated)
        #expect(cut.taken == "cut")
        #expect(try await replay.perform(.test("/b", method: .post), sink: second).head.status == 404)
        let outcome = try await replay.perform(.test("/a", method: .post), sink: first)
        #expect(first.taken == "one")
        #expect(outcome.trailers["T"] == "v")
        #expect(outcome.head.headers["Content-Type"] == "text/plain; charset=utf-8")
        let error = await replay.result(of: .test("/c", method: .post), sink: failed).error
        #expect(error?.code == .connectFailed && error?.phase == .connect && error?.reason == "no way")
        #expect(failed.events == [.started])
        #expect(replay.unusedExchanges.isEmpty)
        #expect(await replay.result(of: .test("/a", method: .post), sink: RecordingSink()).error?.code == .unsupported)
    }

    @Test func cassetteContainsNoSecrets() async throws {
        let mock = MockTransport { _ in
            .json(["token": "s3cret", "name": "Ada"])
                .header("Set-Cookie", "sid=s3cret; Path=/; HttpOnly")
                .header("Location", "https://u:s3cret@x.test/?code=s3cret#access_token=s3cret&a=b")
        }
        let recorder = RecordingTransport(mock)
        var request = TransferRequest.test(
            "/login?api_key=s3cret&page=2",
            method: .post,
            body: .data(Data("user=ada&password=s3cret".utf8))
        )
        request.url = try #require(URL(string: "http://ada:s3cret@mock.test/login?api%5Fkey=s3cret&page=2"))
        request.headers = [
            "Authorization": "Bearer s3cret", "Cookie": "sid=s3cret; theme=s3cret",
            "Content-Type": "application/x-www-form-urlencoded",
        ]
        let sink = RecordingSink()
        _ = try await recorder.perform(request, sink: sink)
        // Only the recording is redacted: the server and the sink get the secrets.
        #expect(mock.requests.first?.bodyText == "user=ada&password=s3cret")
        #expect(sink.taken.contains("s3cret"))

        let text = String(decoding: try JSONEncoder().encode(recorder.cassette), as: UTF8.self)
        #expect(!text.contains("s3cret"), "\(text)")
        let exchange = try #require(recorder.cassette.exchanges.first)
        #expect(exchange.request.url == "http://mock.test/login?api%5Fkey=<redacted>&page=2")
        #expect(exchange.request.body == .text("user=ada&password=<redacted>"))
        #expect(exchange.response?.body == .text("{\"name\":\"Ada\",\"token\":\"<redacted>\"}"))
        let fields = HTTPHeaders(
            received: (exchange.response?.headers ?? []).map { HTTPHeader(name: $0.name, value: $0.value) })
        #expect(fields["Set-Cookie"] == "sid=<redacted>; Path=/; HttpOnly")
        #expect(fields["Location"] == "https://x.test/?code=<redacted>#access_token=<redacted>&a=b")

        // A request with another secret matches the recorded exchange.
        request.url = try #require(URL(string: "http://eve:other@mock.test/login?api%5Fkey=other&page=2"))
        let replay = ReplayTransport(recorder.cassette, matching: .methodURLAndBody)
        request.body = .data(Data("user=ada&password=other".utf8))
        #expect(try await replay.perform(request, sink: RecordingSink()).head.status == 200)
    }

    @Test func cassetteRedactsTheSameSecretsAsLogs() async throws {
        let mock = MockTransport { _ in
            .text(#"{"csrf_token":"s3cret","otp":123456,"deep":{"pwd":["s3cret",true]}}"#)
                .changed { $0.headers.add(name: "Content-Type", value: "application/json") }
        }
        let recorder = RecordingTransport(mock)
        var request = TransferRequest.test("/?jwt=s3cret&x=1")
        request.headers = ["X-Auth-Key": "s3cret", "X-Mine": "s3cret", "X-Bearer": "s3cret", "X-Other": "o"]
        var redaction = CassetteRedaction()
        redaction.headers.insert("x-mine")
        let naming = RecordingTransport(mock, redaction: redaction)
        _ = try await recorder.perform(request, sink: RecordingSink())
        _ = try await naming.perform(request, sink: RecordingSink())
        let exchange = try #require(recorder.cassette.exchanges.first)
        let fields = HTTPHeaders(received: exchange.request.headers.map { HTTPHeader(name: $0.name, value: $0.value) })
        #expect(fields["X-Auth-Key"] == "<redacted>" && fields["X-Bearer"] == "<redacted>" && fields["X-Other"] == "o")
        #expect(exchange.request.url.hasSuffix("/?jwt=<redacted>&x=1"))
        // Redacted values keep their JSON types, so that the recorded response can be decoded.
        #expect(
            exchange.response?.body
                == .text(#"{"csrf_token":"<redacted>","deep":{"pwd":["<redacted>",true]},"otp":0}"#))
        let text = String(decoding: try JSONEncoder().encode(naming.cassette), as: UTF8.self)
        #expect(!text.contains("s3cret"), "\(text)")
    }

    @Test(arguments: [
        // One JSON value per line.
        ("application/x-ndjson", "{\"token\":\"s3cret\"}\n{\"a\":1}\n", "{\"token\":\"<redacted>\"}\n{\"a\":1}\n"),
        // JSON that ends in the middle.
        ("application/json", "{\"token\":\"s3cret\",\"a\":[1", "{\"token\":\"<redacted>\",\"a\":[1"),
        ("application/json", "{\"a\":{\"password\":\n\"s3cr", "{\"a\":{\"password\":\n\"_\""),
        // A dictionary in Python's notation.
        ("application/json", "{'token': 's3cret', 'a': 1}", "{'token': '<redacted>', 'a': 1}"),
        (nil, " {\"pin\":\"s3cret\"}", "{\"pin\":\"<redacted>\"}"),
        (nil, "token=s3cret", "token=<redacted>"),
        ("application/json", "not json", "not json"),
    ])
    func secretsInMalformedJSONAreRedacted(type: String?, text: String, kept: String) {
        let headers = type.map { [Cassette.Field("Content-Type", $0)] } ?? []
        let exchange = Cassette.Exchange(
            request: Cassette.Request(method: "GET", url: "http://mock.test/"),
            response: Cassette.Response(status: 200, headers: headers, body: .text(text)))
        #expect(CassetteRedaction().redacted(exchange).response?.body == .text(kept))
    }

    @Test func fieldsWithURLsLoseTheirSecrets() {
        let fields = [
            Cassette.Field(
                "Link", "<https://u:s3cret@x.test/?token=s3cret&page=2>; rel=next,</?page=1&jwt=s3cret>; rel=x"),
            Cassette.Field("Refresh", "5; url=https://x.test/?token=s3cret&page=2"),
        ]
        let exchange = Cassette.Exchange(
            request: Cassette.Request(method: "GET", url: "http://mock.test/"),
            response: Cassette.Response(status: 200, headers: fields))
        let kept = CassetteRedaction().redacted(exchange).response?.headers.map(\.value)
        #expect(
            kept == [
                "<https://x.test/?token=<redacted>&page=2>; rel=next,</?page=1&jwt=<redacted>>; rel=x",
                "5; url=https://x.test/?token=<redacted>&page=2",
            ])
    }

    @Test func equalRequestsAreReplayedInOrderOrRepeatedly() async throws {
        let cassette = Cassette(
            exchanges: ["1", "2"].map {
                Cassette.Exchange(
                    request: Cassette.Request(method: "GET", url: "http://old.test:1/a?b=c"),
                    response: Cassette.Response(status: 200, body: .text($0))
                )
            }
        )
        func text(_ replay: ReplayTransport) async throws -> String {
            let sink = RecordingSink()
            _ = try await replay.perform(.test("/a?b=c"), sink: sink)
            return sink.taken
        }
        let once = ReplayTransport(cassette, matching: .methodAndTarget)
        #expect(try await text(once) == "1")
        #expect(try await text(once) == "2")
        let endless = ReplayTransport(cassette, matching: .methodAndTarget, isEndless: true)
        for _ in 0..<3 { #expect(try await text(endless) == "1") }
        let strict = ReplayTransport(cassette)
        #expect(await strict.result(of: .test("/a?b=c"), sink: RecordingSink()).error?.code == .unsupported)
    }

    @Test func deliveredResponseAndSentBodyAreRecorded() async throws {
        var redaction = CassetteRedaction()
        redaction.keepsOtherRequestBodies = true
        let recorder = RecordingTransport(
            MockTransport { _ in .chunks(["ab", "cd"].map { Data($0.utf8) }) }, redaction: redaction)
        let sink = RecordingSink([.proceed, .pause, .proceed])
        let body = PiecewiseBody(["x", nil, "yz"])
        async let outcome = recorder.perform(.test(method: .put, body: .stream(body)), sink: sink)
        try await eventually { sink.events.last == .body("ab") }
        sink.control?.resumeReceiving()
        _ = try await outcome
        let exchange = try #require(recorder.cassette.exchanges.first)
        #expect(exchange.request.body == .text("xyz"))
        #expect(exchange.response?.body == .text("abcd"))
        #expect(body.isClosed)
    }

    @Test func responseAboveBodyLimitIsNotRecorded() async throws {
        let recorder = RecordingTransport(MockTransport { _ in .text("abcdef") }, bodyLimit: 5)
        let sink = RecordingSink()
        _ = try await recorder.perform(.test(), sink: sink)
        #expect(sink.taken == "abcdef")
        #expect(recorder.cassette.exchanges.isEmpty)
        #expect(recorder.skippedCount == 1)
    }

    @Test(arguments: [Int.max, 6, 5]) func recordsAFileUpToTheLimit(limit: Int) async throws {
        let scratch = try ScratchDirectory()
        let file = try scratch.write("a", "abcdef")
        for range in [nil, 0..<6] as [Range<Int64>?] {
            var redaction = CassetteRedaction()
            redaction.keepsOtherRequestBodies = true
            let recorder = RecordingTransport(
                MockTransport { _ in .text("x") }, redaction: redaction, bodyLimit: limit)
            _ = try await recorder.perform(.test(method: .put, body: .file(file, range: range)), sink: RecordingSink())
            #expect(recorder.cassette.exchanges.map(\.request.body) == (limit < 6 ? [] : [.text("abcdef")]))
        }
    }

    @Test func doesNotRecordACancelledExchange() async throws {
        let mock = MockTransport { _ in .hanging }
        let recorder = RecordingTransport(mock)
        let task = Task { await recorder.result(of: .test(), sink: RecordingSink()) }
        try await mock.waitForRequests(count: 1)
        task.cancel()
        #expect(await task.value.error?.code == .cancelled)
        #expect(recorder.cassette.exchanges.isEmpty)
    }
}

@Suite("The time of redaction", .timeLimit(.minutes(4)))
struct CassetteTimingTests {
    @Test(
        "the time of redaction grows linearly with the length of a body",
        arguments: [
            ("text/xml", "<pin>", ["<pin'"], ""), ("text/xml", "<pin>", ["<pin'"], "'>"),
            ("text/xml", "<pin>", ["<pin'>"], ""), ("text/xml", "", ["<pin"], ">"),
            ("text/xml", "", ["<pin a=\"</pin>"], ""), ("text/xml", "<pin>", ["< "], ""),
            ("text/xml", "", ["<input name=pin value=x>"], ""),
            ("text/xml", "", ["<input name=pin value=x>"], "</input>"),
            ("application/graphql", "{", ["pin # "], "}"), ("application/graphql", "{", ["$pin: ["], "}"),
            ("text/plain", "", [" ", "a:1 "], ""), ("text/plain", "", ["- ", "pin:\n"], ""),
        ])
    func bodies(type: String, start: String, parts: [String], end: String) throws {
        var redaction = CassetteRedaction()
        redaction.keepsOtherRequestBodies = true
        func time(_ count: Int) throws -> Duration {
            let text = start + parts.map { String(repeating: $0, count: count) }.joined() + end
            let exchange = Cassette.Exchange(
                request: Cassette.Request(
                    method: "POST", url: "http://mock.test/", headers: [Cassette.Field("Content-Type", type)],
                    body: .text(text)))
            return try ProcessorTime.ofFastestRound({ exchange }) { exchange in
                exchange = redaction.redacted(exchange)
                let body = try #require(exchange.request.body)
                #expect(!body.data.isEmpty)
            }
        }
        let (few, many) = (try time(1_000), try time(10_000))
        #expect(many < few * 30, "\(few) for 1 000, \(many) for 10 000")
    }
}
