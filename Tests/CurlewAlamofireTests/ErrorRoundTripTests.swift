import CurlewAlamofire
import Foundation
import FoundationNetworking
import Testing

/// Conversions from Alamofire's cases to errors, and back.
struct ErrorRoundTripTests {
    private struct Refusal: Error, Equatable {}

    @Test func everyErrorCaseIsConvertedBack() {
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

    /// An error has the reason that it was made with, also as `underlying`.
    @Test func everyReasonIsConvertedBack() {
        let (file, data) = (URL(filePath: "/tmp/a"), [Data([1]), Data([2])])
        let length = AFError.UnexpectedInputStreamLength(bytesExpected: 2, bytesRead: 1)
        let multipart: [AFError.MultipartEncodingFailureReason] = [
            .bodyPartURLInvalid(url: file), .bodyPartFilenameInvalid(in: file), .bodyPartFileNotReachable(at: file),
            .bodyPartFileNotReachableWithError(atURL: file, error: Refusal()), .bodyPartFileIsDirectory(at: file),
            .bodyPartFileSizeNotAvailable(at: file),
            .bodyPartFileSizeQueryFailedWithError(forURL: file, error: Refusal()),
            .bodyPartInputStreamCreationFailed(for: file), .bodyPartHeaderInvalid(name: "X"),
            .outputStreamCreationFailed(for: file), .outputStreamFileAlreadyExists(at: file),
            .outputStreamURLInvalid(url: file), .outputStreamWriteFailed(error: Refusal()),
            .inputStreamReadFailed(error: length),
        ]
        let encoding: [AFError.ParameterEncodingFailureReason] = [
            .missingURL, .jsonEncodingFailed(error: Refusal()), .propertyListEncodingFailed(error: Refusal()),
            .customEncodingFailed(error: Refusal()),
        ]
        let encoder: [AFError.ParameterEncoderFailureReason] = [
            .missingRequiredComponent(.url), .missingRequiredComponent(.httpMethod(rawValue: "nil")),
            .encoderFailed(error: Refusal()),
        ]
        let validation: [AFError.ResponseValidationFailureReason] = [
            .dataFileNil, .dataFileReadFailed(at: file), .missingContentType(acceptableContentTypes: ["a/b"]),
            .unacceptableContentType(acceptableContentTypes: [], responseContentType: "a/b"),
            .unacceptableStatusCode(code: 404), .customValidationFailed(error: Refusal()),
        ]
        let serialization: [AFError.ResponseSerializationFailureReason] = [
            .inputDataNilOrZeroLength, .inputFileNil, .inputFileReadFailed(at: file),
            .stringSerializationFailed(encoding: .utf16), .jsonSerializationFailed(error: Refusal()),
            .decodingFailed(error: Refusal()), .customSerializationFailed(error: Refusal()),
            .invalidEmptyResponse(type: "Int"),
        ]
        let trust: [AFError.ServerTrustFailureReason] = [
            .noRequiredEvaluator(host: "h"), .noCertificatesFound, .noPublicKeysFound,
            .defaultEvaluationFailed(host: "h", verifyResult: 23, explanation: "e"),
            .hostValidationFailed(host: "h", names: ["n"]),
            .revocationCheckFailed(host: "h", verifyResult: 3, explanation: "e"),
            .certificatePinningFailed(host: "h", pinned: data, server: []),
            .publicKeyPinningFailed(host: "h", pinned: [], server: data), .customEvaluationFailed(error: Refusal()),
        ]
        let made: [(reason: any Error, error: AFError)] =
            multipart.map { ($0, .multipartEncodingFailed(reason: $0)) }
            + encoding.map { ($0, .parameterEncodingFailed(reason: $0)) }
            + encoder.map { ($0, .parameterEncoderFailed(reason: $0)) }
            + validation.map { ($0, .responseValidationFailed(reason: $0)) }
            + serialization.map { ($0, .responseSerializationFailed(reason: $0)) }
            + trust.map { ($0, .serverTrustEvaluationFailed(reason: $0)) }
        for (reason, error) in made {
            #expect(error.underlying.map { "\($0)" } == "\(reason)")
            #expect(error.underlying.map { type(of: $0) == type(of: reason) } == true)
            #expect(error.afError.map { "\($0)".contains("\(reason)") } == true)
        }
    }

    @Test func sessionTaskFailedIsConvertedByItsURLError() {
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

    /// User code may give an error another code. Alamofire's reason describes the cause, and stays.
    @Test func changedErrorCodeKeepsTheReason() {
        var error = AFError.responseSerializationFailed(reason: .inputFileNil)
        error.code = .internal
        guard case .responseSerializationFailed(.inputFileNil)? = error.afError else {
            Issue.record("\(error)")
            return
        }
        #expect(error.underlying is AFError.ResponseSerializationFailureReason)
    }

    @Test func aStatusThatIsRefusedWhileTheBodyArrivesIsAReason() {
        let error = CurlewError(.unacceptableStatus, phase: .receive, responseCode: 404)
        guard case .unacceptableStatusCode(404)? = error.underlying as? AFError.ResponseValidationFailureReason else {
            Issue.record("\(error)")
            return
        }
    }

    @Test func reasonInSessionTaskFailedIsKept() {
        let error = AFError.sessionTaskFailed(error: AFError.ServerTrustFailureReason.noCertificatesFound)
        guard case .sessionTaskFailed(AFError.ServerTrustFailureReason.noCertificatesFound)? = error.afError else {
            Issue.record("\(error)")
            return
        }
    }

    @Test func errorWrappedInCaseIsUnchanged() {
        let unsupported = CurlewError(.unsupported, phase: .creation)
        #expect(unsupported.afError?.afError.code == .unsupported)
    }
}
