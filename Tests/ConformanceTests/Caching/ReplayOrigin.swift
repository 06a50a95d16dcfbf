internal import Curlew
internal import CurlewCore
internal import CurlewLocks
internal import CurlewTesting
internal import Foundation

/// The clock of one case, which advances only when a test advances it.
final class ReplayClock: Sendable {
    private let time = Lock(Date(timeIntervalSince1970: 1_800_000_000.25))

    var now: Date { time.withLock { $0 } }

    func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}

/// The server of `http-cache-tests`, for one run of one case.
final class ReplayOrigin: Sendable {
    struct Entry: Sendable {
        let number: Int
        let method: String
        let requestHeaders: HTTPHeaders
        /// The response's fields that the client must receive.
        let remembered: [HTTPHeader]
    }

    let token = "token-of-the-body"
    let steps: [ReplayStep]
    let clock: ReplayClock
    private let log = Lock([Entry]())

    init(_ steps: [ReplayStep], clock: ReplayClock) {
        self.steps = steps
        self.clock = clock
    }

    var entries: [Entry] { log.withLock { $0 } }

    func url(of step: ReplayStep) -> String {
        var url = "http://origin.test/test/\(token)"
        if let filename = step.filename { url += "/" + filename }
        if let query = step.query_arg { url += "?" + query }
        return url
    }

    func answer(_ request: MockRequest) -> MockResponse {
        let served = entries.count + 1
        let number = request.headers["Req-Num"].flatMap { Int($0) } ?? served
        guard steps.indices.contains(number - 1) else { return .status(409) }
        let step = steps[number - 1]
        // Every response takes at least 10 ms, with or without a pause.
        clock.advance(by: 0.01 + (step.response_pause ?? 0))
        var (status, phrase) = (step.response_status?.code ?? 200, step.response_status?.phrase ?? "OK")
        if step.expected_type?.hasSuffix("validated") == true {
            (status, phrase) = isUnchanged(request, number) ? (304, "Not Modified") : (999, "304 Not Generated")
        }
        let target = request.url.path(percentEncoded: true) + (request.url.query.map { "?" + $0 } ?? "")
        let numbers = (entries.map(\.number) + [number]).map(String.init).joined(separator: " ")
        var fields = [
            HTTPHeader(name: "Server-Base-Url", value: target),
            HTTPHeader(name: "Server-Request-Count", value: String(served)),
            HTTPHeader(name: "Client-Request-Count", value: String(number)),
            HTTPHeader(name: "Server-Now", value: String(Int64(clock.now.timeIntervalSince1970 * 1000))),
            HTTPHeader(name: "Request-Numbers", value: numbers),
        ]
        let own = (step.response_headers ?? []).map { (field: $0, value: text(of: $0, in: step, target)) }
        let names = own.map { $0.field.name.lowercased() }
        if !names.contains("content-type") { fields.append(HTTPHeader(name: "Content-Type", value: "text/plain")) }
        if !names.contains("date") { fields.append(HTTPHeader(name: "Date", value: HTTPDate.string(from: clock.now))) }
        fields += own.map { HTTPHeader(name: $0.field.name, value: $0.value) }
        log.withLock {
            $0.append(
                Entry(
                    number: number,
                    method: request.method.rawValue,
                    requestHeaders: request.headers,
                    remembered: own.filter(\.field.isChecked).map { HTTPHeader(name: $0.field.name, value: $0.value) }
                )
            )
        }
        if step.disconnect == true {
            return .failing(CurlewError(.receiveFailed, phase: .waiting, reason: "the server closed the connection"))
        }
        var response = MockResponse(
            status: status,
            reason: phrase,
            headers: HTTPHeaders(received: fields),
            body: [.bytes(Data((step.response_body ?? token).utf8))]
        )
        response.interim = (step.interim_responses ?? []).map { interim in
            let fields = interim.fields.map { HTTPHeader(name: $0.name, value: $0.rest.first?.text ?? "") }
            return ResponseHead(status: interim.status, headers: HTTPHeaders(received: fields))
        }
        return response
    }

    /// Whether the request has a validator of the response to the preceding request of the case.
    private func isUnchanged(_ request: MockRequest, _ number: Int) -> Bool {
        guard let last = entries.last(where: { $0.number == number - 1 }) ?? entries.last else { return false }
        let sent = HTTPHeaders(received: last.remembered)
        if let date = request.headers["If-Modified-Since"], date == sent["Last-Modified"] { return true }
        if let tag = request.headers["If-None-Match"], tag == sent["ETag"] { return true }
        return false
    }

    private func text(of field: ReplayField, in step: ReplayStep, _ target: String) -> String {
        let value = Self.text(of: field, number: field.rest.first, in: step, at: clock.now)
        guard step.magic_locations == true, ["location", "content-location"].contains(field.name.lowercased()) else {
            return value
        }
        return value.isEmpty ? target : target + "/" + value
    }

    /// Returns the value of a field. A number in a date field is an offset in seconds from `now`.
    static func text(of field: ReplayField, number: JSONValue?, in step: ReplayStep, at now: Date) -> String {
        let name = field.name.lowercased()
        guard case .integer(let seconds)? = number, dateFields.contains(name) else { return number?.text ?? "" }
        // Rounds down to whole seconds, as `Date` does.
        let date = Date(timeIntervalSince1970: (now.timeIntervalSince1970 + Double(seconds)).rounded(.down))
        let text = HTTPDate.string(from: date)
        return step.rfc850date?.contains(name) == true ? rfc850(text) : text
    }

    private static let dateFields = ["date", "expires", "last-modified", "if-modified-since", "if-unmodified-since"]

    /// Converts `Sun, 06 Nov 1994 08:49:37 GMT` to `Sunday, 06-Nov-94 08:49:37 GMT`.
    private static func rfc850(_ text: String) -> String {
        let names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
        let parts = text.split(separator: " ")
        let day = names.first { $0.hasPrefix(parts[0].prefix(3)) } ?? ""
        return "\(day), \(parts[1])-\(parts[2])-\(parts[3].suffix(2)) \(parts[4]) GMT"
    }
}

extension JSONValue {
    var text: String {
        switch self {
        case .string(let value): value
        case .integer(let value): String(value)
        case .number(let value): String(value)
        case .bool(let value): String(value)
        case .null, .array, .object, .data, .date: ""
        }
    }
}
