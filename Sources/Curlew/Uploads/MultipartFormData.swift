public import CurlewCore
internal import CurlewLocks
public import Foundation
internal import Glibc

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

    private var parts: [MultipartPart] { state.withLock { $0.parts } }
    private var appendError: CurlewError? { state.withLock { $0.appendError } }
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

    private func append(_ part: MultipartPart) {
        if let bad = part.headers.first(where: { !$0.isValid }) { fail(.formHeader(bad.name)) }
        state.withLock { state in
            if state.appendError == nil { state.parts.append(part) }
        }
    }

    private func fail(_ error: CurlewError) {
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

extension MultipartFormData {
    /// Appends a part with data in memory.
    public func append(_ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil) {
        append(
            MultipartPart(
                headers: Self.headers(name: name, fileName: fileName, mimeType: mimeType),
                content: .data(data),
                length: UInt64(data.count)
            )
        )
    }

    /// Appends a file. Its name and media type are derived from the URL; for a file without an extension use
    /// `append(_:withName:fileName:mimeType:)`.
    public func append(_ fileURL: URL, withName name: String) {
        let fileName = fileURL.lastPathComponent
        let pathExtension = fileURL.pathExtension
        guard !fileName.isEmpty, !pathExtension.isEmpty else {
            return fail(.formFile(fileURL, .unnamed))
        }
        append(fileURL, withName: name, fileName: fileName, mimeType: MIMETypes.type(forExtension: pathExtension))
    }

    /// Appends a file with the given name and media type.
    public func append(_ fileURL: URL, withName name: String, fileName: String, mimeType: String) {
        switch length(of: fileURL) {
        case .success(let length):
            append(
                MultipartPart(
                    headers: Self.headers(name: name, fileName: fileName, mimeType: mimeType),
                    content: .file(fileURL),
                    length: length
                )
            )
        case .failure(let error): fail(error)
        }
    }

    /// Appends `length` bytes of a stream. A shorter stream fails the request.
    public func append(
        _ stream: InputStream,
        withLength length: UInt64,
        name: String,
        fileName: String,
        mimeType: String
    ) {
        append(
            stream,
            withLength: length,
            headers: Self.headers(name: name, fileName: fileName, mimeType: mimeType)
        )
    }

    /// Appends `length` bytes of a stream with the given header fields.
    public func append(_ stream: InputStream, withLength length: UInt64, headers: HTTPHeaders) {
        append(MultipartPart(headers: headers, content: .stream(SharedInputStream(stream)), length: length))
    }

    /// Appends data with the given header fields.
    public func append(_ data: Data, headers: HTTPHeaders) {
        append(MultipartPart(headers: headers, content: .data(data), length: UInt64(data.count)))
    }

    /// Appends parameters, one part for each value.
    ///
    /// Data is sent unchanged, null as an empty part, and all other values as text. Containers give one part for each
    /// leaf, with the keys of `URLEncoding`.
    public func append(_ parameters: Parameters, arrayEncoding: URLEncodedFormEncoder.ArrayEncoding = .brackets) {
        let encoding = URLEncoding(arrayEncoding: arrayEncoding, boolEncoding: .literal)
        for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
            for (key, leaf) in encoding.leafValues(fromKey: name, value: value) {
                let text = leaf is NSNull ? "" : encoding.text(of: leaf)
                append(leaf as? Data ?? Data(text.utf8), withName: key)
            }
        }
    }

    private static func headers(name: String, fileName: String?, mimeType: String?) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            HTTPHeader(
                name: "Content-Disposition", value: MultipartLayout.formDisposition(name: name, filename: fileName))
        ]
        if let mimeType { headers.append(.contentType(mimeType)) }
        return headers
    }

    /// Checks a file and returns its length. The checks are Alamofire's, in its order.
    private func length(of fileURL: URL) -> Result<UInt64, CurlewError> {
        guard fileURL.isFileURL else { return .failure(.formFile(fileURL, .notFileURL)) }
        do {
            guard try fileURL.checkResourceIsReachable() else {
                return .failure(.formFile(fileURL, .unreachable))
            }
        } catch {
            return .failure(.formFile(fileURL, .unreachable, error))
        }
        var isDirectory: ObjCBool = false
        guard fileManager.fileExists(atPath: fileURL.path, isDirectory: &isDirectory), !isDirectory.boolValue else {
            return .failure(.formFile(fileURL, .directory))
        }
        let length: UInt64
        do {
            // The attributes of a symbolic link would contain the length of its target's path.
            let path = fileURL.resolvingSymlinksInPath().path
            let attributes = try fileManager.attributesOfItem(atPath: path)
            guard attributes[.type] as? FileAttributeType == .typeRegular,
                let size = attributes[.size] as? NSNumber
            else { return .failure(.formFile(fileURL, .sizeUnknown)) }
            length = size.uint64Value
        } catch {
            return .failure(.formFile(fileURL, .sizeUnknown, error))
        }
        guard access(fileURL.path, R_OK) == 0 else { return .failure(.formFile(fileURL, .unreadable)) }
        // The form's length is sent before its contents. Some files, such as those in /proc, have contents but report
        // no length.
        if length == 0, hasBytes(fileURL) { return .failure(.formFile(fileURL, .sizeUnknown)) }
        return .success(length)
    }

    private func hasBytes(_ fileURL: URL) -> Bool {
        guard let file = try? ReadableFile(fileURL) else { return false }
        return withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { byte in
            ((try? file.read(into: byte, at: 0)) ?? 0) > 0
        }
    }
}

extension MultipartFormData {
    private static let bufferSize = 64 * 1024

    /// Encodes the whole form in memory. Reads all files and streams before it returns.
    public func encode() throws -> Data { try encoded() }

    func encoded() throws(CurlewError) -> Data {
        var data = Data()
        try forEachPiece { bytes, _ throws(CurlewError) in data.append(contentsOf: bytes) }
        return data
    }

    /// Writes the whole form to a new file. Throws if the file exists.
    public func writeEncodedData(to fileURL: URL) throws {
        if let appendError { throw appendError }
        guard fileURL.isFileURL else {
            throw CurlewError.formFile(fileURL, .outputNotFileURL)
        }
        let file = try newFile(at: fileURL)
        do throws(CurlewError) {
            try forEachPiece { bytes, offset throws(CurlewError) in
                do throws(CurlewError) { try file.write(bytes, at: offset) } catch {
                    throw .formNotWritten(error.underlying ?? error)
                }
            }
        } catch {
            // An incomplete form is useless.
            try? fileManager.removeItem(at: fileURL)
            throw error
        }
    }

    /// Creates a file. Fails if it exists.
    private func newFile(at fileURL: URL) throws(CurlewError) -> OpenFile {
        do throws(CurlewError) {
            let file = try OpenFile.create(fileURL.path)
            // If this fails, the file stays private.
            try? file.setPermissions(FilePermissions.ofNewFile())
            return file
        } catch {
            throw .formFile(fileURL, error.native?.number == Int(EEXIST) ? .outputExists : .outputNotCreated)
        }
    }

    /// Returns a body with the current contents of the form.
    func body() throws(CurlewError) -> BodySource {
        let form = state.withLock { $0 }
        let layout = try layout(of: form)
        let position = FormPosition(layout: layout, parts: form.parts)
        let stream: any BodyStream
        // Only `BodyPump` implements the throttle.
        if form.throttle == nil, let form = FormStream(position, of: form.parts) {
            stream = form
        } else {
            stream = BodyPump(FormProducer(position), throttle: form.throttle)
        }
        return .stream(stream, length: layout.contentLength)
    }

    private func layout(of form: State) throws(CurlewError) -> MultipartLayout {
        if let error = form.appendError { throw error }
        return try MultipartLayout(
            boundary: boundary,
            parts: form.parts.map { MultipartLayout.Part(headers: $0.headers, length: Int64(clamping: $0.length)) }
        )
    }

    /// Whether all parts can be read again.
    var isReplayable: Bool { parts.allSatisfy(\.isReplayable) }

    /// Calls `body` with consecutive pieces of the encoded form, and the position of each. Reads all files and streams
    /// before it returns.
    func forEachPiece(_ body: (UnsafeRawBufferPointer, Int64) throws(CurlewError) -> Void) throws(CurlewError) {
        let form = state.withLock { $0 }
        var producer = FormProducer(FormPosition(layout: try layout(of: form), parts: form.parts))
        defer { producer.stop() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSize, alignment: 1)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try producer.produce(into: buffer)
            if count == 0 { return }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]), offset)
            offset += Int64(count)
        }
    }
}

/// A part of a form.
struct MultipartPart: Sendable {
    enum Content: Sendable {
        case data(Data)
        case file(URL)
        case stream(SharedInputStream)
    }

    let headers: HTTPHeaders
    let content: Content
    /// The declared length. Longer contents are cut; shorter contents are an error.
    let length: UInt64

    var isReplayable: Bool {
        switch content {
        case .data, .file: true
        case .stream: false
        }
    }
}

/// An input stream of a form. Copies of the form share it; only the first one that is sent gets it.
// SAFETY: `stream` is taken under the lock, once; after that only the taker has it.
final class SharedInputStream: @unchecked Sendable {
    private let fence = Lock(false)
    private var stream: InputStream?

    init(_ stream: InputStream) { self.stream = stream }

    func take() -> InputStream? {
        fence.withLock { _ in
            // SAFETY: this object drops its reference in the next line, so only the caller has the stream.
            nonisolated(unsafe) let taken = stream
            stream = nil
            return taken
        }
    }
}
