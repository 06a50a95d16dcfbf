import CurlewAlamofire
import Foundation
import FoundationNetworking
import Testing

/// Conversions from Alamofire's cases to errors, and back.
struct ErrorRoundTripTests {
    private struct Refusal: Error, Equatable {}

    @Test func everyCaseComesBack() {
        let file = URL(filePath: "/tmp/a")
        let cases: [AFErrorCase] = [
            .createUploadableFailed(error: Refusal()), .createURLRequestFailed(error: Refusal()),
            .downloadedFileMoveFailed(error: Refusal(), source: file, destination: file), .explicitlyCancelled,
            .invalidURL(url: "?"), .multipartEncodingFailed(reason: .bodyPartURLInvalid(url: file)),
            .parameterEncodingFailed(reason: .missingURL),
            .parameterEncoderFailed(reason: .missingRequiredComponent(.url)),
            .requestAdaptationFailed(error: Refusal()),
            .requestRetryFailed(retryError: Refusal(), originalError: Refusal()),
            .responseValidationFailed(reason: .unacceptableStatusCode(code: 404)),
            .responseSerializationFailed(reason: .inputFileNil),
            .serverTrustEvaluationFailed(reason: .noCertificatesFound), .sessionDeinitialized,
            .sessionInvalidated(error: Refusal()), .sessionTaskFailed(error: URLError(.timedOut)),
            .sessionTaskFailed(error: Refusal()), .urlRequestValidationFailed(reason: .bodyDataInGETRequest(Data())),
        ]
        for one in cases {
            let error: AFError = one.afError
            #expect("\(error.afError.map { "\($0)" } ?? "none")" == "\(one)")
        }
    }

    @Test func aFailedTaskIsToldByItsURLError() {
        let error = AFError.sessionTaskFailed(error: URLError(.cannotFindHost))
        #expect(error.code == .resolveFailed)
        #expect(error.isSessionTaskError)
        #expect((error.underlyingError as? URLError)?.code == .cannotFindHost)
        #expect(!error.isInvalidURLError)
        let own = AFError.sessionTaskFailed(error: Refusal())
        #expect(own.code == .internal)
        #expect(own.isSessionTaskError)
        #expect(own.underlyingError is Refusal)
    }

    @Test func anErrorInsideACaseStaysItself() {
        let unsupported = CurlewError(.unsupported, phase: .creation)
        #expect(unsupported.afError?.afError.code == .unsupported)
    }
}
