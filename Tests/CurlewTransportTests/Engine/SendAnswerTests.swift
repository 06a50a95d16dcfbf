internal import CCurl
import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Repetition of requests by libcurl")
struct SendAnswerTests {
    /// A transfer on a handle, whose request libcurl has sent once.
    private func sent(
        _ parts: EngineParts, _ method: HTTPMethod = .get, body: BodySource = .none
    ) throws -> ActiveTransfer {
        let url = try #require(URL(string: "http://a.example/"))
        let transfer = try parts.transport.makeTransfer(request(url, method: method, body: body), NoSink.shared)
        transfer.attach(to: try parts.handle(for: transfer))
        transfer.sending.count = 1
        return transfer
    }

    /// Records a response that libcurl may answer by another request.
    private func receive(_ status: Int, _ transfer: ActiveTransfer) {
        for line in ["HTTP/1.1 \(status) no\r\n", "\r\n"] {
            _ = Data(line.utf8).withUnsafeBytes { transfer.response.collector.parse($0) }
        }
        transfer.response.deferredHead = ResponseHead(status: status)
    }

    @Test func onlyRepeatableRequestIsResentAfterBrokenConnection() throws {
        try withEngineParts { parts in
            #expect(try sent(parts).answerToRepetition() == .send)
            let post = try sent(parts, .post, body: .data(Data("pay".utf8)))
            #expect(post.answerToRepetition() == .fail)
            #expect(post.failure?.code == .receiveFailed)
            #expect(post.failure?.isSafeToRetry == false)
        }
    }

    @Test(arguments: [
        (401, [SendAnswer.send, .send, .send, .keepResponse]), (407, [.send, .send, .send, .keepResponse]),
    ])
    func aChallengeIsAnsweredThreeTimes(_ status: Int, _ answers: [SendAnswer]) throws {
        try withEngineParts { parts in
            let transfer = try sent(parts, .post, body: .data(Data("pay".utf8)))
            for answer in answers {
                receive(status, transfer)
                #expect(transfer.answerToRepetition() == answer)
                if status == 401 {
                    transfer.response.challengeCounts.server += 1
                } else {
                    transfer.response.challengeCounts.proxy += 1
                }
            }
        }
    }

    @Test func deliveredResponseIsNotRepeated() throws {
        try withEngineParts { parts in
            let transfer = try sent(parts)
            transfer.response.head = ResponseHead(status: 417)
            #expect(transfer.answerToRepetition() == .keepResponse)
        }
    }

    @Test func refusedRequestIsRepeatedWithoutExpect() throws {
        try withEngineParts { parts in
            let transfer = try sent(parts, .put, body: .data(Data(count: 100_000)))
            receive(417, transfer)
            #expect(transfer.answerToRepetition() == .send)
            transfer.plan.sendsExpect = true
            transfer.sending.answer = transfer.answerToRepetition()
            #expect(transfer.sending.answer == .restart(.withoutExpectation))
            #expect(parts.restart(transfer, after: CURLE_ABORTED_BY_CALLBACK))
            #expect(!transfer.plan.sendsExpect && !transfer.sending.hasBegun && transfer.response.deferredHead == nil)
        }
    }

    @Test func restartOnNewConnectionResetsChallengeCount() throws {
        try withEngineParts { parts in
            let transfer = try sent(parts)
            receive(401, transfer)
            transfer.response.challengeCounts.server = 2
            transfer.sending.answer = .restart(.alone)
            #expect(parts.restart(transfer, after: CURLE_ABORTED_BY_CALLBACK))
            #expect(transfer.plan.isAlone)
            #expect(transfer.response.challengeCounts.server == 0)
            transfer.reset()
            #expect(transfer.sending.answer == .send)
        }
    }

    /// It must not take a connection that it cannot use.
    @Test(arguments: [SendAnswer.holdBack, .restart(.alone)])
    func suspendedTransferWaitsWithoutAHandle(_ answer: SendAnswer) throws {
        try withEngineParts { parts in
            let transfer = try parts.transfer("http://a.example/")
            parts.transfers.start(transfer)
            transfer.pauses.isSuspended = true
            transfer.sending.answer = answer
            parts.transfers.finish(transfer, try #require(transfer.easy), CURLE_ABORTED_BY_CALLBACK)
            #expect(transfer.stage == .suspended)
            #expect(transfer.easy == nil && parts.transfers.handlesInUse == 0)
            parts.transfers.execute(.resume, for: transfer)
            #expect(transfer.stage == .running)
            #expect(transfer.easy != nil && parts.transfers.handlesInUse == 1)
            parts.transfers.closeAll()
            #expect(parts.transfers.liveCount == 0)
        }
    }

    @Test func responseIsTheResultIfBodyCannotBeRewound() throws {
        try withEngineParts { parts in
            let body = ScriptedBody([.bytes("a"), .end], isReplayable: false)
            let transfer = try sent(parts, .put, body: .stream(body, length: nil))
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 1)
            defer { buffer.deallocate() }
            _ = transfer.fill(buffer, parts.transfers)
            receive(401, transfer)
            transfer.sending.answer = .restart(.alone)
            #expect(!parts.restart(transfer, after: CURLE_ABORTED_BY_CALLBACK))
            #expect(transfer.hasWholeResponse(despite: CURLE_ABORTED_BY_CALLBACK))
        }
    }

    /// Only a repetition that was stopped makes the challenge the result, however often the challenge was answered.
    @Test func challengeOnBrokenConnectionIsNotTheResult() throws {
        try withEngineParts { parts in
            let transfer = try sent(parts)
            receive(401, transfer)
            transfer.response.challengeCounts.server = 3
            #expect(!parts.restart(transfer, after: CURLE_PARTIAL_FILE))
            #expect(!transfer.hasWholeResponse(despite: CURLE_PARTIAL_FILE))
            transfer.sending.answer = .keepResponse
            #expect(transfer.hasWholeResponse(despite: CURLE_ABORTED_BY_CALLBACK))
        }
    }

    @Test func lostAddressesAreResolvedAgainFiveTimes() throws {
        try withEngineParts { parts in
            let transfer = try sent(parts)
            transfer.sending.count = 0
            for _ in 0..<5 {
                transfer.connection.hasLostAddresses = true
                #expect(parts.restart(transfer, after: CURLE_ABORTED_BY_CALLBACK))
                transfer.reset()
            }
            transfer.connection.hasLostAddresses = true
            #expect(!parts.restart(transfer, after: CURLE_ABORTED_BY_CALLBACK))
        }
    }

    @Test func aFinalResponseEndsTheTransfer() throws {
        try withEngineParts { parts in
            let transfer = try sent(parts)
            transfer.response.head = ResponseHead(status: 200)
            #expect(!parts.restart(transfer, after: CURLE_OK))
        }
    }
}
