internal import CCurl
import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

/// The parts of an engine without its loop. The test's thread has the turn.
struct EngineParts {
    let transport: CurlTransport
    let handles: Handles
    let sockets: Sockets
    let transfers: Transfers

    fileprivate init(_ configure: (inout TransportConfiguration) -> Void) throws {
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        configure(&configuration)
        transport = CurlTransport(configuration: configuration)
        let settings = try EngineSettings(configuration, .current(.ofLibcurl), alternatives: nil)
        let system = try #require(EpollQueue.make())
        let loop = EngineLoop(wakeUp: system.wakeUp)
        loop.threadBegins()
        sockets = Sockets(settings, queue: system.queue, loop: loop)
        handles = Handles(settings, sockets: sockets, loop: loop)
        transfers = Transfers(settings, sockets: sockets, handles: handles, loop: loop)
    }

    /// Returns a transfer that has not started, and a handle that is set up for it.
    func prepared(_ text: String) throws -> (transfer: ActiveTransfer, easy: TransferHandle) {
        let transfer = try transfer(text)
        return (transfer, try handle(for: transfer))
    }

    func transfer(_ text: String) throws -> ActiveTransfer {
        try transport.makeTransfer(request(try #require(URL(string: text))), NoSink.shared)
    }

    /// Prepares the transfer's restart if libcurl's result gives a reason. Returns false if it does not start again.
    func restart(_ transfer: ActiveTransfer, after result: CURLcode) -> Bool {
        guard let restart = transfer.reasonToRestart(after: result) else { return false }
        return transfer.prepare(for: restart, transfers.settings)
    }

    func handle(for transfer: ActiveTransfer) throws -> TransferHandle {
        try #require(handles.preparedHandle(for: transfer, of: transfers)).easy
    }

    /// Frees libcurl's handles.
    fileprivate func close() {
        handles.closeAll()
        handles.freeShare()
        sockets.close()
    }
}

extension RequestPlanner {
    /// Creates a planner with the environment of this process.
    convenience init(_ configuration: TransportConfiguration, _ capabilities: Capabilities) {
        self.init(configuration, .current(capabilities))
    }
}

/// Runs a test with the parts of an engine. The handles must not be used afterwards.
func withEngineParts(
    _ configure: (inout TransportConfiguration) -> Void = { _ in }, _ body: (EngineParts) throws -> Void
) throws {
    let parts = try EngineParts(configure)
    defer { parts.close() }
    try body(parts)
}
