import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Runs each way to use a session again and again, with a fault at the first, the second, … and the last step of its
/// exchanges. A run must end as usual or with the error of its fault, and leave nothing.
@Suite("A fault at every step", .timeLimit(.minutes(5)))
struct EveryStepTests {
    /// The objects that one run uses.
    struct Bench: Sendable {
        let session: Session
        let transport: SteppingTransport
        let server: TestServer
        let scratch: ScratchDirectory
    }

    enum Scenario: CaseIterable, Sendable {
        case data, chunks, upload, redirect, retry, download, stream

        /// Runs the scenario once. Returns whether the received data is correct.
        func run(_ bench: Bench) async throws(CurlewError) -> Bool {
            let (session, server) = (bench.session, bench.server)
            switch self {
            case .data, .chunks, .redirect, .retry:
                let path = self == .data ? "/data" : self == .chunks ? "/chunks" : self == .redirect ? "/away" : "/busy"
                if self == .retry { server.script("/busy", .status(503)) }
                let request = session.request(server.url(path)).validate()
                bench.transport.onCancel { request.cancel() }
                return try await request.data() == EveryStepTests.body
            case .upload:
                let request = session.upload(EveryStepTests.body, to: server.url("/taken")).validate()
                bench.transport.onCancel { request.cancel() }
                return try await request.string() == "\(EveryStepTests.body.count)"
            case .download:
                let target = bench.scratch.file("a")
                let request = session.download(server.url("/data"), to: destination(target, .removePreviousFile))
                bench.transport.onCancel { request.cancel() }
                let file = try await request.validate().file()
                return (try? Data(contentsOf: file)) == EveryStepTests.body
            case .stream:
                let request = session.streamRequest(server.url("/chunks"))
                bench.transport.onCancel { request.cancel() }
                var body = Data()
                for try await chunk in request.chunks { body += chunk }
                return body == EveryStepTests.body
            }
        }
    }

    static let body = TestServer.patternBytes(count: 40_000)

    static func makeServer() throws -> TestServer {
        let server = try TestServer()
        server.route("/data") { _ in .data(body) }
        server.route("/busy") { _ in .data(body) }
        server.route("/chunks") { _ in
            let chunks = stride(from: 0, to: body.count, by: 10_000).map { start in
                Data("2710\r\n".utf8) + body[start..<start + 10_000] + Data("\r\n".utf8)
            }
            let head = Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
            return .raw([head] + chunks + [Data("0\r\n\r\n".utf8)])
        }
        server.route("/away") { _ in .redirect(to: "/data") }
        server.route("/taken") { .text("\($0.body.count)") }
        return server
    }

    @Test(
        "a fault at any step ends the request as expected, and leaves no request, file or connection",
        arguments: Scenario.allCases)
    func everyStep(of scenario: Scenario) async throws {
        let server = try Self.makeServer()
        for fault in SteppingTransport.Fault.allCases {
            var step = 0
            var isOver = false
            // The number of chunks of a body differs from run to run. The loop ends when a run has too few steps for
            // the fault, or after 60 steps, because a socket that delivers single bytes has very many.
            while !isOver, step < 60 {
                step += 1
                let transport = SteppingTransport(SessionConfiguration().makeTransport(), fault: (fault, step))
                let bench = Bench(
                    session: Session(
                        transport: transport,
                        interceptor: RetryPolicy(exponentialBackoffScale: 0, honorsRetryAfter: false)),
                    transport: transport,
                    server: server,
                    scratch: try ScratchDirectory()
                )
                let outcome = await Self.outcome(of: scenario, bench)
                #expect(Self.allowed(outcome, fault), "\(fault) at step \(step): \(outcome)")
                isOver = transport.steps < step
                if isOver { #expect(outcome == .success(true)) }

                await bench.session.drain()
                #expect(await bench.session.activeRequests.isEmpty)
                #expect(bench.scratch.names.allSatisfy { $0 == "a" }, "\(fault) at step \(step): a file is left")
                await bench.session.invalidate()
            }
            server.removeScripts()
        }
        try await server.waitForOpenConnections(atMost: 0)
    }

    private static func outcome(of scenario: Scenario, _ bench: Bench) async -> Result<Bool, CodeOnly> {
        do throws(CurlewError) {
            return .success(try await scenario.run(bench))
        } catch {
            return .failure(CodeOnly(code: error.code))
        }
    }

    struct CodeOnly: Error, Equatable {
        let code: CurlewError.Code
    }

    private static func allowed(_ outcome: Result<Bool, CodeOnly>, _ fault: SteppingTransport.Fault) -> Bool {
        switch fault {
        // The cancellation may occur after the exchange has ended.
        case .cancel: outcome == .success(true) || outcome == .failure(CodeOnly(code: .cancelled))
        // A request that may be repeated is retried.
        case .fail:
            outcome == .success(true) || outcome == .failure(CodeOnly(code: .receiveFailed))
                || outcome == .failure(CodeOnly(code: .retryFailed))
        case .pause, .suspend: outcome == .success(true)
        }
    }
}
