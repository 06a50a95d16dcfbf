import CurlewCore
import Foundation
import Testing

/// A process of `openssl s_server` with a self-signed certificate, on a free port.
final class OpenSSLServer {
    let url: URL
    /// The server's certificate, which clients must trust. `identity` consists of it and its key.
    let certificate: URL
    let identity: ClientIdentity
    private let process = Process()
    private let output = Pipe()
    private let directory: URL

    /// The kind of response to a GET.
    enum Mode: String {
        /// A page about the connection.
        case status = "-www"
        /// The bytes of a file in the server's folder, which must contain a whole response, including its head.
        case wholeResponses = "-HTTP"
    }

    /// Starts the server. `preparation` is a shell command that runs in the folder of `cert.pem` and `key.pem`.
    init(_ version: String, _ options: String, mode: Mode = .status, preparation: String = ":") throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "curlew-\(UUID())")
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c",
            """
            set -e; mkdir -p \(directory.path); cd \(directory.path)
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -set_serial 1 -keyout key.pem \
              -out cert.pem -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
            \(preparation)
            exec openssl s_server -\(version) \(mode.rawValue) \(options) -accept 127.0.0.1:0 -cert cert.pem -key key.pem 2>&1
            """,
        ]
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let reading = output.fileHandleForReading
        let port = try Self.text(from: reading) { $0.firstMatch(of: /ACCEPT 127\.0\.0\.1:(\d+)\n/)?.output.1 }
        url = try #require(URL(string: "https://localhost:\(port)/"))
        certificate = directory.appending(path: "cert.pem")
        identity = .files(certificate: certificate, key: directory.appending(path: "key.pem"))
    }

    private static func text(from file: FileHandle, until match: (String) -> Substring?) throws -> Substring {
        var text = ""
        while true {
            if let found = match(text) { return found }
            let data = file.availableData
            guard !data.isEmpty else { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: data, as: UTF8.self)
        }
    }

    /// Waits for the server's next line about a client's certificate or an alert, and returns the part that was
    /// recognized.
    func nextEvent() throws -> String {
        String(try Self.text(from: output.fileHandleForReading) { $0.firstMatch(of: /depth=0|alert [a-z ]+/)?.output })
    }

    deinit {
        process.terminate()
        try? FileManager.default.removeItem(at: directory)
    }
}
