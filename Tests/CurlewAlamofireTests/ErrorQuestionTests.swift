import CurlewAlamofire
import Foundation
import FoundationNetworking
import Testing

/// Alamofire's Boolean properties of errors, and the values inside its cases.
@Suite(.timeLimit(.minutes(4)))
struct ErrorQuestionTests {
    private struct Reason: Error {}

    static let questions: [(name: String, ask: @Sendable (CurlewError) -> Bool)] = [
        ("sessionDeinitialized", { $0.isSessionDeinitializedError }),
        ("sessionInvalidated", { $0.isSessionInvalidatedError }),
        ("cancelled", { $0.isExplicitlyCancelledError }),
        ("invalidURL", { $0.isInvalidURLError }),
        ("parameterEncoding", { $0.isParameterEncodingError }),
        ("parameterEncoder", { $0.isParameterEncoderError }),
        ("multipart", { $0.isMultipartEncodingError }),
        ("adaptation", { $0.isRequestAdaptationError }),
        ("validation", { $0.isResponseValidationError }),
        ("serialization", { $0.isResponseSerializationError }),
        ("trust", { $0.isServerTrustEvaluationError }),
        ("retry", { $0.isRequestRetryError }),
        ("uploadable", { $0.isCreateUploadableError }),
        ("creation", { $0.isCreateURLRequestError }),
        ("move", { $0.isDownloadedFileMoveError }),
        ("task", { $0.isSessionTaskError }),
    ]

    private static let file = URL(filePath: "/tmp/file")

    static let errors: [(String, CurlewError)] = [
        ("sessionDeinitialized", .sessionDeinitialized),
        ("sessionInvalidated", .sessionInvalidated(error: Reason())),
        ("sessionInvalidated", CurlewError(.sessionClosed, phase: .lifecycle)),
        ("cancelled", .explicitlyCancelled),
        ("invalidURL", .invalidURL(url: "")),
        ("parameterEncoding", .parameterEncodingFailed(reason: .jsonEncodingFailed(error: Reason()))),
        ("parameterEncoder", .parameterEncoderFailed(reason: .encoderFailed(error: Reason()))),
        ("multipart", .multipartEncodingFailed(reason: .bodyPartFileNotReachable(at: file))),
        ("adaptation", .requestAdaptationFailed(error: Reason())),
        ("adaptation", .requestAdaptationFailed(error: AFError.explicitlyCancelled)),
        ("validation", .responseValidationFailed(reason: .unacceptableStatusCode(code: 404))),
        ("validation", .responseValidationFailed(reason: .missingContentType(acceptableContentTypes: []))),
        ("validation", .responseValidationFailed(reason: .customValidationFailed(error: Reason()))),
        ("validation", .responseValidationFailed(reason: .dataFileReadFailed(at: file))),
        ("serialization", .responseSerializationFailed(reason: .inputDataNilOrZeroLength)),
        ("serialization", .responseSerializationFailed(reason: .inputFileReadFailed(at: file))),
        ("trust", .serverTrustEvaluationFailed(reason: .noCertificatesFound)),
        ("retry", .requestRetryFailed(retryError: Reason(), originalError: AFError.explicitlyCancelled)),
        ("uploadable", .createUploadableFailed(error: Reason())),
        ("creation", .createURLRequestFailed(error: Reason())),
        ("move", .downloadedFileMoveFailed(error: Reason(), source: file, destination: file)),
        ("task", CurlewError(.connectFailed, phase: .connect)),
        ("task", CurlewError(.certificateExpired, phase: .tls)),
        ("task", CurlewError(.firstByteTimedOut, phase: .waiting)),
        ("none", .urlRequestValidationFailed(reason: .bodyDataInGETRequest(Data()))),
    ]

    @Test(arguments: errors)
    func eachErrorHasExactlyOneIsProperty(expected: String, error: CurlewError) {
        let yes = Self.questions.filter { $0.ask(error) }.map(\.name)
        #expect(yes == (expected == "none" ? [] : [expected]))
        #expect(error.errorDescription?.isEmpty == false)
    }

    @Test func underlyingErrorIsTheWrappedOne() {
        #expect(AFError.requestAdaptationFailed(error: Reason()).underlyingError is Reason)
        #expect(AFError.createURLRequestFailed(error: Reason()).underlyingError is Reason)
        #expect(AFError.parameterEncoderFailed(reason: .encoderFailed(error: Reason())).underlyingError is Reason)
        #expect(AFError.parameterEncodingFailed(reason: .missingURL).underlyingError == nil)
        #expect(AFError.responseSerializationFailed(reason: .decodingFailed(error: Reason())).underlyingError is Reason)
        #expect(AFError.sessionInvalidated(error: Reason()).underlyingError is Reason)
        #expect(
            AFError.multipartEncodingFailed(reason: .inputStreamReadFailed(error: Reason())).underlyingError is Reason)
        let trust = AFError.ServerTrustFailureReason.customEvaluationFailed(error: Reason())
        #expect(AFError.serverTrustEvaluationFailed(reason: trust).underlyingError is Reason)
        let move = AFError.downloadedFileMoveFailed(
            error: CocoaError(.fileWriteFileExists),
            source: URL(filePath: "/a"),
            destination: URL(filePath: "/b")
        )
        #expect(move.code == .destinationExists)
        #expect(move.sourceURL?.path == "/a")
        #expect(move.destinationURL?.path == "/b")
        #expect(move.underlyingError is CocoaError)
    }

    /// Programs written for `URLSession` recognise a cancellation by its `URLError`.
    @Test func aCancellationIsAURLError() {
        #expect(AFError.explicitlyCancelled.urlError?.code == .cancelled)
        #expect(AFError.sessionInvalidated(error: nil).urlError?.code == .cancelled)
        #expect(AFError.sessionDeinitialized.urlError == nil)
    }

    @Test func failedRetryKeepsTheOriginalError() {
        let original = CurlewError(
            .receiveFailed, phase: .receive, url: URL(string: "https://example.com"), attempt: 2, responseCode: 503)
        let error = AFError.requestRetryFailed(retryError: Reason(), originalError: original)
        #expect(error.code == .retryFailed)
        #expect(error.attempt == 2)
        #expect(error.responseCode == 503)
        #expect(error.underlyingError is Reason)
        #expect(
            ((error.underlying as? AFError.RequestRetryFailure)?.originalError as? CurlewError)?.code == .receiveFailed)
    }

    @Test(arguments: [
        (POSIXErrorCode.ENOSPC, CurlewError.Code.diskFull), (.EEXIST, .destinationExists),
        (.ENOENT, .destinationMissing), (.EIO, .moveFailed),
    ])
    func moveFailureHasCodeOfPOSIXError(posix: POSIXErrorCode, code: CurlewError.Code) {
        let error = AFError.downloadedFileMoveFailed(
            error: POSIXError(posix), source: Self.file, destination: Self.file)
        #expect(error.code == code)
        #expect((error.underlyingError as? POSIXError)?.code == posix)
    }

    @Test func convertsErrors() {
        let error: any Error = AFError.explicitlyCancelled
        #expect(error.asAFError?.code == .cancelled)
        #expect(Reason().asAFError == nil)
        #expect(error.asAFError(orFailWith: "never").code == .cancelled)
        #expect(Reason().asAFError(orFailWith: "not ours").code == .internal)
        #expect(Reason().asAFError(orFailWith: "not ours").underlying is Reason)
    }

    /// The body of a response that is read a second time is not a body to upload.
    @Test func aBodyThatIsReadTwiceIsNotUploadable() {
        #expect(!CurlewError(.bodyUnavailable, phase: .receive).isCreateUploadableError)
    }

    /// User code may put a reason, or anything else, inside an error.
    @Test func assignedUnderlyingErrorReplacesReason() {
        var error = AFError.responseSerializationFailed(reason: .decodingFailed(error: Reason()))
        #expect(error.underlying is AFError.ResponseSerializationFailureReason)
        error.underlying = URLError(.timedOut)
        #expect(error.underlying is URLError && error.underlyingError is URLError)
        error.underlying = AFError.ResponseSerializationFailureReason.inputFileNil
        guard case .responseSerializationFailed(.inputFileNil)? = error.afError else {
            Issue.record("\(error)")
            return
        }
    }
}
