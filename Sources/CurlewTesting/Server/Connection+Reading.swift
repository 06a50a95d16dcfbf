internal import Curlew
internal import CurlewCore
internal import Foundation

extension Connection {
    private enum Arrival { case bytes, nothing(Need), end }

    func readHead(_ now: ContinuousClock.Instant) -> Need? {
        while true {
            switch speaksHTTP2() {
            case true?:
                replaceRest(with: [.multiplex])
                return nil
            case nil:
                if let need = readMore(4_096, now) { return need }
                continue
            case false?: break
            }
            if let event = parser.next(&input) {
                switch event {
                case .head(let head):
                    headArrived(head)
                    return nil
                case .invalid(let reason):
                    return refuse(reason)
                case .body, .end:
                    continue
                }
            }
            if let need = readMore(4_096, now) { return need }
        }
    }

    func readBody(upTo limit: Int64?, _ now: ContinuousClock.Instant) -> Need? {
        while true {
            guard let request, !request.isBodyComplete else { return nil }
            let room = limit.map { $0 - request.bodyByteCount } ?? .max
            guard room > 0 else { return nil }
            if let event = parser.next(&input, most: Int(min(room, 1 << 20))) {
                switch event {
                case .body(let part): bodyArrived(part)
                case .end(let trailers): bodyEnded(trailers)
                case .invalid(let reason): return refuse(reason)
                case .head: continue
                }
                continue
            }
            if let need = readMore(65_536, now) { return need }
        }
    }

    /// Sends each piece back before it reads the next one, so a peer that does not read the response is not read
    /// either.
    func echoBody(_ now: ContinuousClock.Instant) -> Need? {
        while true {
            if let need = flush(now) { return need }
            guard let request, !request.isBodyComplete else { return nil }
            guard let event = parser.next(&input, most: BodyCursor.portion) else {
                if let need = readMore(BodyCursor.portion, now) { return need }
                continue
            }
            switch event {
            case .body(let part):
                bodyArrived(part)
                output = BodyCursor.chunk(part)
                outputStart = 0
            case .end(let trailers):
                bodyEnded(trailers)
                if let request = self.request { server.recorder.add(request) }
            case .invalid(let reason): return refuse(reason)
            case .head: continue
            }
        }
    }

    func drain(_ limit: Duration?, _ now: ContinuousClock.Instant) -> Need? {
        if let limit, stepWait.end == nil { stepWait.end = now + limit }
        while stepWait.end.map({ now < $0 }) ?? true {
            switch receive(65_536, into: { _ in }) {
            case .bytes: continue
            case .nothing(let need):
                guard case .readable = need, let end = stepWait.end else { return need }
                return .readableUntil(end)
            case .end:
                stepWait.end = nil
                return nil
            }
        }
        stepWait.end = nil
        return nil
    }

    /// Records the request that the peer did not finish.
    func recordAborted() {
        if let http2 { return http2.recordAborted() }
        guard var aborted = request ?? headless() else { return }
        guard !aborted.isBodyComplete else { return }
        aborted.rawBytes = Data(parser.raw) + Data(input.prefix(max(0, parser.rawLimit - parser.raw.count)))
        aborted.bodySHA256 = Checksum.hex(bodyDigest?.finish() ?? [])
        server.recorder.addAborted(aborted)
        request = nil
    }

    private func headless() -> TestServer.Request? {
        guard !input.isEmpty else { return nil }
        return TestServer.Request(
            method: "",
            target: "",
            version: .http1_1,
            headers: [:],
            connection: number,
            indexOnConnection: exchanges,
            peerPort: peerPort,
            serverPort: server.port,
            isSecure: server.isSecure
        )
    }

    /// Reads available bytes; returns `nil` when some have arrived. The caller limits the read while it parses the
    /// head, so that most of a body stays in the kernel until the reading pace is known.
    func readMore(_ most: Int, _ now: ContinuousClock.Instant) -> Need? {
        if let readTime, now < readTime { return .time(readTime) }
        let arrival = receive(min(most, readPace?.bytes ?? most)) { input.append($0) }
        switch arrival {
        case .bytes:
            if let readPace { readTime = now + readPace.every }
            return nil
        case .nothing(let need):
            return need
        case .end:
            recordAborted()
            close()
            return .event
        }
    }

    private func receive(_ most: Int, into take: (UnsafeRawBufferPointer) -> Void) -> Arrival {
        withUnsafeTemporaryAllocation(byteCount: most, alignment: 1) { buffer in
            switch wire.receive(into: buffer) {
            case .moved(let count):
                server.recorder.received(count)
                take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                return .bytes
            case .needs(let need):
                return .nothing(need)
            case .ended:
                return .end
            }
        }
    }

    private func headArrived(_ head: RequestParser.Head) {
        let arrived = TestServer.Request(
            method: head.method,
            target: head.target,
            version: head.version,
            headers: head.headers,
            connection: number,
            indexOnConnection: exchanges,
            peerPort: peerPort,
            serverPort: server.port,
            isSecure: server.isSecure
        )
        request = arrived
        if chosen == nil, let scripted = server.router.takeScripted(arrived.rawPath) {
            chosen = scripted
            append(ResponseSteps.beforeReading(scripted))
        }
        if head.hasBody, let expectation = server.expectation(of: arrived, chosen) {
            switch expectation {
            case .answer:
                if chosen?.readsBody != false { append([.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))]) }
            case .ignore:
                break
            case .refuse:
                chosen = .refusal
            }
        }
        append(chosen.map(ResponseSteps.readingBody) ?? [.readBody(upTo: nil)])
        if chosen?.readsBody == false { request?.rawBytes = Data(parser.raw) }
        append([.answer])
    }

    private func bodyArrived(_ part: ArraySlice<UInt8>) {
        part.withUnsafeBytes { bodyDigest?.update($0) }
        request?.bodyByteCount += Int64(part.count)
        let room = server.configuration.bodyLimit - (request?.body.count ?? 0)
        if room > 0 { request?.body.append(contentsOf: part.prefix(room)) }
    }

    private func bodyEnded(_ trailers: HTTPHeaders) {
        request?.trailers = trailers
        request?.isBodyComplete = true
        request?.bodySHA256 = Checksum.hex(bodyDigest?.finish() ?? [])
        request?.rawBytes = Data(parser.raw)
    }

    /// Answers malformed HTTP with 400 and ends the connection.
    private func refuse(_ reason: String) -> Need? {
        recordAborted()
        let body = "bad request: \(reason)\n"
        let head = "HTTP/1.1 400 Bad Request\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
        replaceRest(with: [.send(Array((head + body).utf8))] + Step.ending)
        return nil
    }
}
