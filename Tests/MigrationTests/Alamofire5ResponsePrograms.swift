import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

// The compiler's fix-it for an extension that was written for a class produces this form.
extension Session {
    nonisolated func item(_ id: Int, at base: String) -> DataRequest { request("\(base)/items/\(id)").validate() }
}

/// Programs written for Alamofire 5, with the import changed: configurations, responses and errors.
@Suite(.timeLimit(.minutes(4)))
struct Alamofire5ResponsePrograms {
    let server: TestServer
    var base: String { server.address }

    init() throws { server = try TestServer() }

    // 21
    @Test func configuresASession() async throws {
        let configuration = URLSessionConfiguration.af.default
        configuration.timeoutIntervalForRequest = 0.3
        configuration.httpMaximumConnectionsPerHost = 2
        configuration.headers.add(name: "X-Client", value: "billing")
        let session = Session(configuration: configuration, rootQueue: DispatchQueue(label: "com.example.root"))
        let response = await session.request("\(base)/hang").serializingData().response
        guard case .sessionTaskFailed(error: let error as URLError)? = response.error?.afError else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        #expect(error.code == .timedOut)
        #expect(server.requests[0].headers["X-Client"] == "billing")
        server.route("/items/{id}") { request in .json(Item(id: Int(request.parameters["id"] ?? "") ?? 0)) }
        #expect(try await session.item(6, at: base).serializingDecodable(Item.self).value.id == 6)
    }

    // 22
    // SAFETY: the handler writes it before it reports completion, and the test reads it afterwards.
    final class Keeper: @unchecked Sendable { var response: DataResponse<Any, AFError>? }

    @Test func readsJSONObjects() async throws {
        server.route("/item") { _ in .json(Item(id: 3)) }
        let name: String? = await completed { done in
            AF.request("\(base)/item").responseJSON { response in
                let object = response.value as? [String: Any]
                done(object?["name"] as? String)
            }
        }
        #expect(name == "Ada")
        let keeper = Keeper()
        await completed { done in
            AF.request("\(base)/item").responseJSON { response in
                keeper.response = response
                done(())
            }
        }
        #expect((keeper.response?.value as? [String: Any])?["id"] as? Int == 3)
    }

    // 23
    @Test func readsTextAndBytes() async throws {
        let queue = DispatchQueue(label: "com.example.responses")
        let text = await completed { done in
            AF.request("\(base)/encoding/latin1").responseString(queue: queue, encoding: .isoLatin1) { done($0.value) }
        }
        #expect(text?.isEmpty == false)
        let response = await completed { done in
            AF.request("\(base)/bytes/100").response(queue: queue) { done($0) }
        }
        #expect(response.data?.count == 100)
        #expect((response.metrics?.bytesReceived ?? 0) >= 100)
    }

    // 24
    @Test func cancels() async throws {
        let session = Session()
        let first = session.request("\(base)/hang")
        let error = await completed { (done: @escaping @Sendable (AFError?) -> Void) in
            first.response { done($0.error) }
            first.cancel()
        }
        #expect(error?.isExplicitlyCancelledError == true)
        let second = session.request("\(base)/hang")
        let ended = Gate()
        second.response { _ in ended.open() }
        try await server.waitForRequests(count: 1)
        await completed { done in session.cancelAllRequests { done(()) } }
        try await ended.wait()
        #expect(second.isCancelled)
    }

    // 25
    struct CommaSeparated: ResponseSerializer {
        func serialize(
            request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
        ) throws -> [String] {
            guard error == nil else { throw error! }
            guard let data = data, !data.isEmpty else {
                throw AFError.responseSerializationFailed(reason: .inputDataNilOrZeroLength)
            }
            return String(decoding: data, as: UTF8.self).components(separatedBy: ",")
        }
    }

    @Test func serializesInItsOwnWay() async throws {
        server.route("/list") { _ in .text("a,b,c") }
        let request = AF.request("\(base)/list").cURLDescription { print($0) }
        let values = await completed { done in
            request.response(responseSerializer: CommaSeparated()) { done($0.value) }
        }
        #expect(values == ["a", "b", "c"])
        #expect(request.task?.currentRequest?.url?.path == "/list")
        let empty = await AF.request("\(base)/status/204").serializingResponse(using: CommaSeparated()).response
        #expect(empty.error?.isResponseSerializationError == true)
    }
}
