import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

/// `error.afError` has Alamofire's cases with their payloads.
@Suite(.timeLimit(.minutes(4)))
struct ErrorCaseTests {
    private struct Refusal: Error, Equatable {}

    @Test func anUnacceptableStatusIsAValidationFailure() async throws {
        let server = try TestServer()
        let session = Session()
        let response = await session.request(server.url("/status/404")).validate().serializingData().response
        guard case .responseValidationFailed(let reason)? = response.error?.afError,
            case .unacceptableStatusCode(let code) = reason
        else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        #expect(code == 404)
        do {
            _ = try await session.request(server.url("/status/503")).data()
            Issue.record("no error")
        } catch {
            guard case .responseValidationFailed(.unacceptableStatusCode(code: 503))? = error.afError else {
                Issue.record("\(error)")
                return
            }
        }
    }

    /// Retriers and authenticators read `responseCode` as a status that was refused.
    @Test func onlyAnUnacceptableStatusHasAResponseCode() async throws {
        let server = try TestServer()
        let session = Session()
        let own = await session.request(server.url("/status/401"))
            .validate { _, _, _ in .failure(Refusal()) }.serializingData().response.error
        #expect(own?.isResponseValidationError == true && own?.responseCode == nil)
        let text = await session.request(server.url("/anything")).serializingDecodable(Int.self).response.error
        #expect(text?.isResponseSerializationError == true && text?.responseCode == nil)
        let type = await session.request(server.url("/anything")).validate(contentType: ["text/plain"])
            .serializingData().response.error
        #expect(type?.code == .unacceptableContentType && type?.responseCode == nil)
        let status = await session.request(server.url("/status/401")).validate().serializingData().response.error
        #expect(status?.responseCode == 401)
        let reason = AFError.ResponseValidationFailureReason.unacceptableStatusCode(code: 403)
        #expect(AFError.responseValidationFailed(reason: reason).responseCode == 403)
    }

    @Test func aBodyThatCannotBeDecodedIsASerializationFailure() async throws {
        let server = try TestServer()
        let error = await Session().request(server.url("/anything")).serializingDecodable(Int.self).response.error
        guard case .responseSerializationFailed(.decodingFailed(let inside))? = error?.afError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(inside is DecodingError)
        // `underlying` holds the reason too.
        #expect(error?.underlying is AFError.ResponseSerializationFailureReason)
    }

    @Test func invalidURLIsAnInvalidURLError() async {
        let error = await Session().request("").serializingData().response.error
        guard case .invalidURL(let url)? = error?.afError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(url as? String == "")
        #expect(error?.isInvalidURLError == true)
        #expect(AFError.invalidURL(url: "a b").urlConvertible as? String == "a b")
    }

    @Test func aRefusedConnectionIsAURLError() async throws {
        let end = try DeadEnd(.refusing)
        let error = await Session().request(end.url).serializingData().response.error
        guard case .sessionTaskFailed(let inside)? = error?.afError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect((inside as? URLError)?.code == .cannotConnectToHost, "\(String(describing: error)): \(inside)")
    }

    @Test func aCancelledRequestIsExplicitlyCancelled() async {
        let request = Session().request("http://127.0.0.1/")
        request.cancel()
        let error = await request.serializingData().response.error
        guard case .explicitlyCancelled? = error?.afError else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func everyErrorFunctionMakesItsCase() {
        let file = URL(filePath: "/tmp/a")
        let made: [(AFError, String)] = [
            (.createUploadableFailed(error: Refusal()), "createUploadableFailed"),
            (.createURLRequestFailed(error: Refusal()), "createURLRequestFailed"),
            (
                .downloadedFileMoveFailed(error: Refusal(), source: file, destination: file),
                "downloadedFileMoveFailed"
            ),
            (.explicitlyCancelled, "explicitlyCancelled"),
            (.invalidURL(url: "?"), "invalidURL"),
            (.multipartEncodingFailed(reason: .bodyPartURLInvalid(url: file)), "multipartEncodingFailed"),
            (.parameterEncodingFailed(reason: .missingURL), "parameterEncodingFailed"),
            (.parameterEncoderFailed(reason: .missingRequiredComponent(.url)), "parameterEncoderFailed"),
            (.requestAdaptationFailed(error: Refusal()), "requestAdaptationFailed"),
            (.requestRetryFailed(retryError: Refusal(), originalError: Refusal()), "requestRetryFailed"),
            (.responseValidationFailed(reason: .dataFileNil), "responseValidationFailed"),
            (.responseSerializationFailed(reason: .inputFileNil), "responseSerializationFailed"),
            (.serverTrustEvaluationFailed(reason: .noCertificatesFound), "serverTrustEvaluationFailed"),
            (.sessionDeinitialized, "sessionDeinitialized"),
            (.sessionInvalidated(error: nil), "sessionInvalidated"),
            (.urlRequestValidationFailed(reason: .bodyDataInGETRequest(Data())), "urlRequestValidationFailed"),
            (CurlewError(.idleTimedOut, phase: .receive), "sessionTaskFailed"),
            (CurlewError(.unsupported, phase: .creation), "sessionTaskFailed"),
        ]
        for (error, name) in made {
            let shown = error.afError.map { "\($0)" } ?? "none"
            #expect(shown.hasPrefix(name), "\(shown)")
        }
        if let other = Refusal().afError { Issue.record("\(other)") }
    }
}
