internal import CurlewCore
public import Foundation

/// The body of a request whose response is streamed.
///
///     session.streamRequest(url, method: .post, body: .file(recording)).lines
///
/// The body is read while it is sent. Its exact length is sent if it is known.
public struct RequestBody: Sendable {
    /// The content type of a form, with its boundary. `nil` for bodies whose type Curlew does not know.
    let contentType: String?
    /// Creates the body of each attempt.
    let makeUploadable: @Sendable () throws -> UploadRequest.Uploadable

    /// Data in memory.
    public static func data(_ data: Data) -> RequestBody {
        RequestBody(contentType: nil) { .data(data) }
    }

    /// A file. Its length is determined at the beginning of each attempt.
    public static func file(_ url: URL) -> RequestBody {
        RequestBody(contentType: nil) { .file(url, shouldRemove: false) }
    }

    /// The chunks of a sequence. The next chunk is requested when the server has taken the last one.
    ///
    /// The sequence is read once, so the request cannot be retried and cannot follow a redirect that keeps the body.
    /// Use `sequence(length:_:)` for a body that can be sent again. `length` is the number of all bytes, or `nil` if
    /// unknown.
    public static func sequence<S: AsyncSequence & Sendable>(_ sequence: S, length: Int64? = nil) -> RequestBody
    where S.Element == Data {
        let body = UploadRequest.Uploadable(BodySource.sequence(sequence, length: length))
        return RequestBody(contentType: nil) { body }
    }

    /// The chunks of a sequence that `make` creates again whenever the body is sent again: for a retry, a redirect with
    /// 307 or 308, or a challenge.
    ///
    ///     session.streamRequest(url, method: .post, body: .sequence { Rows(of: table) }).lines
    ///
    /// `make` must create equal bytes each time. `length` is the number of all bytes, or `nil` if unknown. The sequence
    /// runs with the task-local values of the request's task, unless the body is sent again within an exchange, for
    /// example after a challenge that libcurl answers.
    public static func sequence<S: AsyncSequence & Sendable>(
        length: Int64? = nil,
        _ make: @escaping @Sendable () -> S
    ) -> RequestBody where S.Element == Data {
        RequestBody(contentType: nil) { .stream(RemadeSequenceBody(make), length: length) }
    }

    /// A form, as it is when its first `URLRequest` has been created; retries send the same. Sets `Content-Type`.
    public static func multipart(_ form: MultipartFormData) -> RequestBody {
        let body = FormBody(form)
        return RequestBody(contentType: form.contentType) { try body.uploadable() }
    }
}
