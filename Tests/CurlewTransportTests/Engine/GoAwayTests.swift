internal import CCurl
import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

/// HTTP/2 servers announce the end of a connection with the last stream that they process.
@Suite("Requests above a GOAWAY")
struct GoAwayTests {
    /// A transfer whose request libcurl has sent, on stream 7 of connection `port`.
    private func sent(_ parts: EngineParts, port: Int32 = 40_000) throws -> ActiveTransfer {
        let transfer = try started(parts)
        send(transfer, port: port)
        return transfer
    }

    private func started(_ parts: EngineParts, _ method: HTTPMethod = .post) throws -> ActiveTransfer {
        let url = try #require(URL(string: "http://a.example/"))
        let transfer = try parts.transport.makeTransfer(
            request(url, method: method, body: method == .post ? .data(Data("pay".utf8)) : .none), NoSink.shared)
        parts.transfers.start(transfer)
        return transfer
    }

    private func name(port: Int32) -> ConnectionName {
        ConnectionName(local: .init(address: nil, port: port), peer: .init(address: nil, port: 443))
    }

    private func send(_ transfer: ActiveTransfer, port: Int32) {
        transfer.sending.count = 1
        transfer.connection.name = name(port: port)
        _ = record("Using Stream ID: 7 (easy handle 0x5581)\n", transfer)
    }

    /// Asks for permission to send, as libcurl does, and sends on stream 7. Afterwards libcurl has sent no byte.
    private func ask(_ transfer: ActiveTransfer, _ parts: EngineParts, port: Int32 = 40_000) {
        #expect(transfer.authorizeSend(parts.transfers, over: name(port: port)))
        _ = record("Using Stream ID: 7 (easy handle 0x5581)\n", transfer)
    }

    private func record(_ line: String, _ transfer: ActiveTransfer) -> DeliveryEvidence.GoAway? {
        var line = line
        return line.withUTF8 { transfer.sending.evidence.record(UnsafeRawBufferPointer($0)) }
    }

    private func goAway(_ transfer: ActiveTransfer, last: Int, error: Int = 0) {
        let goAway = record("received GOAWAY, error=\(error), last_stream=\(last)\n", transfer)
        #expect(goAway == DeliveryEvidence.GoAway(lastProcessed: last, asksForCalm: error == 11))
    }

    /// Starts the transfer over, and sends it again on stream 7 of another connection. Returns false if it does not.
    private func restart(_ transfer: ActiveTransfer, _ parts: EngineParts) throws -> Bool {
        guard parts.restart(transfer, after: CURLE_SEND_ERROR) else { return false }
        #expect(!transfer.sending.hasBegun)
        send(transfer, port: 40_001)
        return true
    }

    @Test("a server that processes other requests on the connection may refuse a request a hundred times")
    func progress() throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try sent(parts)
            for last in 0..<100 {
                goAway(transfer, last: last % 6 + 1)
                #expect(try restart(transfer, parts))
            }
            goAway(transfer, last: 5)
            #expect(try restart(transfer, parts) == false)
        }
    }

    @Test("a server that processes nothing is tried five times", arguments: [1, 5, 6])
    func noProgress(count: Int) throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try started(parts)
            var attempts = 0
            while attempts < 100 {
                for _ in 0..<count {
                    ask(transfer, parts)
                    goAway(transfer, last: 0)
                }
                guard parts.restart(transfer, after: CURLE_HTTP2) else { break }
                attempts += count
            }
            #expect(attempts == (count == 6 ? 0 : 5))
        }
    }

    @Test(
        "each send is evaluated by the streams that the server had processed before it",
        arguments: [
            ([0, 0, 0, 0, 0, 5], 1), ([5, 5, 5, 5, 5, 0], 5), ([0, 5, 5, 5, 5, 0], 2), ([0, 0, 0, 0, 0, 0], 0),
        ])
    func ownEvidence(lasts: [Int], restarts: Int) throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try started(parts)
            var count = 0
            while count < 100 {
                for last in lasts {
                    ask(transfer, parts)
                    goAway(transfer, last: last)
                }
                guard parts.restart(transfer, after: CURLE_HTTP2) else { break }
                count += 1
            }
            #expect(count == restarts)
        }
    }

    @Test("a request that the server may have processed is not sent again", arguments: [7, 9, Int(Int32.max)])
    func processed(last: Int) throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try sent(parts)
            goAway(transfer, last: last)
            #expect(try restart(transfer, parts) == false)
            #expect(transfer.answerToRepetition() == .fail)
        }
    }

    /// A graceful server announces the end first, and the last stream later.
    @Test("the last of several GOAWAY frames counts")
    func graceful() throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try sent(parts)
            goAway(transfer, last: Int(Int32.max))
            #expect(transfer.answerToRepetition() == .fail)
            goAway(transfer, last: 5)
            #expect(transfer.answerToRepetition() == .send)
            #expect(try restart(transfer, parts))
        }
    }

    @Test("a request is not sent again after ENHANCE_YOUR_CALM, whatever the server has processed")
    func calm() throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try sent(parts)
            goAway(transfer, last: 5, error: 11)
            goAway(transfer, last: 3)
            #expect(try restart(transfer, parts) == false)
            #expect(transfer.answerToRepetition() == .fail)
        }
    }

    /// libcurl writes the line to the trace of the transfer for which it happens to read.
    @Test("a GOAWAY applies to every request on the connection, and to no other")
    func everyRequest() throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let reader = try sent(parts)
            let neighbour = try sent(parts)
            let stranger = try sent(parts, port: 40_002)
            let line = "received GOAWAY, error=0, last_stream=5\n"
            let goAway = try #require(record(line, reader))
            parts.transfers.connectionGoesAway(of: reader, goAway)
            #expect(reader.answerToRepetition() == .send)
            #expect(neighbour.answerToRepetition() == .send)
            #expect(neighbour.sending.evidence.isBehindProcessedStream)
            #expect(stranger.answerToRepetition() == .fail)
            #expect(!stranger.sending.evidence.connectionGoesAway)
        }
    }

    @Test("a flood of GOAWAY frames is not recorded for every request on the connection", arguments: [1, 1000])
    func flood(differentOnes: Int) throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let reader = try sent(parts)
            let neighbour = try sent(parts)
            var spread = 0
            for number in 0..<1000 {
                let line = "received GOAWAY, error=0, last_stream=\(2000 - number % differentOnes)\n"
                guard let goAway = record(line, reader) else { continue }
                parts.transfers.connectionGoesAway(of: reader, goAway)
                spread += 1
            }
            #expect(spread == (differentOnes == 1 ? 1 : 8))
            // The neighbour has the same ones already.
            let next = record("received GOAWAY, error=0, last_stream=5\n", neighbour)
            #expect((next == nil) == (spread == 8))
            #expect(neighbour.sending.evidence.isAboveGoAway)
        }
    }

    /// libcurl reports the same ports for all connections over a Unix socket.
    @Test("a GOAWAY on a connection without ports applies only to the request that read it", arguments: [Int32(0), -1])
    func withoutPorts(port: Int32) throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let reader = try started(parts)
            let other = try started(parts)
            for transfer in [reader, other] { ask(transfer, parts, port: port) }
            let goAway = try #require(record("received GOAWAY, error=0, last_stream=5\n", reader))
            parts.transfers.connectionGoesAway(of: reader, goAway)
            #expect(reader.sending.evidence.connectionGoesAway)
            #expect(!other.sending.evidence.connectionGoesAway)
        }
    }

    /// libcurl may read it from an idle connection, and make another one for the transfer.
    @Test("a GOAWAY before the request is sent has no effect on it", arguments: [HTTPMethod.get, .post])
    func earlierConnection(method: HTTPMethod) throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try started(parts, method)
            goAway(transfer, last: 5, error: 11)
            ask(transfer, parts)
            #expect(!transfer.sending.evidence.connectionGoesAway && !transfer.sending.evidence.asksForCalm)
        }
    }

    /// libcurl reads from idle connections while it looks for one on which it can repeat the request.
    @Test("a GOAWAY after libcurl has left the connection has no effect on the request")
    func otherConnection() throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try sent(parts)
            #expect(record(again, transfer) == nil)
            #expect(record("received GOAWAY, error=11, last_stream=5\n", transfer) == nil)
            let evidence = transfer.sending.evidence
            #expect(!evidence.isAboveGoAway && !evidence.connectionGoesAway && !evidence.asksForCalm)
            #expect(transfer.answerToRepetition() == .fail)
        }
    }

    @Test("a GOAWAY before libcurl leaves the connection applies until the request is sent again")
    func beforeRepetition() throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try started(parts)
            ask(transfer, parts)
            goAway(transfer, last: 5)
            _ = record(again, transfer)
            _ = record("received GOAWAY, error=0, last_stream=9\n", transfer)
            #expect(transfer.sending.evidence.isBehindProcessedStream)
            #expect(transfer.answerToRepetition() == .send)
            ask(transfer, parts, port: 40_001)
            #expect(!transfer.sending.evidence.connectionGoesAway)
            goAway(transfer, last: 5)
            #expect(transfer.sending.evidence.isAboveGoAway)
        }
    }

    /// libcurl before 7.80 does not ask before it repeats a request.
    @Test("the evidence starts over with the stream of a repetition")
    func unannouncedRepetition() throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try sent(parts)
            goAway(transfer, last: 5)
            _ = record(again, transfer)
            _ = record("Using Stream ID: 3 (easy handle 0x5581)\n", transfer)
            #expect(!transfer.sending.evidence.connectionGoesAway)
            goAway(transfer, last: 1)
            #expect(transfer.sending.evidence.isAboveGoAway)
        }
    }

    private let again = "Issue another request to this URL: 'http://a.example/'\n"

    @Test(
        "a GOAWAY is recognized in the misspelling of libcurl 7.88, and other lines are ignored",
        arguments: [
            ("recveived GOAWAY, error=0, last_stream=5\n", true), ("received GOAWAY, error=0, last_stream=x\n", false),
            ("received GOAWAY\n", false), ("GOAWAY, error=0, last_stream=5\n", false),
        ])
    func lines(line: String, isAbove: Bool) throws {
        try withEngineParts { parts in
            defer { parts.transfers.closeAll() }
            let transfer = try sent(parts)
            _ = record(line, transfer)
            #expect(transfer.sending.evidence.isAboveGoAway == isAbove)
        }
    }
}
