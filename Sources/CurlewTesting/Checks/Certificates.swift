package import Curlew
package import Foundation

/// Certificates that the `openssl` command makes once per process: a root, a leaf that it issued, an impostor that the
/// leaf issued although the leaf is not an authority, and an unrelated self-signed stranger.
package struct Certificates: Sendable {
    package let root: Certificate
    package let leaf: Certificate
    package let impostor: Certificate
    package let stranger: Certificate
    /// The root's revocation lists: an empty one, and one that revokes the leaf.
    package let emptyList: Data
    package let revokingList: Data

    package static let made: Result<Certificates, any Error> = Result { try Certificates() }

    private init() throws {
        let scratch = try ScratchDirectory()
        let script = """
            set -e; exec 2> log
            new() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 "$@"; }
            new -keyout root.key -out root.pem -subj /CN=Root -addext basicConstraints=critical,CA:TRUE
            new -keyout stranger.key -out stranger.pem -subj /CN=Stranger
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout leaf.key -out leaf.csr \
              -subj /O=Test/CN=leaf
            printf 'subjectAltName=DNS:example.com,DNS:*.example.org,IP:127.0.0.1,IP:::1\\n' > ext
            openssl x509 -req -in leaf.csr -CA root.pem -CAkey root.key -CAcreateserial -days 30 -extfile ext \
              -out leaf.pem
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout impostor.key -out impostor.csr \
              -subj /CN=impostor
            openssl x509 -req -in impostor.csr -CA leaf.pem -CAkey leaf.key -CAcreateserial -days 30 -extfile ext \
              -out impostor.pem
            printf '[ca]\ndefault_ca=d\n[d]\ndatabase=index\ndefault_md=sha256\ndefault_crl_days=9\n' > ca.cnf
            : > index
            list() { openssl ca -config ca.cnf -cert root.pem -keyfile root.key "$@"; }
            list -gencrl | openssl crl -outform DER -out empty.der
            list -revoke leaf.pem
            list -gencrl | openssl crl -outform DER -out revoking.der
            """
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", script]
        process.currentDirectoryURL = scratch.url
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(text: String(decoding: scratch.read("log") ?? Data(), as: UTF8.self))
        }
        func read(_ name: String) throws -> Certificate {
            let data = try Data(contentsOf: scratch.file("\(name).pem"))
            guard let certificate = Certificate.all(in: data).first else {
                throw Failure(text: "\(name).pem has no certificate")
            }
            return certificate
        }
        emptyList = try Data(contentsOf: scratch.file("empty.der"))
        revokingList = try Data(contentsOf: scratch.file("revoking.der"))
        (root, leaf, stranger) = (try read("root"), try read("leaf"), try read("stranger"))
        impostor = try read("impostor")
    }

    private struct Failure: Error {
        /// A description, or the text that `openssl` printed.
        let text: String
    }
}
