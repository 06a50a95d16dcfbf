// A typed client of a JSON API whose access tokens expire.

import Curlew
import CurlewTesting
import Foundation

struct Note: Codable, Sendable {
    var id: Int?
    var text: String
}

/// The typed calls of the API.
struct NotesAPI: Sendable {
    private let session: Session

    init(baseURL: URL, interceptor: any RequestInterceptor) {
        let configuration = SessionConfiguration {
            $0.baseURL = baseURL
            $0.timeouts.total = .seconds(30)
        }
        session = Session(configuration: configuration, interceptor: interceptor)
    }

    func note(_ id: Int) async throws(CurlewError) -> Note {
        try await session.request("notes/\(id)").decode()
    }

    func add(_ note: Note) async throws(CurlewError) -> Note {
        try await session.request("notes", method: .post, parameters: note, encoder: .json).decode()
    }
}

/// The user's token. A real program stores it as it would store a password: `OAuth2Token` is `Codable`.
actor TokenStore {
    private(set) var token: OAuth2Token

    init(_ token: OAuth2Token) { self.token = token }

    /// Stores a new token, unless another user has logged in since the refresh began.
    func replace(_ former: OAuth2Token?, with new: OAuth2Token) {
        if former == nil || former == token { token = new }
    }
}

/// Refreshes the tokens of the app's users.
func authorizationClient(tokenURL: URL, store: TokenStore) -> OAuth2Client {
    OAuth2Client(tokenURL: tokenURL, clientID: "notes-app") { new, former in
        // The server accepts a refresh token once, so the next one is stored before any request uses the access token.
        await store.replace(former, with: new)
    }
}

// MARK: - Demonstration

@main
enum Demonstration {
    static func main() async throws {
        let server = try standIn()
        // The server rejects this token, although it has not expired.
        let store = TokenStore(OAuth2Token(accessToken: "old", refreshToken: "refresh-1", expires: .distantFuture))
        let client = authorizationClient(tokenURL: server.url("/oauth/token"), store: store)
        let interceptor = client.interceptor(credential: await store.token)
        let api = NotesAPI(baseURL: server.url("/v1/"), interceptor: interceptor)

        try await withThrowingTaskGroup(of: Note.self) { group in
            for id in 1...10 { group.addTask { try await api.note(id) } }
            try await group.waitForAll()
        }
        let refreshes = server.requests.count { $0.path == "/oauth/token" }
        print("10 notes read at once, \(refreshes) token refresh")
        print("stored: \(await store.token)")

        let added = try await api.add(Note(text: "Curlews nest on moors."))
        print("added note \(added.id ?? 0): \(added.text)")
    }

    static func standIn() throws -> TestServer {
        let server = try TestServer()
        server.route("/oauth/token", methods: [.post]) { request in
            guard request.bodyText?.contains("refresh_token=refresh-1") == true else {
                return .text(#"{"error": "invalid_grant"}"#, status: 400, type: "application/json")
            }
            let token =
                #"{"access_token": "new", "token_type": "Bearer", "refresh_token": "refresh-2", "expires_in": 3600}"#
            return .text(token, type: "application/json")
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
