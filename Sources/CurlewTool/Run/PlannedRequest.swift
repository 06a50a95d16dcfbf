internal import Curlew
internal import Foundation

extension RequestPlan {
    /// Returns the library's request, with the body only if it is in memory.
    func urlRequest() throws -> URLRequest {
        guard let address = URL(string: url) else { throw UsageError("'\(url)' is not a URL") }
        var request = URLRequest(url: address)
        request.httpMethod = method
        for field in headers { request.setValue(field.value, forHTTPHeaderField: field.name) }
        if case .data(let bytes) = body { request.httpBody = Data(bytes) }
        return request
    }

    /// Returns the library's form. If `isHollow` is true, its files are empty, so that only the framing is encoded.
    static func form(
        _ parts: [MultipartPart],
        boundary: String,
        isHollow: Bool = false
    ) throws -> MultipartFormData {
        let form = MultipartFormData(boundary: boundary)
        for part in parts {
            switch part.content {
            case .text(let text):
                form.append(Data(text.utf8), withName: part.name)
            case .file(let path, let mediaType):
                guard InputFile.exists(InputFile.expanded(path)) else {
                    throw UsageError("cannot read \(path): no such file")
                }
                let (url, name, type) = Self.description(of: path, mediaType)
                if isHollow {
                    form.append(Data(), withName: part.name, fileName: name, mimeType: type)
                } else {
                    form.append(url, withName: part.name, fileName: name, mimeType: type)
                }
            case .bytes(let bytes, let path, let mediaType):
                let (_, name, type) = Self.description(of: path, mediaType)
                form.append(isHollow ? Data() : Data(bytes), withName: part.name, fileName: name, mimeType: type)
            }
        }
        return form
    }

    private static func description(of path: String, _ mediaType: String?) -> (url: URL, name: String, type: String) {
        let url = URL(filePath: InputFile.expanded(path))
        return (url, url.lastPathComponent, mediaType ?? MediaTypes.guess(path: path) ?? MediaTypes.unknown)
    }

    /// Returns the length of the body. `nil` if it is not known in advance.
    func bodyLength() throws -> Int64? {
        switch body {
        case .none: 0
        case .data(let bytes): Int64(bytes.count)
        case .file(let path): InputFile.length(path)
        case .standardInput: nil
        case .multipart(let parts, let boundary):
            try Self.length(of: parts, boundary: boundary)
        }
    }

    /// Returns the body for `--print=B`, or a description if it is large or streamed.
    func bodyPreview() throws -> [UInt8]? {
        let limit: Int64 = 1 << 20
        switch body {
        case .none: return nil
        case .data(let bytes): return bytes
        case .standardInput: return Array("(standard input, sent while it comes)".utf8)
        case .file(let path):
            guard let length = InputFile.length(path), length > limit else { return try InputFile.read(path) }
            return Array("(\(Amount.bytes(length)) of \(path))".utf8)
        case .multipart(let parts, let boundary):
            let form = try Self.form(parts, boundary: boundary)
            let length = try Self.length(of: parts, boundary: boundary)
            guard length <= limit else { return Array("(\(Amount.bytes(length)) of multipart/form-data)".utf8) }
            return Array(try form.encode())
        }
    }

    /// Returns the length of a form: its framing and the current sizes of its files.
    private static func length(of parts: [MultipartPart], boundary: String) throws -> Int64 {
        var length = Int64(try form(parts, boundary: boundary, isHollow: true).encode().count)
        for part in parts {
            switch part.content {
            case .text: break
            case .file(let path, _): length += InputFile.length(path) ?? 0
            case .bytes(let bytes, _, _): length += Int64(bytes.count)
            }
        }
        return length
    }
}
