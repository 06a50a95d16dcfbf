import CurlewCore
import CurlewLocks
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

/// Many requests, many of them failing, and nothing left of them. Short by default:
/// `CURLEW_SOAK_REQUESTS=200000` and `CURLEW_HELD_REQUESTS=5000` make it the long one.
@Suite("Soak", .realServers, .serialized, .timeLimit(.minutes(30)))
struct SoakProcessWideTests {
    /// What one request of the mix meets, and how it must end.
    private enum Kind: String, CaseIterable, Sendable {
        case small, compressed, missing, stored, secure, untrusted, closedPort, emptyReply, refusedByBody, cancelled

        /// All of them, or those that `CURLEW_SOAK_KINDS` names (to find a culprit).
        static let chosen: [Kind] = {
            let names = ProcessInfo.processInfo.environment["CURLEW_SOAK_KINDS"] ?? ""
            let named = names.split(separator: ",").compactMap { Kind(rawValue: String($0)) }
            return named.isEmpty ? allCases : named
        }()

        func path() throws -> URL {
            switch self {
            case .small, .cancelled: try IntegrationEnvironment.url("NGINX", "/small")
            case .compressed, .refusedByBody: try IntegrationEnvironment.url("NGINX", "/words.json")
            case .missing: try IntegrationEnvironment.url("NGINX", "/status/404")
            case .stored: try IntegrationEnvironment.url("NGINX", "/sink")
            case .secure: try IntegrationEnvironment.url("NGINX_TLS", "/small")
            case .untrusted: try IntegrationEnvironment.url("NGINX_UNKNOWN_CA", "/small")
            case .closedPort: try IntegrationEnvironment.url("CLOSED")
            case .emptyReply: try IntegrationEnvironment.url("NGINX", "/close")
            }
        }

        /// How it may end; nil is success.
        private var expected: [CurlewError.Code?] {
            switch self {
            case .small, .compressed, .missing, .stored, .secure: [nil]
            case .untrusted: [.certificateUntrusted]
            case .closedPort: [.connectFailed]
            // The kernel decides whether the end shows while sending or while receiving.
            case .emptyReply: [.receiveFailed, .sendFailed]
            case .refusedByBody: [.limitExceeded]
            // It may come too late for a small answer.
            case .cancelled: [.cancelled, nil]
            }
        }

        func allows(_ code: CurlewError.Code?) -> Bool { expected.contains(code) }
    }

    private static func run(_ kind: Kind, _ url: URL, on transport: CurlTransport) async -> CurlewError.Code? {
        var options = TransferOptions()
        if kind == .refusedByBody { options.maximumBodySize = 100 }
        let body = kind == .stored ? BodySource.data(Data(repeating: 7, count: 10_000)) : .none
        let request = makeRequest(url, method: kind == .stored ? .put : .get, body: body, options: options)
        let sink = CollectingSink()
        if kind == .cancelled {
            let running = Task { await Self.end(request, sink, transport) }
            running.cancel()
            return await running.value
        }
        return await end(request, sink, transport)
    }

    private static func end(
        _ request: TransferRequest,
        _ sink: CollectingSink,
        _ transport: CurlTransport
    ) async -> CurlewError.Code? {
        do throws(CurlewError) {
            _ = try await transport.perform(request, sink: sink)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func aMixOfFaultsLeavesNothingBehind() async throws {
        let total = IntegrationEnvironment.number("CURLEW_SOAK_REQUESTS", default: 3_000)
        let kinds = Kind.chosen
        let urls = try kinds.map { try $0.path() }
        let surprises = Lock([String: Int]())
        let check: LeakCheck
        do {
            // A first transport starts what the process keeps for good: pools, libraries' own state.
            let warmUp = try makeTrustingTransport()
            for (kind, url) in zip(kinds, urls) { _ = await Self.run(kind, url, on: warmUp) }
            await warmUp.shutdown()
            check = LeakCheck(.fileDescriptors, .threads(allowing: 4))
        }
        var afterTenth = 0
        do {
            let transport = try makeTrustingTransport()
            for (part, count) in [total / 10, total - total / 10].enumerated() {
                await withTaskGroup(of: Void.self) { group in
                    for worker in 0..<32 {
                        group.addTask {
                            for number in stride(from: worker, to: count, by: 32) {
                                let index = number % kinds.count
                                let kind = kinds[index]
                                let code = await Self.run(kind, urls[index], on: transport)
                                if kind.allows(code) { continue }
                                let what = "\(kind): \(code.map { "\($0)" } ?? "success")"
                                surprises.withLock { $0[what, default: 0] += 1 }
                            }
                        }
                    }
                }
                if part == 0 { afterTenth = ProcessMemory.residentKilobytes }
            }
            #expect(surprises.withLock { $0 } == [:])
            // Published at the end of a turn of the loop: the last one may still be going on.
            while transport.statistics.liveTransfers > 0 { try await Task.sleep(for: .milliseconds(2)) }
            #expect(transport.statistics.easyHandlesInUse == 0)
            let growth = ProcessMemory.residentKilobytes - afterTenth
            if !IntegrationEnvironment.isSanitized { #expect(growth < 8 * 1024) }
        }
        // The transport is gone; nobody shut it down.
        try await check.wait(timeout: .seconds(10))
    }

    @Test func manyRequestsHeldOpenAtOnceAllSucceedOnAFewThreads() async throws {
        let count = IntegrationEnvironment.number("CURLEW_HELD_REQUESTS", default: 200)
        let transport = makeTransport {
            $0.maximumConnectionsPerHost = count
            $0.maximumConnections = count
        }
        let url = try IntegrationEnvironment.url("NGINX", "/held.txt")
        _ = try await transport.exchange(IntegrationEnvironment.url("NGINX", "/small"))
        let threads = LeakCheck(.threads(allowing: 4))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { try await transport.exchange(url).status } }
            while transport.statistics.liveTransfers < count { try await Task.sleep(for: .milliseconds(5)) }
            #expect(threads.leaks.isEmpty)
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: count))
        while transport.statistics.liveTransfers > 0 { try await Task.sleep(for: .milliseconds(2)) }
    }
}
