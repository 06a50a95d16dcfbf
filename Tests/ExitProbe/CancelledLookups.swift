import CurlewCore
import CurlewTransport
import Dispatch
import Foundation
import Glibc

/// Cancels requests while their names are looked up. This process is the name server and never answers, so a lookup is
/// under way as soon as its packet has arrived.
struct CancelledLookups {
    let server: String

    /// Prints a line `code phase milliseconds` for each round.
    func run(rounds: Int) -> Bool {
        guard let listener = listen() else { return false }
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        let transport = CurlTransport(configuration: configuration)
        for round in 0..<rounds {
            guard let url = URL(string: "http://name-\(round).example.test/") else { return false }
            let request = TransferRequest(identifier: TaskIdentifier(rawValue: UInt64(round) + 1), url: url)
            let done = DispatchSemaphore(value: 0)
            let task = Task.detached {
                defer { done.signal() }
                do throws(CurlewError) {
                    _ = try await transport.perform(request, sink: Discarding())
                    return "success -"
                } catch {
                    return "\(error.code) \(error.phase)"
                }
            }
            waitForQuery(of: "name-\(round)", at: listener)
            let start = ContinuousClock.now
            task.cancel()
            done.wait()
            let took = ContinuousClock.now - start
            let printed = DispatchSemaphore(value: 0)
            Task.detached {
                print(await task.value, Int(took / .milliseconds(1)))
                printed.signal()
            }
            printed.wait()
        }
        return true
    }

    private func listen() -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(53).bigEndian
        address.sin_addr.s_addr = inet_addr(server)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return bound == 0 ? descriptor : nil
    }

    /// Waits for a query for `label`. Resolver threads of cancelled lookups may still ask for earlier names, whose
    /// queries are skipped.
    private func waitForQuery(of label: String, at descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 2048)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0, String(decoding: buffer[..<count], as: UTF8.self).contains(label) { return }
        }
    }
}
