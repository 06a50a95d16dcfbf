public import CurlewCore
public import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

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
            // The length of a symbolic link is that of its target's path.
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
        // A form declares its length first. The system reports no length for some files, for example those in /proc.
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
