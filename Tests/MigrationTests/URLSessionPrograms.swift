import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

/// Programs written for `URLSession.shared`, with that name changed to `Session.default`.
@Suite(.timeLimit(.minutes(4)))
struct URLSessionPrograms {
    let server: TestServer

    init() throws { server = try TestServer() }

    // 41
    @Test func fetchesData() async throws {
        server.route("/item") { _ in .json(Item()) }
        let (data, response) = try await Session.default.data(from: server.url("/item"))
        guard let httpResponse = response as? HTTPURLResponse, (200...299).contains(httpResponse.statusCode) else {
            Issue.record("\(response)")
            return
        }
        #expect(try JSONDecoder().decode(Item.self, from: data) == Item())
        #expect(httpResponse.mimeType == "application/json")
    }

    // 42: an error status does not throw.
    @Test func readsTheBodyOfAnError() async throws {
        server.route("/taken") { _ in .text("name taken", status: 409) }
        var request = URLRequest(url: server.url("/taken"))
        request.httpMethod = "POST"
        request.httpBody = try JSONEncoder().encode(Item())
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let (data, response) = try await Session.default.data(for: request)
        #expect((response as? HTTPURLResponse)?.statusCode == 409)
        #expect(String(decoding: data, as: UTF8.self) == "name taken")
        #expect(server.requests[0].headers["Content-Type"] == "application/json")
        let end = try DeadEnd(.refusing)
        do {
            _ = try await Session.default.data(from: end.url)
            Issue.record("no error")
        } catch {
            #expect(error.urlError?.code == .cannotConnectToHost)
        }
    }

    // 43
    @Test func uploads() async throws {
        let scratch = try ScratchDirectory()
        let file = try scratch.write("body.txt", "from a file")
        var request = URLRequest(url: server.url("/anything"))
        request.httpMethod = "PUT"
        let (data, _) = try await Session.default.upload(for: request, from: Data("from memory".utf8))
        #expect(try JSONDecoder().decode(Echo.self, from: data).data == "from memory")
        let (echo, response) = try await Session.default.upload(for: request, fromFile: file)
        #expect(try JSONDecoder().decode(Echo.self, from: echo).data == "from a file")
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
    }

    // 44
    @Test func readsLinesAndBytes() async throws {
        server.route("/lines") { _ in .text("one\n\ntwo\r\nthree") }
        let (lines, response) = try await Session.default.bytes(from: server.url("/lines"))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        var all: [String] = []
        for try await line in lines.lines { all.append(line) }
        #expect(all == ["one", "two", "three"])
        let (bytes, _) = try await Session.default.bytes(for: URLRequest(url: server.url("/bytes/100000")))
        var received = Data()
        for try await byte in bytes { received.append(byte) }
        #expect(received == TestServer.patternBytes(from: 0, count: 100_000, seed: 0))
        let (_, refused) = try await Session.default.bytes(from: server.url("/status/404"))
        #expect((refused as? HTTPURLResponse)?.statusCode == 404)
    }

    // 45
    @Test func downloads() async throws {
        let scratch = try ScratchDirectory()
        let (location, response) = try await Session.default.download(for: URLRequest(url: server.url("/bytes/4000")))
        let destination = scratch.file("file.bin")
        try FileManager.default.moveItem(at: location, to: destination)
        #expect(try Data(contentsOf: destination).count == 4000)
        #expect(response.expectedContentLength == 4000)
        let (page, refused) = try await Session.default.download(from: server.url("/deny-nothing"))
        #expect((refused as? HTTPURLResponse)?.statusCode == 404)
        try FileManager.default.removeItem(at: page)
    }
}
