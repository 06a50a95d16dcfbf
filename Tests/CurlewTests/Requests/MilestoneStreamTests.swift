import Curlew
import CurlewTesting
import Foundation
import Testing

import struct CurlewAlamofire.DataStreamTask

/// Each value arrives exactly once, whenever the stream is opened.
@Suite("Streams of a request's events", .timeLimit(.minutes(4)))
struct MilestoneStreamTests {
    private let transport = MockTransport { _ in .text("x") }

    /// Calls `open` during the adaptation, when the first `URLRequest` exists and the final one does not.
    private func whileAdapting<R: Sendable>(_ open: @escaping @Sendable (Request) -> R) async throws -> R {
        let opened = Recorded<R>()
        let request = Session(transport: transport).request("https://example.org/")
        let adapter = Adapter { [weak request] urlRequest, _ in
            if let request { opened.note(open(request)) }
            var adapted = urlRequest
            adapted.setValue("yes", forHTTPHeaderField: "X-Adapted")
            return adapted
        }
        _ = try await request.adapt(using: adapter).data()
        return try #require(opened.all.first)
    }

    @Test func streamOfURLRequestsHasTheAdaptedRequestOnce() async throws {
        let stream = try await whileAdapting { $0.urlRequests() }
        var seen: [String?] = []
        for await request in stream { seen.append(request.value(forHTTPHeaderField: "X-Adapted")) }
        #expect(seen == ["yes"])
    }

    @Test func streamOfCURLDescriptionsHasTheCommandOnce() async throws {
        let stream = try await whileAdapting { $0.cURLDescriptions() }
        var seen: [String] = []
        for await text in stream { seen.append(text) }
        #expect(seen.count == 1)
        #expect(seen.first?.contains("X-Adapted: yes") == true)
    }

    @Test func closuresReceiveOnlyTheAdaptedRequest() async throws {
        let queue = DispatchQueue(label: "created")
        let seen = Recorded<String?>()
        let described = Recorded<String>()
        try await whileAdapting { request in
            request.onURLRequestCreation(on: queue) { seen.note($0.value(forHTTPHeaderField: "X-Adapted")) }
            request.cURLDescription(on: queue) { described.note($0) }
        }
        await queue.settled()
        #expect(seen.all == ["yes"])
        #expect(described.all.count == 1)
        #expect(described.all.first?.contains("X-Adapted: yes") == true)
    }

    @Test func streamsOpenedAtAnyTimeDeliverEachValueOnce() async throws {
        let session = Session(transport: transport)
        for round in 0..<300 {
            let request = session.request("https://example.org/")
            let opener = Task {
                for _ in 0..<(round % 20) { await Task.yield() }
                return (request.urlRequests(), request.urlSessionTasks(), request.httpResponses())
            }
            _ = try await request.data()
            let (requests, tasks, responses) = await opener.value
            var counts = [0, 0, 0]
            for await _ in requests { counts[0] += 1 }
            for await _ in tasks { counts[1] += 1 }
            for await _ in responses { counts[2] += 1 }
            #expect(counts == [1, 1, 1])
        }
    }
}
