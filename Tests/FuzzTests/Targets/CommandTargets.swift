#if !FUZZING
@testable internal import CurlewTool
internal import Foundation
#else
import Foundation
#endif

extension FuzzTarget {
    static let commands = [
        FuzzTarget("request-item") { input throws(BrokenProperty) in
            guard let item = try? RequestItem(parsing: input.text) else { return }
            try require(item.original.isSameBytes(as: input.text), "messages show what was typed")
            if item.kind == .emptyHeader { try require(item.value.isEmpty, "a header without a value has none") }
            let written = escaped(item.key) + item.kind.rawValue + escaped(item.value)
            guard !item.key.contains("\\"), !item.value.contains("\\"), let again = try? RequestItem(parsing: written)
            else { return }
            try require(again.kind, equals: item.kind, "an item is read as it was written: \(written)")
            try require(
                again.key.isSameBytes(as: item.key) && again.value.isSameBytes(as: item.value), "with key and value")
        },
        FuzzTarget("nested-json") { input throws(BrokenProperty) in
            let items = input.lines.prefix(8).map { ($0, JSONValue.number("1")) }
            switch Result(catching: { () throws(NestedKeyError) in try NestedJSON.build(items) }) {
            case .success(let built): try checkWriting(built)
            case .failure(let error): try checkPlace(error)
            }
        },
        FuzzTarget("json") { input throws(BrokenProperty) in
            switch Result(catching: { () throws(JSONParser.Failure) in try JSONParser.parse(input.bytes) }) {
            case .success(let value): try checkWriting(value)
            case .failure(let error):
                try require((0...input.bytes.count).contains(error.offset), "a place that is in the text")
            }
        },
        FuzzTarget("target-url") { input throws(BrokenProperty) in
            guard let text = try? TargetURL.resolve(input.text, query: [("k", input.text)]) else { return }
            let scheme = URL(string: text)?.scheme ?? ""
            try require(["http", "https", "ws", "wss"].contains(scheme), "a URL that can be asked for: \(text)")
        },
    ]

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { $0 += ":;=@".contains($1) ? "\\\($1)" : "\($1)" }
    }

    private static func checkWriting(_ value: JSONValue) throws(BrokenProperty) {
        for text in [JSONWriter.compact(value), JSONWriter.indented(value)] {
            let read = try? JSONParser.parse(text)
            try require(read == value, "JSON is read as it was written: \(text)")
        }
    }

    private static func checkPlace(_ error: NestedKeyError) throws(BrokenProperty) {
        let length = error.key.count
        try require(
            error.range.lowerBound <= length && error.range.upperBound <= length + 1,
            "a message points into the key: \(error)")
    }
}
