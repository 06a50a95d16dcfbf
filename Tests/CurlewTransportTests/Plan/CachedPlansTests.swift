import CCurl
import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

/// A plan that uses the cache must equal a plan that is made without it.
@Suite("Cached plans")
struct CachedPlansTests {
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

    /// Returns the lines of a list as libcurl reads them.
    private func lines(of list: CurlStringList?) -> [String] {
        var lines: [String] = []
        var next = list?.head
        while let node = next?.pointee {
            if let text = node.data { lines.append(String(cString: text)) }
            next = node.next
        }
        return lines
    }

    private func description(_ plan: RequestPlan) -> String {
        "\(plan.url) \(plan.settings) \(plan.headerLines) \(lines(of: plan.defaultHeaderList)) \(plan.mayBeResent)"
    }

    private func planner() -> RequestPlanner { RequestPlanner(TransportConfiguration(), .ofLibcurl) }

    @Test func cachedPlansMatchTheirRequests() throws {
        let planner = planner()
        // There are more kinds than the cache holds. Every round requests all of them, in another order.
        for round in 0..<5 {
            for step in Self.methods.indices {
                let request = try request((step * (2 * round + 1) + round) % Self.methods.count)
                let plan = try planner.plan(request, bodyLength: nil)
                let fresh = try self.planner().plan(request, bodyLength: nil)
                #expect(description(plan) == description(fresh))
                let first = request.defaultHeaders === Self.headers[0] ? "A: 1" : "B: 2"
                #expect(lines(of: plan.defaultHeaderList).first == first)
            }
        }
    }

    /// Two requests of a new kind that start at once both plan it and store it.
    @Test func cachedPlanMadeTwiceIsStoredOnce() throws {
        var plans = CachedPlans()
        let requests = try Self.methods.indices.prefix(CachedPlans.capacity).map { try request($0) }
        for request in requests {
            try add(request, to: &plans)
            try add(request, to: &plans)
        }
        for request in requests { #expect(try isKnown(request, in: plans)) }
    }

    @Test func oldCachedPlansMakeRoomForNewOnes() throws {
        var plans = CachedPlans()
        for number in Self.methods.indices {
            let request = try request(number)
            try add(request, to: &plans)
            #expect(try isKnown(request, in: plans))
        }
        #expect(try !isKnown(request(0), in: plans))
    }

    private func add(_ request: TransferRequest, to plans: inout CachedPlans) throws {
        let key = try #require(PlanKey(request, isTLS: false))
        let plan = try planner().plan(request, bodyLength: nil)
        plans.add(CachedPlan(plan, for: key, request.defaultHeaders))
    }

    private func isKnown(_ request: TransferRequest, in plans: CachedPlans) throws -> Bool {
        plans.plan(for: try #require(PlanKey(request, isTLS: false)), request.defaultHeaders) != nil
    }

    /// Each of these options makes other settings, so requests that differ in one of them share no plan.
    @Test(
        "requests that differ in an option have different keys",
        arguments: [
            { $0.multiplexes = false }, { $0.decodesContent = false }, { $0.purpose = .file },
            { $0.trafficClass = .background }, { $0.uploadRateLimit = 1 }, { $0.downloadRateLimit = 1 },
            { $0.timeouts.connect = nil }, { $0.timeouts.firstByte = nil }, { $0.timeouts.idle = nil },
            { $0.timeouts.queue = nil },
        ] as [@Sendable (inout TransferOptions) -> Void])
    func haveOneKeyForEachKind(change: @Sendable (inout TransferOptions) -> Void) throws {
        let request = try request(0)
        var other = request
        change(&other.options)
        #expect(PlanKey(other, isTLS: false) != PlanKey(request, isTLS: false))
        #expect(PlanKey(request, isTLS: true) != PlanKey(request, isTLS: false))
        // The total timeout and the limit of the body are not part of the settings.
        other = request
        other.options.timeouts.total = .seconds(1)
        other.options.maximumBodySize = 1
        #expect(PlanKey(other, isTLS: false) == PlanKey(request, isTLS: false))
    }

    @Test func plansWithBodyOrCredentialsAreNotCached() throws {
        var requests = try (0..<3).map { _ in try request(2) }
        requests[0].body = .data(Data("a".utf8))
        requests[1].options.authentication = .basic(username: "u", password: "p")
        requests[2].options.proxy = Proxy.none
        for request in requests { #expect(PlanKey(request, isTLS: false) == nil) }
    }

    /// A session's default headers change with its token, and several sessions may share a transport.
    @Test func cachedPlanUsesFieldsOfItsRequest() throws {
        let planner = planner()
        for number in 0..<20 {
            var request = try request(0)
            request.defaultHeaders = DefaultHeaders(["Token": "\(number)"])
            let bare = try planner.plan(request, bodyLength: nil)
            #expect(lines(of: bare.defaultHeaderList).first == "Token: \(number)")
            // A header of the request replaces the session's, so the shared list cannot be used.
            request.headers = ["token": "own", "Z": "1"]
            let overlaid = try planner.plan(request, bodyLength: nil)
            #expect(overlaid.defaultHeaderList == nil && overlaid.headerLines == ["token: own", "Z: 1"])
            request.defaultHeaders = nil
            #expect(try planner.plan(request, bodyLength: nil).defaultHeaderList == nil)
        }
    }

    @Test func cachedPlansAreFoundWhileOthersAreAdded() async throws {
        let requests = try Self.methods.indices.map { try request($0) }
        let plans = try requests.map { description(try planner().plan($0, bodyLength: nil)) }
        let shared = planner()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for first in 0..<8 {
                group.addTask {
                    for step in 0..<200 {
                        let index = (first * 5 + step * 7) % requests.count
                        let plan = try shared.plan(requests[index], bodyLength: nil)
                        #expect(description(plan) == plans[index])
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
