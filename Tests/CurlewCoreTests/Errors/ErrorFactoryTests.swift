import CurlewCore
import Foundation
import Testing

/// The code, phase, text and underlying error of the errors that Curlew creates.
@Suite struct ErrorFactoryTests {
    struct Reason: LocalizedError {
        var errorDescription: String? { "no" }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let error: CurlewError
        let code: CurlewError.Code
        let phase: CurlewError.Phase
        let text: String
        var hasReason = false

        init(
            _ error: CurlewError, _ code: CurlewError.Code, _ phase: CurlewError.Phase, _ text: String,
            hasReason: Bool = false
        ) {
            (self.error, self.code, self.phase, self.text, self.hasReason) = (error, code, phase, text, hasReason)
        }

        var testDescription: String { text }
    }

    private static let file = URL(filePath: "/tmp/a")
    private static let no = Reason()

    static let requests: [Row] = [
        Row(.invalidURL("a b"), .invalidURL, .creation, "URL is not valid: a b"),
        Row(.invalidURL("//u:p@h/?a=b"), .invalidURL, .creation, "URL is not valid: //h/?a=_"),
        Row(
            .requestNotCreated(no), .requestCreationFailed, .creation,
            "Creation of the URLRequest failed with error: no", hasReason: true),
        Row(
            .bodyNotCreated(no), .bodyUnavailable, .creation, "Creation of the upload's body failed with error: no",
            hasReason: true),
        Row(
            .bodyNotAllowed(Data([1])), .invalidBody, .creation,
            "Invalid URLRequest: a GET request had 1 bytes of body."),
        Row(
            .adaptationFailed(no), .adaptationFailed, .adaptation, "Request adaptation failed with error: no",
            hasReason: true),
        Row(.unsupported(feature: "A", needs: "B"), .unsupported, .creation, "A needs B"),
        Row(.noURLToEncode, .parameterEncodingFailed, .creation, "URL request to encode was missing a URL."),
        Row(
            .parametersNotJSON(no), .parameterEncodingFailed, .creation,
            "JSON could not be encoded because of error: no", hasReason: true),
        Row(
            .parametersNotPropertyList(no), .parameterEncodingFailed, .creation,
            "Property list could not be encoded because of error: no", hasReason: true),
        Row(
            .parametersNotEncoded(no), .parameterEncodingFailed, .creation,
            "Custom parameter encoder failed with error: no", hasReason: true),
        Row(.encoderLacksURL, .parameterEncodingFailed, .creation, "Encoding failed: the request has no URL."),
        Row(
            .encoderLacksMethod("X"), .parameterEncodingFailed, .creation,
            "Encoding failed: the request has no HTTP method (X)."),
        Row(
            .encoderFailed(no), .parameterEncodingFailed, .creation, "The underlying encoder failed with error: no",
            hasReason: true),
        Row(
            .formFile(file, .notFileURL), .multipartEncodingFailed, .creation, "The URL is not a file URL: /tmp/a"),
        Row(
            .formFile(file, .unreachable, no), .multipartEncodingFailed, .creation,
            "The file is not reachable: /tmp/a (no)", hasReason: true),
        Row(
            .formHeader("X"), .multipartEncodingFailed, .creation, "A header of a part would break out of its line: X"),
        Row(
            .formNotRead(no), .multipartEncodingFailed, .creation, "Reading a part failed with error: no",
            hasReason: true),
        Row(
            .formPartEnded(after: 1, of: 2), .multipartEncodingFailed, .creation,
            "A part of the form ended after 1 of 2 declared bytes."),
        Row(
            .formNotWritten(no), .multipartEncodingFailed, .creation, "Writing failed with error: no", hasReason: true),
    ]

    static let responses: [Row] = [
        Row(.unacceptableStatus(404), .unacceptableStatus, .validation, "Response status code was unacceptable: 404."),
        Row(
            .unacceptableContentType(nil, accepted: ["a/b", "c/d"]), .unacceptableContentType, .validation,
            "Response had no content type; acceptable are: a/b,c/d."),
        Row(
            .unacceptableContentType("e/f", accepted: ["a/b"]), .unacceptableContentType, .validation,
            "Response content type \"e/f\" does not match any acceptable type: a/b."),
        Row(
            .validationFailed(no), .validationFailed, .validation, "Custom response validation failed with error: no",
            hasReason: true),
        Row(.bodyMissing, .decodingFailed, .decoding, "Response could not be serialized: there is no body."),
        Row(
            .bodyMissing(for: "Int"), .decodingFailed, .decoding,
            "Empty response cannot be serialized to Int; use Empty, or a type that conforms to EmptyResponse."),
        Row(
            .bodyNotText(.utf8), .decodingFailed, .decoding,
            "Response is no text in the encoding \(String.Encoding.utf8)."),
        Row(.bodyNotJSON(no), .decodingFailed, .decoding, "Response is no JSON: no", hasReason: true),
        Row(
            .bodyNotDecoded(no), .decodingFailed, .decoding, "Response could not be decoded because of error: no",
            hasReason: true),
        Row(
            .serializerFailed(no), .decodingFailed, .decoding, "Custom response serializer failed with error: no",
            hasReason: true),
        Row(
            .fileMissing(in: .validation), .validationFailed, .validation,
            "Response could not be validated: there is no file."),
        Row(
            .fileMissing(in: .decoding), .decodingFailed, .decoding,
            "Response could not be serialized: there is no file."),
        Row(
            .fileUnreadable(file, in: .validation), .fileUnreadable, .validation,
            "Response could not be validated: the file is unreadable: /tmp/a"),
        Row(
            .fileUnreadable(file, in: .decoding), .fileUnreadable, .decoding,
            "Response could not be serialized: the file is unreadable: /tmp/a"),
        Row(
            .fileNotMoved(CurlewError(.diskFull, phase: .file, reason: "full", underlying: no), from: file, to: file),
            .diskFull, .file, "Moving the downloaded file to its destination failed with error: full",
            hasReason: true),
    ]

    static let trust: [Row] = [
        Row(
            .noTrustEvaluator(for: "h"), .certificateUntrusted, .tls,
            "A trust evaluator is required for host h, but there is none."),
        Row(
            .noPinnedCertificates, .certificateUntrusted, .tls,
            "No certificates were found or provided to evaluate."),
        Row(.noPinnedKeys, .certificateUntrusted, .tls, "No public keys were found or provided to evaluate."),
        Row(
            .chainNotTrusted(host: "h", verifyResult: 18, explanation: "e"), .certificateUntrusted, .tls,
            "The certificates of h are not trusted: e (18)."),
        Row(
            .chainNotTrusted(host: "h", verifyResult: 9, explanation: "e"), .certificateExpired, .tls,
            "The certificates of h are not trusted: e (9)."),
        Row(
            .chainNotTrusted(host: "h", verifyResult: 23, explanation: "e"), .certificateRevoked, .tls,
            "The certificates of h are not trusted: e (23)."),
        Row(
            .revocationCheckFailed(host: "h", verifyResult: 3, explanation: "e"), .certificateRevoked, .tls,
            "The certificates of h failed the revocation check: e (3)."),
        Row(
            .hostMismatch("h", names: ["n"]), .certificateHostMismatch, .tls, "The certificate is not valid for h."),
        Row(
            .certificateNotPinned(host: "h", pinned: [], server: []), .certificateUntrusted, .tls,
            "No certificate of h is among the pinned ones."),
        Row(
            .keyNotPinned(host: "h", pinned: [], server: []), .certificateUntrusted, .tls,
            "No public key of h is among the pinned ones."),
        Row(
            .trustEvaluatorFailed(no), .certificateUntrusted, .tls, "Custom trust evaluation failed with error: no",
            hasReason: true),
    ]

    static let endings: [Row] = [
        Row(.cancelled, .cancelled, .lifecycle, "Request explicitly cancelled."),
        Row(
            .sessionReleased, .sessionClosed, .lifecycle,
            "Session was deinitialized before the request ended; keep a reference to it."),
        Row(.sessionInvalidated(), .sessionClosed, .lifecycle, "Session was invalidated."),
        Row(
            .sessionInvalidated(no), .sessionClosed, .lifecycle, "Session was invalidated with error: no",
            hasReason: true),
        Row(
            .retryFailed(no, original: CurlewError(.truncated, phase: .receive)), .retryFailed, .retry,
            "Request retry failed with retry error: no, original error: truncated", hasReason: true),
    ]

    @Test(arguments: requests + responses + trust + endings)
    func errorHasCodePhaseAndReason(row: Row) {
        #expect(row.error.code == row.code)
        #expect(row.error.phase == row.phase)
        #expect(row.error.reason == row.text)
        // `underlying` is set only for errors of user code or of the system.
        #expect(row.hasReason ? row.error.underlying is Reason : row.error.underlying == nil)
        #expect(row.error.errorDescription == row.text)
    }

    @Test func transportErrorDescriptionHasPrefix() {
        let error = CurlewError(.receiveFailed, phase: .receive, reason: "reset")
        #expect(error.errorDescription == "The exchange failed with error: reset")
        #expect(CurlewError(.internal, phase: .receive).errorDescription == "internal (phase receive)")
    }

    @Test func formErrorNamesItsFile() {
        #expect(CurlewError.formFile(Self.file, .directory).url == Self.file)
    }

    @Test func failedRetryKeepsTheOriginalError() {
        var original = CurlewError(.receiveFailed, phase: .receive, url: URL(string: "https://example.com"), attempt: 2)
        original.responseCode = 503
        let error = CurlewError.retryFailed(Reason(), original: original)
        #expect(error.url == original.url && error.attempt == 2 && error.responseCode == 503)
    }

    @Test func errorIsWrappedByWhereItWasThrown() {
        #expect(ErrorWrapping.creation(Reason()).code == .requestCreationFailed)
        #expect(ErrorWrapping.creation(CurlewError.invalidURL("")).code == .invalidURL)
        #expect(ErrorWrapping.adaptation(CurlewError.invalidURL("")).code == .adaptationFailed)
        #expect(ErrorWrapping.adaptation(CancellationError()).code == .cancelled)
        #expect(ErrorWrapping.uploadable(Reason()).code == .bodyUnavailable)
        #expect(Reason().asCurlewError(or: .validationFailed(Reason())).code == .validationFailed)
        #expect(ErrorWrapping.serialization(Reason()).code == .decodingFailed)
        #expect(Reason().asCurlewError(or: .trustEvaluatorFailed(Reason())).code == .certificateUntrusted)
    }
}
