internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Server-sent events", .timeLimit(.minutes(4)))
struct EventStreamConformance {
    struct Case: CorpusCase {
        struct Response: Decodable {
            let status: Int?
            let content_type: String?
        }
        struct Expected: Decodable {
            struct Event: Decodable, Equatable {
                let type: String
                let data: String
                let last_event_id: String
            }
            let events: [Event]
            let retry_ms: Int64?
            let reconnect_last_event_id: String?
            let connection: String?
            enum Keys: String, CodingKey { case events, retry_ms, reconnect_last_event_id, connection }
            let saysRetry: Bool
            let saysLastEventID: Bool

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                events = try container.decode([Event].self, forKey: .events)
                retry_ms = try container.decodeIfPresent(Int64.self, forKey: .retry_ms)
                reconnect_last_event_id = try container.decodeIfPresent(String.self, forKey: .reconnect_last_event_id)
                connection = try container.decodeIfPresent(String.self, forKey: .connection)
                saysRetry = container.contains(.retry_ms)
                saysLastEventID = container.contains(.reconnect_last_event_id)
            }
        }
        let id: String
        let source: String
        let response: Response?
        let chunks_hex: [String]
        let expected: Expected
        var group: String { String(source.prefix { $0 != "," && $0 != "/" }) }
    }

    /// Compares the parser's events for the case's chunks, for single bytes and for one chunk.
    @Test(
        "events follow the HTML standard, whatever the chunks of the stream", arguments: ["as given", "bytes", "whole"])
    func events(cut: String) throws {
        try conform("sse") { (item: Case) in
            // The parser does not see status and content type.
            guard item.expected.connection == nil else { return .notCounted }
            let chunks = item.chunks_hex.map { Data(hex: $0) ?? Data() }
            let whole = chunks.reduce(into: Data()) { $0 += $1 }
            var parser = EventStreamParser(maximumEventSize: 1 << 20)
            var events: [Case.Expected.Event] = []
            let cuts = ["bytes": whole.map { Data([$0]) }, "whole": [whole]]
            for chunk in cuts[cut] ?? chunks {
                events += try parser.events(in: chunk).map {
                    .init(type: $0.event, data: $0.data, last_event_id: $0.id ?? "")
                }
            }
            if events != item.expected.events { return .compare(events, item.expected.events) }
            if item.expected.saysRetry {
                let retry = item.expected.retry_ms.map { Duration.milliseconds($0) }
                if parser.reconnectionTime != retry { return .compare(parser.reconnectionTime, retry) }
            }
            guard item.expected.saysLastEventID else { return .passed }
            return .compare(parser.lastEventID, item.expected.reconnect_last_event_id)
        }
    }
}
