internal import Curlew
internal import CurlewCore
internal import Foundation

/// What `--continue` goes on with: a resume file of this tool, or the beginning of a file without one.
struct Continuation: Sendable {
    let preparation: Preparation
    let session: Session
    let job: DownloadJob
    /// Where the complete file is to be.
    let path: String

    private var resumePath: String { DownloadName.resumeFile(for: path) }

    /// nil where there is nothing to go on with.
    func resumeData() async throws -> Data? {
        if InputFile.exists(resumePath) {
            var data = try ResumeData(Data(try InputFile.read(resumePath)))
            // A signed address is another one each time; the validator says whether it is the same file.
            if let url = URL(string: preparation.plan.url) { data.url = url }
            return data.encoded
        }
        guard let partial = PartialFile(at: path) else { return nil }
        return try adopt(partial, try await ask(about: partial))
    }

    private func ask(about partial: PartialFile) async throws -> PartialFile.Match {
        let end = try partial.end()
        var asking = try preparation.plan.urlRequest()
        asking.setValue(ByteRange.bytes(partial.compared).headerValue, forHTTPHeaderField: "Range")
        let request = session.streamRequest(asking)
        request.validate(statusCode: Array(200..<300) + [416])
        if let authentication = preparation.auth.flatMap({ TransferAuthentication($0) }) {
            request.authenticate(with: authentication)
        }
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

    /// Makes it a download of ours that was cut short: out of the way under a hidden name, with a resume file.
    private func adopt(_ partial: PartialFile, _ match: PartialFile.Match) throws -> Data {
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
        // The resume file first: whatever happens in between, the bytes can be found.
        do {
            try PrivateFile.replace(resumePath, with: Array(data))
        } catch {
            throw UsageError("cannot write \(resumePath): \(error.text)")
        }
        do {
            try FileManager.default.moveItem(at: place, to: hidden)
            // What others may write to is not gone on with.
            try FileManager.default.setAttributes(Self.mode, ofItemAtPath: hidden.path(percentEncoded: false))
        } catch {
            try? FileManager.default.removeItem(atPath: resumePath)
            throw UsageError("cannot go on with \(path): \(error.localizedDescription)")
        }
        return data
    }

    private static var mode: [FileAttributeKey: Any] { [.posixPermissions: 0o600] }
}

/// Puts a plan's fields onto a request that was made from resume data, which has no secrets in it.
struct PlannedFields: RequestInterceptor {
    let plan: RequestPlan

    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        var request = urlRequest
        for field in plan.headers { request.setValue(field.value, forHTTPHeaderField: field.name) }
        return request
    }
}
