import CurlewAFNetworking
import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

/// AFNetworking's idioms in Swift.
@Suite(.timeLimit(.minutes(4)))
struct AFNetworkingPrograms {
    let server: TestServer
    let client: HTTPSessionManager

    init() throws {
        server = try TestServer()
        client = HTTPSessionManager(baseURL: server.url("/v1"))
    }

    // 31: [manager GET:parameters:headers:progress:success:failure:]
    @Test func getsWithParameters() async throws {
        server.route("/v1/items/{id}") { request in .json(Item(id: Int(request.parameters["id"] ?? "") ?? 0)) }
        let item = try await client.get("items/4", parameters: ["tags": ["a", "b"]], as: Item.self)
        #expect(item.id == 4)
        #expect(server.requests[0].target == "/v1/items/4?tags%5B%5D=a&tags%5B%5D=b")
    }

    // 32: a JSON request serializer with an authorization header, and failure with the response's body.
    @Test func postsJSONAndReadsTheFailure() async throws {
        server.route("/v1/items", methods: [.post]) { _ in
            .text(#"{"error":"name taken"}"#, status: 409, type: "application/json")
        }
        client.changeDefaults { $0.body = .json }
        client.headers.setAuthorization(username: "ada", password: "secret")
        do {
            _ = try await client.post("items", parameters: ["name": "Ada"], as: Item.self)
            Issue.record("no error")
        } catch {
            #expect(error.responseCode == 409)
            #expect(String(decoding: error.responseBody ?? Data(), as: UTF8.self).contains("name taken"))
        }
        #expect(server.requests[0].bodyText == #"{"name":"Ada"}"#)
        #expect(server.requests[0].headers["Authorization"] == "Basic YWRhOnNlY3JldA==")
    }

    // 33: POST:…constructingBodyWithBlock:
    @Test func postsAForm() async throws {
        server.route("/v1/photos", methods: [.post]) { _ in .json(Item()) }
        let item = try await client.post(
            "photos", parameters: ["album": "summer"], as: Item.self,
            multipartFormData: { form in
                form.append(Data("pixels".utf8), withName: "photo", fileName: "photo.jpg", mimeType: "image/jpeg")
            })
        #expect(item == Item())
        #expect(server.requests[0].multipartParts.map(\.name) == ["album", "photo"])
    }

    // 34: compound serializers with acceptable content types, and the completion block.
    @Test func serializesByContentType() async throws {
        server.route("/v1/either") { request in
            request.queryValue("as") == "text" ? .text("plain") : .text(#"{"name":null,"id":1}"#, type: "text/json")
        }
        let json = JSONResponseSerializer().removingNulls.accepting(contentTypes: JSONResponseSerializer.contentTypes)
        let either = CompoundResponseSerializer([json.erased, StringResponseSerializer().erased])
        let object = await completed { done in
            Session.default.request(server.url("/v1/either")).response(responseSerializer: either) { done($0.value) }
        }
        #expect((object as? [String: Any])?.keys.sorted() == ["id"])
        let text = await completed { done in
            Session.default.request(server.url("/v1/either?as=text")).response(responseSerializer: either) {
                done($0.value)
            }
        }
        #expect(text as? String == "plain")
    }

    // 35: downloadTaskWithRequest:progress:destination:completionHandler: and the notification of the moved file.
    @Test func downloadsAndIsNotified() async throws {
        let scratch = try ScratchDirectory()
        let session = Session(eventMonitors: [RequestNotifications(queue: DispatchQueue(label: "notes"))])
        let moved = Gate()
        let observer = NotificationCenter.default.addObserver(
            forName: DownloadRequest.didMoveFileNotification, object: nil, queue: nil
        ) { note in
            if note.fileURL?.lastPathComponent == "file.bin" { moved.open() }
        }
        let request = session.download(URLRequest(url: server.url("/bytes/3000"))) { _, _ in
            (scratch.file("file.bin"), [])
        }
        let fileURL = await completed { done in
            request.downloadProgress { print($0.fractionCompleted) }.response { done($0.fileURL) }
        }
        #expect(fileURL == scratch.file("file.bin"))
        try await moved.wait()
        NotificationCenter.default.removeObserver(observer)
        #expect(request.downloadProgress.completedUnitCount == 3000)
    }
}
