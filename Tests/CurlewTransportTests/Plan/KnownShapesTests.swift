import CurlewCore
import CurlewLocks
import Foundation
import Testing

@testable import CurlewTransport

/// A plan that uses the cache of shapes must equal a plan that is made without it.
@Suite("Shapes of requests")
struct KnownShapesTests {
    private static let methods = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PURGE", "COPY", "LOCK", "MOVE",
    ]

    private func request(_ number: Int) throws -> TransferRequest {
        TransferRequest(
            identifier: TaskIdentifier(rawValue: 1),
            url: try #require(URL(string: "http://example.com/\(number)")),
            method: HTTPMethod(rawValue: Self.methods[number]),
            defaultHeaders: Self.headers[number % 2]
        )
    }

    private static let headers = [DefaultHeaders(["A": "1"]), DefaultHeaders(["B": "2"])]

    private func description(_ plan: RequestPlan) -> String {
        "\(plan.url) \(plan.settings) \(plan.headerLines) \(plan.mayBeResent)"
    }

    @Test func `a shape is that of its own requests, however many there are`() throws {
        let planner = RequestPlanner(TransportConfiguration(), .ofLibcurl)
        // There are more shapes than the cache holds: some stay, others replace each other. Every round requests all of
        // them, in another order.
        for round in 0..<5 {
            for step in Self.methods.indices {
                let request = try request((step * (2 * round + 1) + round) % Self.methods.count)
                let known = try RequestPlan.of(request, planner: planner, bodyLength: nil)
                let fresh = RequestPlanner(TransportConfiguration(), .ofLibcurl)
                let headers = try #require(request.defaultHeaders)
                #expect(try known.defaultList === planner.list(of: headers))
                #expect(try description(known) == description(RequestPlan.of(request, planner: fresh, bodyLength: nil)))
            }
        }
    }

    /// Two requests of a new shape that start at the same time both plan it and store it.
    @Test func `what is worked out twice is remembered once`() throws {
        let shapes = KnownShapes()
        let requests = try Self.methods.indices.map { try request($0) }
        for request in requests {
            let planner = RequestPlanner(TransportConfiguration(), .ofLibcurl)
            let plan = try RequestPlan.of(request, planner: planner, bodyLength: nil)
            shapes.keep(plan, for: request)
            shapes.keep(plan, for: request)
        }
        // The cache keeps the first four shapes. If it stored a shape twice, not all of these would have fitted.
        for request in requests.prefix(4) { #expect(shapes.find(request, isTLS: false) != nil) }
    }

    /// A session's default headers change with its token, and several sessions may share a transport.
    @Test func `a shape has the fields of its request, whichever request had it first`() throws {
        let planner = RequestPlanner(TransportConfiguration(), .ofLibcurl)
        for number in 0..<20 {
            var request = try request(0)
            let headers = DefaultHeaders(["Token": "\(number)"])
            request.defaultHeaders = headers
            let bare = try RequestPlan.of(request, planner: planner, bodyLength: nil)
            #expect(try bare.defaultList === planner.list(of: headers))
            // A header of the request replaces the session's, so the shared list cannot be used.
            request.headers = ["token": "own", "Z": "1"]
            let overlaid = try RequestPlan.of(request, planner: planner, bodyLength: nil)
            #expect(overlaid.defaultList == nil && overlaid.headerLines == ["token: own", "Z: 1"])
            request.defaultHeaders = nil
            #expect(try RequestPlan.of(request, planner: planner, bodyLength: nil).defaultList == nil)
        }
    }

    @Test func `requests look for shapes while others add them`() async throws {
        let planner = RequestPlanner(TransportConfiguration(), .ofLibcurl)
        let requests = try Self.methods.indices.map { try request($0) }
        let plans = try requests.map { description(try RequestPlan.of($0, planner: planner, bodyLength: nil)) }
        let fresh = RequestPlanner(TransportConfiguration(), .ofLibcurl)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for first in 0..<8 {
                group.addTask {
                    for step in 0..<200 {
                        let index = (first * 5 + step * 7) % requests.count
                        let plan = try RequestPlan.of(requests[index], planner: fresh, bodyLength: nil)
                        #expect(description(plan) == plans[index])
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
