internal import Curlew
internal import Foundation

/// Keeps what an archive needs of an exchange while it happens.
struct ExchangeRecorder: Sendable {
    /// Bodies beyond that are counted, not kept.
    private static let limit = 16 << 20

    let isNeeded: Bool
    private var recordedHead: ResponseHead?
    private var bytes = Data()
    private var size: Int64 = 0

    init(isNeeded: Bool) { self.isNeeded = isNeeded }

    mutating func head(_ head: ResponseHead) {
        if isNeeded { recordedHead = head }
    }

    mutating func body(_ data: Data) {
        guard isNeeded else { return }
        size += Int64(data.count)
        if bytes.count + data.count <= Self.limit { bytes += data }
    }

    func write(to path: String, plan: RequestPlan, metrics: TransferMetrics?) throws {
        guard let head = recordedHead else { return }
        let isWhole = Int64(bytes.count) == size
        let text = isWhole ? String(validating: bytes, as: UTF8.self) : nil
        var sent: String?
        if case .data(let bytes) = plan.body { sent = String(validating: bytes, as: UTF8.self) }
        let started = metrics?.queued ?? Date()
        let document = HARDocument(
            creatorVersion: ToolContext.version,
            startedAt: started.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true)) + "Z",
            method: plan.method,
            url: plan.url,
            requestHeaders: plan.head(
                bodyLength: (try? plan.bodyLength()) ?? nil, acceptEncoding: AcceptedEncodings.value
            )
            .headers,
            requestBody: sent,
            requestContentType: plan.header("Content-Type"),
            requestBodySize: ((try? plan.bodyLength()) ?? nil) ?? -1,
            version: head.version.rawValue,
            status: head.status,
            reason: head.reason,
            responseHeaders: head.headers.map { HeaderField($0.name, $0.value) },
            responseBody: text,
            responseBase64: isWhole && text == nil ? bytes.base64EncodedString() : nil,
            responseSize: size,
            timing: metrics.map { TimingPhases($0) }
                ?? TimingPhases(lookupEnded: nil, connected: nil, secured: nil, sent: nil, firstByte: nil, ended: 0),
            remoteAddress: metrics?.remoteAddress
        )
        do throws(OutputFile.Failure) {
            let file = try OutputFile.create(InputFile.expanded(path))
            defer { close(file.descriptor) }
            try file.write(JSONWriter.indented(document.json))
        } catch {
            throw UsageError("cannot write \(path): \(error.text)")
        }
    }
}
