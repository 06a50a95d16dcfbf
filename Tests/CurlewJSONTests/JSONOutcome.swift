import Foundation

/// Describes the result of a decoding. Equal results have equal descriptions.
enum JSONOutcome {
    static func of<T>(_ body: () throws -> T) -> String {
        do {
            return describe(try body())
        } catch {
            return describe(error)
        }
    }

    static func describe(_ error: any Error) -> String {
        func place(_ context: DecodingError.Context) -> String {
            let path = context.codingPath.map { "\($0.stringValue)(\($0.intValue.map(String.init) ?? ""))" }
            return "at \(path) \(context.debugDescription) \(context.underlyingError == nil ? "" : "underlying")"
        }
        switch error as? DecodingError {
        case .typeMismatch(let type, let context): return "typeMismatch \(type) \(place(context))"
        case .valueNotFound(let type, let context): return "valueNotFound \(type) \(place(context))"
        case .keyNotFound(let key, let context): return "keyNotFound \(key.stringValue) \(place(context))"
        case .dataCorrupted(let context): return "dataCorrupted \(place(context))"
        // For malformed text, each decoder throws a private error, which only decoded types can see.
        case nil: return "another error"
        @unknown default: return "unknown"
        }
    }

    static func describe(_ value: Any) -> String {
        switch value {
        case let double as Double: return double.isNaN ? "nan" : "double \(double.bitPattern)"
        case let float as Float: return float.isNaN ? "nan" : "float \(float.bitPattern)"
        case let string as String: return "'\(string.unicodeScalars.map { $0.escaped(asASCII: true) }.joined())'"
        case let decimal as Decimal: return "decimal \(decimal) \(decimal.exponent) \(decimal.significand)"
        case let date as Date: return "date \(date.timeIntervalSinceReferenceDate.bitPattern)"
        case let data as Data: return "data \(data.base64EncodedString())"
        case let url as URL: return "url \(url.absoluteString)"
        default: break
        }
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .dictionary, .set:
            return "{\(mirror.children.map { describe($0.value) }.sorted().joined(separator: "; "))}"
        case .optional: return mirror.children.first.map { describe($0.value) } ?? "nil"
        case .some where !mirror.children.isEmpty:
            let children = mirror.children.map { "\($0.label ?? "")=\(describe($0.value))" }
            return "\(mirror.subjectType)(\(children.joined(separator: "; ")))"
        case _: return "\(mirror.subjectType) \(value)"
        }
    }

    /// Returns excerpts of two descriptions from the place at which they begin to differ.
    static func difference(_ left: String, _ right: String) -> String {
        let same = zip(left.utf8, right.utf8).prefix { $0 == $1 }.count
        func excerpt(_ text: String) -> String {
            String(decoding: text.utf8.dropFirst(max(0, same - 80)).prefix(200), as: UTF8.self)
        }
        return "…\(excerpt(left))…\n  instead of …\(excerpt(right))…"
    }
}
