internal import Curlew
internal import Foundation

/// A file that another program may have downloaded in part. To find out if it is the beginning of the server's file,
/// the server is asked for the bytes at its end.
struct PartialFile: Equatable, Sendable {
    /// The properties of the response that allow the rest to be appended.
    struct Match: Equatable, Sendable {
        let validator: EntityValidator
        let total: Int64?
    }

    let path: String
    let size: Int64

    private static let mostCompared: Int64 = 65_536

    /// The range that is compared: the end of the file, where two versions with a common beginning most likely differ.
    var compared: ClosedRange<Int64> { max(0, size - Self.mostCompared)...(size - 1) }

    /// `nil` if there is no file, or if it is empty.
    init?(at path: String) {
        guard let size = InputFile.length(path), size > 0 else { return nil }
        self.init(path: path, size: size)
    }

    init(path: String, size: Int64) {
        self.path = path
        self.size = size
    }

    /// Returns the bytes of the `compared` range.
    func end() throws(UsageError) -> Data {
        do {
            let file = try FileHandle(forReadingFrom: URL(filePath: path))
            defer { try? file.close() }
            try file.seek(toOffset: UInt64(compared.lowerBound))
            return try file.read(upToCount: compared.count) ?? Data()
        } catch {
            throw UsageError("cannot read \(path): \(error.localizedDescription)")
        }
    }

    /// Checks the response to a request for `compared`. Throws if the file cannot be continued.
    func match(_ head: ResponseHead, body: Data, end: Data) throws(UsageError) -> Match {
        let range = head.headers.value(for: "Content-Range").flatMap { ContentRange($0) }
        switch head.status {
        case 206: break
        case 416: throw refusal("\(path) is longer than the file on the server")
        default: throw refusal("the server sends the whole file or nothing, so \(path) cannot be continued")
        }
        guard let range, let got = range.range, got.lowerBound == compared.lowerBound else {
            throw refusal("the server sent another part than it was asked for, so \(path) cannot be continued")
        }
        guard got.upperBound == compared.upperBound else {
            throw refusal("\(path) is longer than the file on the server")
        }
        if let coding = head.headers.value(for: "Content-Encoding"), coding.lowercased() != "identity" {
            throw refusal("the server sends the file encoded (\(coding)), so \(path) cannot be continued")
        }
        guard body == end else {
            throw refusal("\(path) is not the beginning of the file on the server: the last bytes differ")
        }
        guard let validator = EntityValidator(head.headers) else {
            throw refusal(
                "the server does not say which version of the file it sends (no strong ETag, no Last-Modified), "
                    + "so \(path) cannot be continued safely"
            )
        }
        return Match(validator: validator, total: range.length)
    }

    private func refusal(_ text: String) -> UsageError {
        UsageError(text, hint: "Without --continue it is fetched from its beginning.")
    }
}
