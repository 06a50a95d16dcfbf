internal import CurlewCore
public import Foundation

/// What a request sends whose answer is read while it comes.
///
///     session.streamRequest(url, method: .post, body: .file(recording)).lines
///
/// The body is read while it is sent, and its exact length goes with it where it is known.
public struct RequestBody: Sendable {
    /// Names a form's boundary. Of other bodies Curlew does not know the type.
    let contentType: String?
    /// Makes the body of every try.
    let makeUploadable: @Sendable () throws -> UploadRequest.Uploadable

    /// Bytes in memory.
    public static func data(_ data: Data) -> RequestBody {
        RequestBody(contentType: nil) { .data(data) }
    }

    /// A file, as long as it is when a try begins.
    public static func file(_ url: URL) -> RequestBody {
        RequestBody(contentType: nil) { .file(url, shouldRemove: false) }
    }

    /// The chunks of a sequence, which is asked for the next one when the server has taken the last. It is read once: no
    /// retry and no redirect that keeps the body. `sequence(length:_:)` can be sent again. `length` counts all bytes; `nil` is
    /// unknown.
    public static func sequence<S: AsyncSequence & Sendable>(_ sequence: S, length: Int64? = nil) -> RequestBody
    where S.Element == Data {
        let body = UploadRequest.Uploadable(BodySource.sequence(sequence, length: length))
        return RequestBody(contentType: nil) { body }
    }

    /// The chunks of a sequence that `make` makes again whenever the body is sent again: for a retry, a 307 or 308, or a
    /// challenge.
    ///
    ///     session.streamRequest(url, method: .post, body: .sequence { Rows(of: table) }).lines
    ///
    /// `make` has to make equal bytes each time. `length` counts all bytes; `nil` is unknown. The sequence sees the
    /// task-local values of the request's task, unless the body begins again within an exchange, as after a challenge
    /// that libcurl answers.
    public static func sequence<S: AsyncSequence & Sendable>(
        length: Int64? = nil,
        _ make: @escaping @Sendable () -> S
    ) -> RequestBody where S.Element == Data {
        RequestBody(contentType: nil) { .stream(RemadeSequenceBody(make), length: length) }
    }

    /// A form as it is when its first `URLRequest` has been made; retries send the same. It sets `Content-Type`.
    public static func multipart(_ form: MultipartFormData) -> RequestBody {
        let body = FormBody(form)
        return RequestBody(contentType: form.contentType) { try body.uploadable() }
    }
}
