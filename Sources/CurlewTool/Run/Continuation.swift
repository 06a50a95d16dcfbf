internal import Curlew
internal import CurlewCore
internal import Foundation

/// Finds the data with which `--continue` resumes: a resume file of this tool, or the beginning of a file without one.
struct Continuation: Sendable {
    let preparation: Preparation
    let session: Session
    let job: DownloadJob
    /// The path of the complete file.
    let path: String

    private var resumePath: String { DownloadName.resumeFile(for: path) }

    /// Returns the resume data. `nil` if there is nothing to resume.
    func resumeData() async throws -> Data? {
        if InputFile.exists(resumePath) {
            var data = try ResumeData(Data(try InputFile.read(resumePath)))
            // A signed URL differs each time. The validator tells if it is the same file.
            if let url = URL(string: preparation.plan.url) { data.url = url }
            return data.encoded
        }
        guard let partial = UnfinishedFile(at: path) else { return nil }
        return try adopt(partial, try await ask(about: partial))
    }

    private func ask(about partial: UnfinishedFile) async throws -> UnfinishedFile.Match {
        let end = try partial.end()
        var asking = try preparation.plan.urlRequest()
        asking.setValue(ByteRange.bytes(partial.compared).headerValue, forHTTPHeaderField: "Range")
        let request = session.streamRequest(asking)
        request.validate(statusCode: Array(200..<300) + [416])
        preparation.authenticate(request)
        guard await job.asks(request) else { throw ToolFailure.interrupted }
        let head = try await request.head()
        var body = Data()
        if head.status == 206 {
            for try await chunk in request.chunks {
                body += chunk
                if body.count > end.count { break }
            }
        }
        request.cancel()
        return try partial.match(head, body: body, end: end)
    }

    /// Turns the partial file into an interrupted download of curlew: hides it under a random name and writes a resume
    /// file.
    private func adopt(_ partial: UnfinishedFile, _ match: UnfinishedFile.Match) throws -> Data {
        guard let url = URL(string: preparation.plan.url) else { return Data() }
        let place = URL(filePath: path)
        let hidden = place.deletingLastPathComponent().appending(
            path: PartialFileName.make(.random(in: .min ... .max)),
            directoryHint: .notDirectory
        )
        let data = ResumeData(
            url: url,
            validator: match.validator,
            bytesWritten: partial.size,
            expectedTotal: match.total,
            file: hidden.path(percentEncoded: false)
        ).encoded
        // The resume file is written first. In the reverse order, a crash between the two steps would leave the bytes
        // under a hidden name that no file mentions.
        do {
            try PrivateFile.replace(resumePath, with: Array(data))
        } catch {
            throw UsageError("cannot write \(resumePath): \(error.text)")
        }
        do {
            try FileManager.default.moveItem(at: place, to: hidden)
            // The library refuses to resume a file to which others have rights.
            try FileManager.default.setAttributes(Self.mode, ofItemAtPath: hidden.path(percentEncoded: false))
        } catch {
            try? FileManager.default.removeItem(atPath: resumePath)
            throw UsageError("cannot continue \(path): \(error.localizedDescription)")
        }
        return data
    }

    private static var mode: [FileAttributeKey: Any] { [.posixPermissions: 0o600] }
}

/// Adds the plan's fields to a request that was made from resume data, which contains no secrets.
struct PlannedFields: RequestInterceptor {
    let plan: RequestPlan

    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        var request = urlRequest
        for field in plan.headers { request.setValue(field.value, forHTTPHeaderField: field.name) }
        return request
    }
}

/// A file that another program may have downloaded in part. To find out if it is the beginning of the server's file,
/// the server is asked for the bytes at its end.
struct UnfinishedFile: Equatable, Sendable {
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
            throw refusal("the server sent a different part than requested, so \(path) cannot be continued")
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
