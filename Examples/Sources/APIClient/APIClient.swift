// A typed client of a JSON API whose access tokens expire.

import Curlew
import CurlewTesting
import Foundation

struct Note: Codable, Sendable {
    var id: Int?
    var text: String
}

/// The API's calls, with their types.
struct NotesAPI: Sendable {
    private let session: Session

    init(baseURL: URL, credential: OAuthCredential) {
        let configuration = SessionConfiguration {
            $0.baseURL = baseURL
            $0.timeouts.total = .seconds(30)
        }
        let authenticator = OAuthAuthenticator(tokens: Session(configuration: configuration))
        session = Session(
            configuration: configuration,
            interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: credential)
        )
    }

    func note(_ id: Int) async throws(CurlewError) -> Note {
        try await session.request("notes/\(id)").decode()
    }

    func add(_ note: Note) async throws(CurlewError) -> Note {
        try await session.request("notes", method: .post, parameters: note, encoder: .json).decode()
    }
}

struct OAuthCredential: AuthenticationCredential, Sendable {
    var accessToken: String
    var refreshToken: String
    var expires: Date

    /// A token that is about to expire is refreshed before it is used.
    var requiresRefresh: Bool { expires < Date(timeIntervalSinceNow: 60) }
}

final class OAuthAuthenticator: Authenticator {
    /// Sends the refreshes. The API's own session makes its requests wait for them.
    private let tokens: Session

    private struct Grant: Decodable, Sendable {
        var access_token, refresh_token: String
        var expires_in: Double
    }

    init(tokens: Session) { self.tokens = tokens }

    func apply(_ credential: OAuthCredential, to urlRequest: inout URLRequest) {
        urlRequest.headers.add(.authorization(bearerToken: credential.accessToken))
    }

    func refresh(_ credential: OAuthCredential, for session: Session) async throws -> OAuthCredential {
        let form = ["grant_type": "refresh_token", "refresh_token": credential.refreshToken]
        let grant = try await tokens.request("oauth/token", method: .post, parameters: form, encoder: .urlEncodedForm)
            .decode(Grant.self)
        let expires = Date(timeIntervalSinceNow: grant.expires_in)
        return OAuthCredential(accessToken: grant.access_token, refreshToken: grant.refresh_token, expires: expires)
    }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool {
        response.statusCode == 401
    }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: OAuthCredential) -> Bool {
        urlRequest.headers["Authorization"] == "Bearer \(credential.accessToken)"
    }
}

// MARK: - Demonstration

@main
enum Demonstration {
    static func main() async throws {
        let server = try standIn()
        // The server no longer accepts this token, although its time has not come.
        let revoked = OAuthCredential(accessToken: "old", refreshToken: "refresh-1", expires: .distantFuture)
        let api = NotesAPI(baseURL: server.url("/v1/"), credential: revoked)

        try await withThrowingTaskGroup(of: Note.self) { group in
            for id in 1...10 { group.addTask { try await api.note(id) } }
            try await group.waitForAll()
        }
        let refreshes = server.requests.count { $0.path == "/v1/oauth/token" }
        print("10 notes read at once, \(refreshes) token refresh")

        let added = try await api.add(Note(text: "Curlews nest on moors."))
        print("added note \(added.id ?? 0): \(added.text)")
    }

    static func standIn() throws -> TestServer {
        let server = try TestServer()
        server.route("/v1/oauth/token", methods: [.post]) { request in
            guard request.bodyText?.contains("refresh_token=refresh-1") == true else { return .status(400) }
            return .text(#"{"access_token": "new", "refresh_token": "refresh-2", "expires_in": 3600}"#)
        }
        server.route("/v1/notes", methods: [.post]) { request in
            guard request.headers["Authorization"] == "Bearer new" else { return .status(401) }
            var note = try JSONDecoder().decode(Note.self, from: request.body)
            note.id = 11
            return .json(note, status: 201)
        }
        server.route("/v1/notes/{id}") { request in
            guard request.headers["Authorization"] == "Bearer new" else { return .status(401) }
            return .json(Note(id: request.parameters["id"].flatMap { Int($0) }, text: "…"))
        }
        return server
    }
}
