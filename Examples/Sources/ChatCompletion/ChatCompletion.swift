// A chat completion that is printed while it is generated, over server-sent events.

import Curlew
import CurlewTesting
import Foundation

/// A client of an API in the form of OpenAI's chat completions.
struct ChatClient: Sendable {
    private let session: Session
    private let model: String

    init(baseURL: URL, apiKey: String, model: String) {
        self.model = model
        session = Session(
            configuration: SessionConfiguration {
                $0.baseURL = baseURL
                $0.headers.add(.authorization(bearerToken: apiKey))
                // A model may think for minutes before its first word.
                $0.timeouts.firstByte = .seconds(300)
                $0.timeouts.idle = .seconds(120)
            }
        )
    }

    /// Passes the parts of the reply on as they arrive, and returns the whole reply. Cancelling the task, or an error
    /// that `onPart` throws, ends the transfer, so that the server stops generating.
    nonisolated(nonsending) func reply(
        to messages: [ChatMessage], onPart: (String) throws -> Void
    ) async throws -> String {
        let prompt = Prompt(model: model, messages: messages)
        let stream = session.streamRequest("chat/completions", method: .post, parameters: prompt, encoder: .json)
        var reply = ""
        for try await event in stream.events {
            if event.data == "[DONE]" { return reply }
            let chunk = try event.decode(Chunk.self)
            if let failure = chunk.error { throw failure }
            guard let part = chunk.choices?.first?.delta.content else { continue }
            reply += part
            try onPart(part)
        }
        throw ChatFailure(message: "The reply has ended without its end marker.")
    }

    private struct Prompt: Encodable, Sendable {
        var model: String
        var messages: [ChatMessage]
        var stream = true
    }

    private struct Chunk: Decodable {
        struct Choice: Decodable {
            var delta: Delta
        }

        struct Delta: Decodable {
            var content: String?
        }

        var choices: [Choice]?
        /// A failure after the status has been sent.
        var error: ChatFailure?
    }
}

struct ChatMessage: Codable, Sendable {
    enum Role: String, Codable, Sendable { case system, user, assistant }

    var role: Role
    var content: String
}

struct ChatFailure: Error, Decodable {
    var message: String
}

// MARK: - Demonstration

@main
enum Demonstration {
    static func main() async throws {
        let server = try standIn(answer: "The curlew is a large wader with a long, down-curved bill.")
        let client = ChatClient(baseURL: server.url("/v1/"), apiKey: "secret", model: "stand-in")

        let question = ChatMessage(role: .user, content: "What is a curlew?")
        print("> \(question.content)")
        let reply = try await client.reply(to: [question]) { part in
            print(part, terminator: "")
            fflush(nil)
        }
        print("\n(\(reply.count) characters)")
    }

    /// Sends a word every 50 milliseconds.
    static func standIn(answer: String) throws -> TestServer {
        let deltas = answer.split(separator: " ").map { word in
            Data(#"data: {"choices": [{"delta": {"content": "\#(word) "}}]}"#.utf8) + Data("\n\n".utf8)
        }
        let server = try TestServer()
        server.route("/v1/chat/completions", methods: [.post]) { request in
            guard request.headers["Authorization"] == "Bearer secret" else { return .status(401) }
            return TestServer.Response(
                headers: ["Content-Type": "text/event-stream"],
                body: .chunks(deltas + [Data("data: [DONE]\n\n".utf8)], every: .milliseconds(50))
            )
        }
        return server
    }
}
