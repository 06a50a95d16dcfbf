internal import Curlew
internal import CurlewCore
internal import CurlewLocks
internal import CurlewTesting
internal import Foundation

/// Sends the requests of one case through a session with an empty cache, and checks the responses.
struct ReplayRun {
    enum Result: Equatable {
        case passed
        case failed(String)
        /// The set-up of the case failed, so the case has no result and does not count as passed.
        case setupFailed(String)
    }

    let item: ReplayCase
    let mode: CacheMode

    private struct Failure: Error {
        let what: String
        let isSetup: Bool
    }

    private struct Seen {
        let head: ResponseHead
        let body: String
    }

    func result() async throws -> Result {
        let clock = ReplayClock()
        let origin = ReplayOrigin(item.requests, clock: clock)
        let transport = MockTransport { origin.answer($0) }
        let cache = ResponseCache(store: MemoryCacheStore(), mode: mode, clock: { clock.now })
        let session = Session(
            configuration: SessionConfiguration {
                $0.cache = cache
                $0.headers = [:]
            },
            transport: transport,
            redirectHandler: .doNotFollow
        )
        var result = Result.passed
        do {
            var seen: [Int: Seen] = [:]
            for (index, step) in item.requests.enumerated() {
                seen[index + 1] = try await send(step, index + 1, after: seen[index], origin, session)
                // The pause lets background revalidations end.
                if step.pause_after == true {
                    await session.untilCacheIsIdle()
                    clock.advance(by: 3)
                }
                clock.advance(by: 0.01)
            }
            try check(origin, seen)
        } catch let failure as Failure {
            result = failure.isSetup ? .setupFailed(failure.what) : .failed(failure.what)
        }
        await session.invalidate()
        return result
    }

    // MARK: One request

    private func send(
        _ step: ReplayStep,
        _ number: Int,
        after last: Seen?,
        _ origin: ReplayOrigin,
        _ session: Session
    ) async throws -> Seen? {
        let count = origin.entries.count
        var headers = HTTPHeaders()
        for field in step.request_headers ?? [] {
            var now = origin.clock.now
            if step.magic_ims == true, let sent = last?.head.headers["Server-Now"].flatMap(Double.init) {
                now = Date(timeIntervalSince1970: sent / 1000)
            }
            let value = ReplayOrigin.text(of: field, number: field.rest.first, in: step, at: now)
            if let other = headers[field.name] {
                headers.add(name: field.name, value: other + ", " + value)
            } else {
                headers.append(name: field.name, value: value)
            }
        }
        headers.append(name: "Test-ID", value: item.id)
        headers.append(name: "Req-Num", value: String(number))
        let method = HTTPMethod(rawValue: step.request_method ?? "GET")
        let request =
            if let body = step.request_body {
                session.upload(Data(body.utf8), to: origin.url(of: step), method: method, headers: headers)
            } else {
                session.request(origin.url(of: step), method: method, headers: headers)
            }
        if let policy = Self.policy(step.cache) { request.cachePolicy(policy) }
        let response = await request.response()
        guard let head = response.head, response.error == nil else {
            // In a case with `disconnect` the server closes the connection instead of sending a response.
            guard step.disconnect == true, step.expected_type != "cached" else {
                throw Failure(
                    what: "\(number): \(response.error?.description ?? "no head")", isSetup: step.setup == true)
            }
            return nil
        }
        let seen = Seen(head: head, body: String(decoding: response.data ?? Data(), as: UTF8.self))
        try check(seen, step, number, origin, isFromServer: origin.entries.count > count)
        return seen
    }

    private static func policy(_ mode: String?) -> CachePolicy? {
        switch mode {
        case "reload", "no-store": .reload
        case "no-cache": .revalidate
        case "force-cache": .preferStored
        case "only-if-cached": .onlyStored
        default: nil
        }
    }

    // MARK: Checks of a response

    private func check(
        _ seen: Seen,
        _ step: ReplayStep,
        _ number: Int,
        _ origin: ReplayOrigin,
        isFromServer: Bool
    ) throws {
        func require(_ isRight: Bool, _ what: String, setup: Bool) throws {
            if !isRight { throw Failure(what: "\(number): \(what)", isSetup: setup) }
        }
        let (head, fields) = (seen.head, seen.head.headers)
        let numbers = fields["Request-Numbers"]?.split(separator: " ") ?? []
        try require(Set(numbers).count == numbers.count, "a request was sent twice", setup: true)
        let served = fields["Server-Request-Count"].flatMap { Int($0) }
        let isSetup = step.isSetup("expected_type")
        switch step.expected_type {
        case "cached":
            let isCached = served.map { $0 < number } ?? (head.status == 304)
            try require(isCached, "not served from the cache", setup: isSetup)
        case "not_cached": try require(served == number, "served from the cache", setup: isSetup)
        default: break
        }
        if step.present.contains("expected_status") {
            if case .integer(let status)? = step.expected_status {
                try require(head.status == status, "status \(head.status)", setup: step.isSetup("expected_status"))
            }
        } else if let status = step.response_status?.code {
            try require(head.status == status, "status \(head.status)", setup: true)
        } else if head.status == 999 {
            throw Failure(what: "\(number): should have been conditional", isSetup: isSetup)
        } else {
            try require(head.status == 200, "status \(head.status)", setup: true)
        }
        try checkFields(of: seen, step, number)
        if let interim = step.expected_interim_responses {
            let sent = isFromServer ? step.interim_responses?.count ?? 0 : 0
            try require(sent == interim.count, "\(sent) interim responses", setup: false)
        }
        guard step.check_body != false else { return }
        if step.present.contains("expected_response_text") {
            guard case .string(let text)? = step.expected_response_text else { return }
            try require(seen.body == text, "body '\(seen.body)'", setup: step.isSetup("expected_response_text"))
        } else if let text = step.response_body {
            try require(seen.body == text, "body '\(seen.body)'", setup: true)
        } else if head.status != 204, head.status != 304, step.request_method != "HEAD" {
            try require(seen.body == origin.token, "body '\(seen.body)'", setup: true)
        }
    }

    private func checkFields(of seen: Seen, _ step: ReplayStep, _ number: Int) throws {
        let fields = seen.head.headers
        let now = fields["Server-Now"].flatMap(Double.init).map { Date(timeIntervalSince1970: $0 / 1000) } ?? Date()
        for field in step.expected_response_headers ?? [] {
            let isSetup = step.isSetup("expected_response_headers")
            func fail(_ what: String) -> Failure { Failure(what: "\(number): \(field.name) \(what)", isSetup: isSetup) }
            guard let value = fields.combinedValue(for: field.name) else { throw fail("is missing") }
            if field.rest.count == 2, case .string("=") = field.rest[0] {
                guard value == fields.combinedValue(for: field.rest[1].text) else { throw fail("is \(value)") }
            } else if field.rest.count == 2, case .string(">") = field.rest[0] {
                guard let number = Int(value), number > Int(field.rest[1].text) ?? 0 else { throw fail("is \(value)") }
            } else if let expected = field.rest.first {
                let text = ReplayOrigin.text(of: field, number: expected, in: step, at: now)
                guard value == text else { throw fail("is \(value), not \(text)") }
            }
        }
        for field in step.expected_response_headers_missing ?? [] {
            guard let value = fields.combinedValue(for: field.name) else { continue }
            if let unwanted = field.rest.first?.text, value != unwanted { continue }
            let isSetup = step.isSetup("expected_response_headers_missing")
            throw Failure(what: "\(number): \(field.name) is there", isSetup: isSetup)
        }
    }

    // MARK: Checks of the requests that the server received

    private func check(_ origin: ReplayOrigin, _ seen: [Int: Seen]) throws {
        var entries = origin.entries[...]
        for (index, step) in item.requests.enumerated() where step.expected_type != "cached" {
            let number = index + 1
            guard let entry = entries.popFirst() else {
                throw Failure(what: "\(number): the server did not see it", isSetup: step.isSetup("expected_type"))
            }
            func require(_ isRight: Bool, _ what: String, _ check: String) throws {
                if !isRight { throw Failure(what: "\(number): \(what)", isSetup: step.isSetup(check)) }
            }
            switch step.expected_type {
            case "not_cached": try require(entry.number == number, "the server saw another", "expected_type")
            case "etag_validated":
                try require(entry.requestHeaders.contains(name: "If-None-Match"), "no If-None-Match", "expected_type")
            case "lm_validated":
                let isThere = entry.requestHeaders.contains(name: "If-Modified-Since")
                try require(isThere, "no If-Modified-Since", "expected_type")
            default: break
            }
            for field in step.expected_request_headers ?? [] {
                let value = entry.requestHeaders.combinedValue(for: field.name)
                let isRight = field.rest.first.map { value == $0.text } ?? (value != nil)
                try require(isRight, "request's \(field.name) is \(value ?? "missing")", "expected_request_headers")
            }
            for field in step.expected_request_headers_missing ?? [] {
                let value = entry.requestHeaders.combinedValue(for: field.name)
                let isRight = value == nil || field.rest.first.map { value != $0.text } == true
                try require(isRight, "request has \(field.name)", "expected_request_headers_missing")
            }
            if let method = step.expected_method {
                try require(entry.method == method, "the server saw \(entry.method)", "expected_method")
            }
            try checkRemembered(entry, seen[entry.number])
        }
    }

    private func checkRemembered(_ entry: ReplayOrigin.Entry, _ seen: Seen?) throws {
        guard let seen else { return }
        let sent = HTTPHeaders(received: entry.remembered)
        for field in entry.remembered where field.name.lowercased() != "date" {
            guard seen.head.headers.combinedValue(for: field.name) != sent.combinedValue(for: field.name) else {
                continue
            }
            throw Failure(what: "\(entry.number): \(field.name) was not seen as it was sent", isSetup: true)
        }
    }
}
