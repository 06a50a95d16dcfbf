import Curlew
import CurlewCore
import CurlewLocks
import CurlewTransport
import Foundation
import Testing

/// HTTP authentication with Apache's modules.
@Suite("Authentication at Apache", .realServers, .timeLimit(.minutes(4)))
struct ApacheAuthenticationTests {
    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                change(&$0)
            })
    }

    private func url(_ path: String) throws -> URL { try IntegrationEnvironment.url("APACHE", path) }
    private func name() throws -> String { try IntegrationEnvironment.text("APACHE_USER") }
    private func password() throws -> String { try IntegrationEnvironment.text("APACHE_PASSWORD") }

    private func status(_ session: Session, _ path: String) async throws -> Int {
        await session.request(try url(path)).response().head?.status ?? 0
    }

    @Test(arguments: ["digest", "basic"])
    func rightPasswordIsAcceptedAndWrongOneIs401(scheme: String) async throws {
        let session = session()
        let text = try await session.request(url("/\(scheme)/page.txt"))
            .authenticate(username: name(), password: password()).string()
        #expect(text == "\(scheme)\n")
        let wrong = await session.request(try url("/\(scheme)/page.txt"))
            .authenticate(username: try name(), password: "wrong").response()
        #expect(wrong.head?.status == 401)
        #expect(try await status(self.session(), "/\(scheme)/page.txt") == 401)
    }

    @Test func acceptedCredentialsAreUsedInTheWholeRealm() async throws {
        let session = session()
        #expect(try await status(session, "/basic/deeper/page.txt") == 401)
        _ = try await session.request(url("/basic/page.txt"))
            .authenticate(username: name(), password: password()).string()
        #expect(try await status(session, "/basic/deeper/page.txt") == 200)
        // The first page has the same realm with another scheme, the second another realm of the same server.
        #expect(try await status(session, "/digest/page.txt") == 200)
        #expect(try await status(session, "/other/page.txt") == 401)
        // Another session does not have the credentials.
        #expect(try await status(self.session(), "/basic/page.txt") == 401)
    }

    @Test func unstoredCredentialsAreUsedForOneRequest() async throws {
        let session = session()
        _ = try await session.request(url("/basic/page.txt"))
            .authenticate(username: name(), password: password(), persistence: .none).string()
        #expect(try await status(session, "/basic/page.txt") == 401)
    }

    @Test func eachRealmHasItsOwnCredentials() async throws {
        let session = session()
        _ = try await session.request(url("/digest/page.txt"))
            .authenticate(username: name(), password: password()).string()
        _ = try await session.request(url("/other/page.txt"))
            .authenticate(username: name(), password: IntegrationEnvironment.text("APACHE_OTHER_PASSWORD")).string()
        for path in ["/digest/page.txt", "/other/page.txt", "/basic/page.txt"] {
            #expect(try await status(session, path) == 200, "\(path)")
        }
    }

    @Test func credentialsComeFromANetrcFile() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "netrc-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        // netrc needs quotes for a password with a space.
        try Data("machine localhost login \(name()) password \"\(password())\"\n".utf8).write(to: file)
        let session = session { $0.netrc = .file(file) }
        #expect(try await status(session, "/basic/page.txt") == 200)
    }

    @Test func sessionCredentialsAreUsedOnlyForTheirOrigin() async throws {
        let authentication = TransferAuthentication(username: try name(), password: try password())
        let port = try #require(url("").port)
        for key in ["http://localhost:\(port)", "localhost:\(port)"] {
            let session = session { $0.credentials = [key: authentication] }
            #expect(try await status(session, "/digest/page.txt") == 200)
        }
        for key in ["localhost", "https://localhost:\(port)", "http://localhost", "localhost:\(port + 1)"] {
            let session = session { $0.credentials = [key: authentication] }
            #expect(try await status(session, "/digest/page.txt") == 401)
        }
    }

    // MARK: Uploads

    private static let body = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

    private func stored(_ path: String) throws -> Data {
        try Data(contentsOf: IntegrationEnvironment.file("APACHE_FILES").appending(path: path))
    }

    @Test(arguments: ["digest", "basic"])
    func aBodyInMemoryIsSentAgainAfterTheChallenge(scheme: String) async throws {
        for count in [100, 400_000] {
            let path = "\(scheme)/\(UUID())"
            let response = await session().upload(Self.body.prefix(count), to: try url("/\(path)"), method: .put)
                .authenticate(username: try name(), password: try password()).response()
            #expect(response.head?.status == 201, "\(String(describing: response.error))")
            #expect(try stored(path) == Self.body.prefix(count))
        }
    }

    @Test(arguments: ["digest", "basic"])
    func aFileIsSentAgainAfterTheChallenge(scheme: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        try Self.body.write(to: file)
        let path = "\(scheme)/\(UUID())"
        let response = await session().upload(file, to: try url("/\(path)"), method: .put)
            .authenticate(username: try name(), password: try password()).response()
        #expect(response.head?.status == 201, "\(String(describing: response.error))")
        #expect(try stored(path) == Self.body)
    }

    @Test func storedCredentialsAreUsedForUploads() async throws {
        let session = session()
        _ = try await session.request(url("/digest/page.txt"))
            .authenticate(username: name(), password: password()).string()
        let path = "digest/\(UUID())"
        let response = await session.upload(Self.body, to: try url("/\(path)"), method: .put).response()
        #expect(response.head?.status == 201, "\(String(describing: response.error))")
        #expect(try stored(path) == Self.body)
    }
}
