internal import Curlew
internal import Foundation

/// The client that Autobahn's fuzzing server tests. Runs every case, echoes all messages, and requests the report.
///
///     AutobahnClient ws://127.0.0.1:9001
@main
struct AutobahnClient {
    private static let agent = "curlew"

    static func main() async {
        do {
            guard let server = CommandLine.arguments.dropFirst().first else { throw Failure.usage }
            try await run(server)
        } catch {
            FileHandle.standardError.write(Data("AutobahnClient: \(error)\n".utf8))
            exit(1)
        }
    }

    private enum Failure: Error { case usage, noCount }

    private static func run(_ server: String) async throws {
        let session = Session(
            configuration: SessionConfiguration { $0.webSocket.maximumMessageSize = 64 * 1024 * 1024 })
        for index in 1...(try await caseCount(server, session)) {
            let socket = session.webSocket("\(server)/runCase?case=\(index)&agent=\(agent)")
            do {
                for try await message in socket.messages { try await socket.send(message) }
            } catch {
                // Many cases end with an error by design. The server decides whether the connection ended as it should.
            }
        }
        for try await _ in session.webSocket("\(server)/updateReports?agent=\(agent)").messages {}
    }

    private static func caseCount(_ server: String, _ session: Session) async throws -> Int {
        for try await message in session.webSocket("\(server)/getCaseCount").messages {
            if case .text(let text) = message, let count = Int(text), count > 0 { return count }
        }
        throw Failure.noCount
    }
}
