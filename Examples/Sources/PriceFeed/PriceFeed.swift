// Prices from a WebSocket that is opened again whenever the server drops it.

import Curlew
import CurlewTesting
import Foundation

struct Price: Codable, Sendable {
    var symbol: String
    var price: Double
}

/// The current prices of some symbols.
struct PriceFeed: Sendable {
    private struct Subscription: Encodable, Sendable {
        var subscribe: [String]
    }

    private let socket: WebSocketRequest

    init(url: URL, symbols: [String], session: Session) {
        socket = session.webSocket(url) { options in
            // Detects a server that has vanished, although this side only receives.
            options.pingInterval = .seconds(20)
        }
        // A server does not remember who has subscribed, so every connection begins with the subscription.
        .reconnecting(ReconnectionPolicy(limit: 20, initialDelay: .milliseconds(100))) { socket in
            try await socket.send(json: Subscription(subscribe: symbols))
        }
    }

    /// The price changes, over as many connections as needed. Changes between two connections are missed.
    var prices: some AsyncSequence<Price, CurlewError> & Sendable {
        socket.messages.decode(Price.self)
    }
}

// MARK: - Demonstration

@main
enum Demonstration {
    static func main() async throws {
        let server = try standIn()
        let feed = PriceFeed(url: server.url("/prices"), symbols: ["OATS", "RYE"], session: Session())

        var count = 0
        for try await price in feed.prices {
            print(price.symbol, price.price)
            count += 1
        }
        print("\(count) prices over \(server.connectionCount) connections")
    }

    /// Drops the first two connections without a close frame, and closes the third one properly.
    static func standIn() throws -> TestServer {
        let server = try TestServer()
        server.route("/prices") { request in
            let opening = Double(100 + request.connection)
            let prices = [Price(symbol: "OATS", price: opening), Price(symbol: "RYE", price: opening / 2)]
            let messages = try prices.map { try String(decoding: JSONEncoder().encode($0), as: UTF8.self) }
            let end: TestServer.WebSocketScript.Step = request.connection < 3 ? .cut : .close(.normalClosure)
            let script = TestServer.WebSocketScript(
                [.receive(1)] + messages.flatMap { [.send(.text($0)), .pause(.milliseconds(100))] } + [end]
            )
            return .webSocket(script, for: request)
        }
        return server
    }
}
