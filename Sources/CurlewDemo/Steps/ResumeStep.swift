internal import Curlew
internal import CurlewTesting
internal import Foundation

enum ResumeStep: DemoStep {
    static let title = "A download that is cut, and goes on where it stopped"
    static let file = #filePath

    static func run(on stage: Stage) async throws {
        let size = Int64(stage.cargo.count)
        let cutAt = size * 2 / 5
        let server = stage.server.url("")
        let digest = try await digest(of: stage.cargo, by: stage.server)
        stage.server.script(
            "/range/\(size)",
            TestServer.Response.bytes(size)
                .header("ETag", "\"range\(size)-0\"").header("Accept-Ranges", "bytes")
                .faulting(.reset, at: .inBody(after: cutAt))
        )
        let file = stage.folder.appending(path: "cargo.bin")
        // show
        let session = Session()
        let destination: DownloadRequest.Destination = { _, _ in (file, [.removePreviousFile]) }
        let first = session.download("\(server)/range/\(size)", to: destination)
        do {
            _ = try await first.file()
        } catch {
            stage.say("cut: \(error.code), \(first.resumeData == nil ? "nothing" : "enough") kept to go on")
        }
        let rest = session.download(resumingWith: first.resumeData ?? Data(), to: destination)
        let saved = try await rest.checksum(.sha256, digest).file()
        // end
        try expect(try Data(contentsOf: saved) == stage.cargo, "the file differs from what the server has")
        let asked = stage.server.requests.last?.headers["Range"] ?? "none"
        try expect(asked.hasPrefix("bytes=") && asked != "bytes=0-", "the second request asked for \(asked)")
        stage.worked("asked for \(asked), and SHA-256 is \(digest.prefix(16))…")
    }

    /// Returns the SHA-256 of the bytes, computed by the server.
    private static func digest(of data: Data, by server: TestServer) async throws -> String {
        struct Receipt: Decodable { var sha256: String }
        return try await Session().upload(data, to: server.url("/upload")).decode(Receipt.self).sha256
    }
}
