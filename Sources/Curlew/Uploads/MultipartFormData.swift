internal import CurlewCore
internal import CurlewLocks
public import Foundation

/// A `multipart/form-data` form, with values and files.
///
///     session.upload(multipartFormData: { form in
///         form.append(Data("Ada".utf8), withName: "name")
///         form.append(photo, withName: "photo")
///     }, to: url)
///
/// Files are read while they are sent, never as a whole, and the length of the body is known in advance. Names and file
/// names are escaped as browsers do. The first error of an `append` is stored and thrown when the form is used. A form
/// with an `InputStream` can be sent once; all others can be sent again for redirects and retries.
// SAFETY: the mutable state is protected by a lock; `fileManager` is only queried, which is allowed from any thread.
open class MultipartFormData: @unchecked Sendable {
    /// Alamofire's limit between memory and temporary files. Curlew streams every form; only in files that import
    /// CurlewAlamofire are shorter forms sent from memory.
    public static let encodingMemoryThreshold: UInt64 = 10_000_000

    /// The boundary between the parts.
    public let boundary: String

    private struct State {
        var parts: [MultipartPart] = []
        var appendError: CurlewError?
        var throttle: BodyThrottle?
    }

    private let state: Lock<State>
    let fileManager: FileManager

    /// Creates an empty form. The boundary consists of random digits unless you pass one.
    public init(fileManager: FileManager = .default, boundary: String? = nil) {
        self.fileManager = fileManager
        self.boundary = boundary ?? Self.randomBoundary()
        state = Lock(State())
    }

    /// Creates a form and passes it to `fill`.
    package static func filled(by fill: (MultipartFormData) -> Void, _ fileManager: FileManager) -> MultipartFormData {
        let form = MultipartFormData(fileManager: fileManager)
        fill(form)
        return form
    }

    var parts: [MultipartPart] { state.withLock { $0.parts } }
    var appendError: CurlewError? { state.withLock { $0.appendError } }
    var throttle: BodyThrottle? { state.withLock { $0.throttle } }

    /// The value for `Content-Type`. The boundary is quoted if it contains characters that an unquoted parameter cannot
    /// have (RFC 2045, 5.1), for example a colon.
    open var contentType: String {
        "multipart/form-data; boundary=" + (boundary.isHTTPToken ? boundary : "\"\(boundary)\"")
    }

    /// The number of bytes in all parts, without delimiters and headers.
    public var contentLength: UInt64 {
        parts.reduce(0) { sum, part in
            let (total, overflows) = sum.addingReportingOverflow(part.length)
            return overflows ? .max : total
        }
    }

    /// Limits the speed: packets of at most `packetSize` bytes are sent with a pause of `delay` seconds after each.
    package func throttle(packetSize: Int, delay: TimeInterval) {
        state.withLock { $0.throttle = BodyThrottle(packetSize: max(packetSize, 1), delay: max(delay, 0)) }
    }

    /// Returns a copy that can be changed independently. Input streams are shared, so only one of the two forms can
    /// send them.
    package func copy() -> MultipartFormData {
        let copy = MultipartFormData(fileManager: fileManager, boundary: boundary)
        let current = state.withLock { $0 }
        copy.state.withLock { $0 = current }
        return copy
    }

    func append(_ part: MultipartPart) {
        if let bad = part.headers.first(where: { !$0.isValid }) { fail(.formHeader(bad.name)) }
        state.withLock { state in
            if state.appendError == nil { state.parts.append(part) }
        }
    }

    func fail(_ error: CurlewError) {
        state.withLock { $0.appendError = $0.appendError ?? error }
    }

    /// A random boundary. It is as long as Alamofire's, so that forms have equal lengths.
    private static func randomBoundary() -> String {
        func digits(_ count: Int) -> String {
            let text = String(UInt64.random(in: 0..<(1 << (4 * count))), radix: 16)
            return String(repeating: "0", count: count - text.count) + text
        }
        return "curlew.boundary." + digits(8) + digits(11)
    }
}
