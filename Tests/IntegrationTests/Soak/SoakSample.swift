import Curlew
import CurlewTesting
import CurlewTransport
import Foundation

/// The resources of the process and of the client at one moment of a soak test.
struct SoakSample: Sendable {
    let requests: Int
    let residentKilobytes: Int
    let fileDescriptors: Int
    let threads: Int
    let liveTransfers: Int
    let openSockets: Int
    let idleHandles: Int
    let registered: Int

    static func take(after requests: Int, of client: SoakClient) async -> SoakSample {
        let statistics = client.transport.statistics
        return SoakSample(
            requests: requests,
            residentKilobytes: ProcessMemory.residentKilobytes,
            fileDescriptors: LeakCheck.openFileDescriptors,
            threads: LeakCheck.threadCount,
            liveTransfers: statistics.liveTransfers,
            openSockets: statistics.openSockets,
            idleHandles: statistics.easyHandlesIdle,
            registered: await client.session.activeRequests.count
        )
    }

    static let heading = "requests     RSS kB   fds  threads  live  sockets  idle handles  registered"

    var line: String {
        func column(_ number: Int, _ width: Int) -> String {
            String(repeating: " ", count: max(1, width - "\(number)".count)) + "\(number)"
        }
        let figures = [
            (residentKilobytes, 11), (fileDescriptors, 6), (threads, 9), (liveTransfers, 6), (openSockets, 9),
            (idleHandles, 14), (registered, 12),
        ]
        return "\(requests)".padding(toLength: 8, withPad: " ", startingAt: 0)
            + figures.map { column($0.0, $0.1) }.joined()
    }
}
