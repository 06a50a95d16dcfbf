import CurlewCore
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

@Suite(.timeLimit(.minutes(4)))
struct ResponseValidationTests {
    private func error(_ result: Result<Void, any Error>) -> CurlewError? {
        guard case .failure(let error) = result else { return nil }
        return error as? CurlewError
    }

    @Test("a reason that a validation sets itself is kept")
    func ownReason() async {
        let session = Session(transport: MockTransport { _ in .text("page", status: 404) })
        let request = session.request("https://example.org/").validate { _, response, _ in
            var error = CurlewError.unacceptableStatus(response.statusCode)
            error.reason = "Not yet."
            return .failure(error)
        }
        let error = await request.response().error
        #expect(error?.reason == "Not yet.")
        #expect(error?.responseBody == Data("page".utf8))
    }

    /// The run checks the status only if an awaiting method that does so has started it.
    @Test("every awaiting method checks the status, whatever has started the run", arguments: [false, true])
    func checksOnce(acceptsAnyStatus: Bool) async throws {
        let session = Session(transport: MockTransport { _ in .text("page", status: 404) })
        let starts: [@Sendable (DataRequest) async -> Void] = [
            { _ = try? await $0.data() }, { _ = await $0.response() }, { $0.resume() }, { $0.responseData { _ in } },
        ]
        for start in starts {
            let request = session.request("https://example.org/")
            if acceptsAnyStatus { request.acceptingAnyStatus() }
            await start(request)
            #expect(await request.response().error == nil)
            for _ in 0..<2 {
                let body = await Result { try await request.string() }
                #expect((try? body.get()) == (acceptsAnyStatus ? "page" : nil))
                if case .failure(let error) = body {
                    #expect((error as? CurlewError)?.code == .unacceptableStatus)
                    #expect((error as? CurlewError)?.responseBody == Data("page".utf8))
                }
            }
        }
    }

    @Test(arguments: [(199, false), (200, true), (299, true), (300, false), (404, false)])
    func checksTheStatus(status: Int, isAcceptable: Bool) {
        let error = error(ResponseValidation.status(status, in: 200..<300))
        #expect((error == nil) == isAcceptable)
        if !isAcceptable {
            #expect(error?.code == .unacceptableStatus)
            #expect(error?.responseCode == status)
            #expect(error?.errorDescription == "Response status code was unacceptable: \(status).")
        }
    }

    @Test(
        arguments: [
            ("application/json", ["application/json"], true),
            ("application/json; charset=utf-8", ["application/json"], true),
            (" application/json ", ["application/json;charset=utf-8"], true),
            ("application/json", ["application/*"], true),
            ("application/json", ["*/json"], true),
            ("application/json", ["*/*"], true),
            ("Application/JSON", ["application/json"], true),
            ("application/json", ["text/plain", "application/json"], true),
            ("application/json", ["application/xml"], false),
            ("application/json", ["text/*"], false),
            ("application/json", ["*/xml"], false),
            ("application/json", [], false),
            ("application", ["application/json"], false),
            ("a/b/c", ["a/b"], false),
            ("application", ["*/*"], true),
            (nil, ["*/*"], true),
            (nil, ["application/json", "*/*"], true),
            (nil, ["application/json"], false),
        ] as [(String?, [String], Bool)])
    func checksTheContentType(type: String?, acceptable: [String], isAcceptable: Bool) {
        let error = error(ResponseValidation.contentType(type, in: acceptable, bodyIsEmpty: false))
        #expect((error == nil) == isAcceptable)
        if !isAcceptable { #expect(error?.code == .unacceptableContentType) }
        // An empty body has no content type to check.
        #expect(self.error(ResponseValidation.contentType(type, in: acceptable, bodyIsEmpty: true)) == nil)
    }

    @Test func errorNamesTheAcceptableContentTypes() {
        let mismatch = error(ResponseValidation.contentType("a/b", in: ["z/z", "c/d"], bodyIsEmpty: false))
        #expect(mismatch?.reason == #"Response content type "a/b" does not match any acceptable type: c/d,z/z."#)
        let missing = error(ResponseValidation.contentType(nil, in: ["z/z", "c/d"], bodyIsEmpty: false))
        #expect(missing?.reason == "Response had no content type; acceptable are: c/d,z/z.")
    }

    @Test func contentTypeIsRequiredOnlyForNonEmptyFile() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data().write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        func check(_ file: URL?) -> CurlewError? {
            error(ResponseValidation.contentType("a/b", in: ["c/d"], file: file))
        }
        #expect(check(url) == nil)
        try Data([1]).write(to: url)
        #expect(check(url)?.code == .unacceptableContentType)
        #expect(check(nil)?.code == .validationFailed)
        #expect(check(url.appendingPathExtension("not"))?.code == .fileUnreadable)
        #expect(check(url.appendingPathExtension("not"))?.phase == .validation)
    }

    @Test func acceptHeaderDecidesAcceptedContentTypes() {
        #expect(ResponseValidation.acceptableContentTypes(of: nil) == ["*/*"])
        #expect(ResponseValidation.acceptableContentTypes(of: "a/b,c/d") == ["a/b", "c/d"])
        #expect(
            error(
                ResponseValidation.contentType(
                    "c/d",
                    in: ResponseValidation.acceptableContentTypes(of: "a/b;q=0.1, c/d;q=1"),
                    bodyIsEmpty: false
                )
            ) == nil
        )
    }
}
