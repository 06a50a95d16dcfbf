internal import CurlewCore
internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// The result of a run. All awaiting methods share it, and each applies its rules to it.
final class RunResult: Sendable {
    let request: RequestSnapshot?
    let response: LazyResponse?
    /// The permitted trailer fields. `nil` if the response did not end completely.
    let trailers: HTTPHeaders?
    let metrics: TransferMetrics?
    let body: ReceivedBody
    let error: CurlewError?
    /// Whether the run has checked the status for awaiting methods. A run that handlers or `resume()` started has not.
    let isStatusChecked: Bool
    /// Whether `error` exists only because the awaiting method that started the run rejects unacceptable statuses.
    /// Always false for a rejected file: it is gone, so every caller gets the error.
    let isStatusCheckOnly: Bool
    let resumeData: Data?
    /// The names of the fields that the session treats as secret.
    let sensitiveHeaders: [String]

    init(
        request: RequestSnapshot? = nil,
        response: LazyResponse? = nil,
        trailers: HTTPHeaders? = nil,
        metrics: TransferMetrics? = nil,
        body: ReceivedBody = .none,
        error: CurlewError?,
        isStatusChecked: Bool = false,
        isStatusCheckOnly: Bool = false,
        resumeData: Data? = nil,
        sensitiveHeaders: [String] = []
    ) {
        self.request = request
        self.response = response
        self.trailers = trailers
        self.metrics = metrics
        self.body = body
        var error = error
        if let resumeData { error?.downloadResumeData = resumeData }
        self.error = error
        self.isStatusChecked = isStatusChecked
        self.isStatusCheckOnly = isStatusCheckOnly
        self.resumeData = resumeData
        self.sensitiveHeaders = sensitiveHeaders
    }

    /// The error that concerns every caller. A status that is rejected by default concerns only the awaiting methods
    /// that check it.
    var sharedError: CurlewError? { isStatusCheckOnly ? nil : error }
}

extension RunResult {
    /// A copy with another error.
    func failing(with error: CurlewError, resumeData: Data?) -> RunResult {
        changed(body: body, error: error, isStatusCheckOnly: false, resumeData: resumeData)
    }

    /// A copy without the body.
    var withoutBody: RunResult {
        changed(body: .none, error: error, isStatusCheckOnly: isStatusCheckOnly, resumeData: resumeData)
    }

    private func changed(
        body: ReceivedBody, error: CurlewError?, isStatusCheckOnly: Bool, resumeData: Data?
    ) -> RunResult {
        RunResult(
            request: request, response: response, trailers: trailers, metrics: metrics, body: body, error: error,
            isStatusChecked: isStatusChecked, isStatusCheckOnly: isStatusCheckOnly, resumeData: resumeData,
            sensitiveHeaders: sensitiveHeaders)
    }
}

extension RunResult {
    /// The bytes of the body, or the shared error.
    var unserializedData: Result<Data?, CurlewError> { sharedError.map { .failure($0) } ?? .success(body.contents) }
    /// The URL of the file, or the shared error.
    var unserializedFile: Result<URL?, CurlewError> { sharedError.map { .failure($0) } ?? .success(body.fileURL) }
}

/// The location of a received body.
enum ReceivedBody: Sendable {
    case none
    case data(Data)
    case file(URL)
    /// Delivered to a reader piece by piece.
    case streamed

    var data: Data? {
        switch self {
        case .data(let data): data
        case .none, .file, .streamed: nil
        }
    }

    var fileURL: URL? {
        switch self {
        case .file(let url): url
        case .none, .data, .streamed: nil
        }
    }

    /// The bytes of the body, from memory or from the file.
    var contents: Data? {
        switch self {
        case .none, .streamed: nil
        case .data(let data): data
        // Mapped, because the file may exceed the limit for bodies in memory.
        case .file(let url): try? Data(contentsOf: url, options: .mappedIfSafe)
        }
    }
}

/// A response's head, which is converted to Foundation's type on demand, and only once.
///
/// The conversion costs more than the rest of a small response and joins repeated fields, so Curlew itself uses the
/// head.
final class LazyResponse: Sendable {
    let url: URL
    let head: ResponseHead
    private let foundationResponse = AtomicLazyReference<HTTPURLResponse>()

    init(url: URL, head: ResponseHead) {
        self.url = url
        self.head = head
    }

    /// Creates a response from Foundation's type, for responses that users build.
    convenience init(_ response: HTTPURLResponse) {
        let fields = response.allHeaderFields.compactMap { name, value -> HTTPHeader? in
            guard let name = name as? String, let value = value as? String else { return nil }
            return HTTPHeader(name: name, value: value)
        }
        self.init(
            url: response.url ?? URL(filePath: "/"),
            head: ResponseHead(status: response.statusCode, headers: HTTPHeaders(received: fields))
        )
        _ = foundationResponse.storeIfNil(response)
    }

    /// `nil` if Foundation cannot express the response.
    var value: HTTPURLResponse? {
        if let made = foundationResponse.load() { return made }
        // If two threads convert the head at the same time, both get the result of the first.
        return Self.lift(head, url: url).map { foundationResponse.storeIfNil($0) }
    }

    private static func lift(_ head: ResponseHead, url: URL) -> HTTPURLResponse? {
        var fields: [String: String] = [:]
        var names: [String: String] = [:]
        for field in head.headers {
            // Foundation stores one value per name. Repeated fields are joined, as RFC 9110, 5.3 allows.
            let folded = field.name.lowercased()
            if let name = names[folded] {
                // Appends in place, because a server can repeat a name thousands of times in one head.
                fields[name]?.append(", " + field.value)
            } else {
                names[folded] = field.name
                fields[field.name] = field.value
            }
        }
        return HTTPURLResponse(
            url: url,
            statusCode: head.status,
            httpVersion: head.version.rawValue,
            headerFields: fields
        )
    }
}
