internal import Foundation

extension JSONDocument {
    /// Decodes a date by the strategy of the options.
    func date(at place: Int, under container: JSONPath, path: () -> JSONPath) throws -> Date {
        if word(at: place).kind == .null { throw mismatch(Date.self, at: place, path()) }
        switch decoder.dateDecodingStrategy {
        case .deferredToDate: return Date(timeIntervalSinceReferenceDate: try seconds(at: place, path))
        case .secondsSince1970: return Date(timeIntervalSince1970: try seconds(at: place, path))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try seconds(at: place, path) / 1000)
        case .iso8601:
            if let date = JSONTimestamp.date(word(at: place).kind == .plainString ? text(of: word(at: place)) : nil) {
                return date
            }
            guard let string = try string(at: place) else { throw mismatch(String.self, at: place, path()) }
            guard let date = try? Date.ISO8601FormatStyle().parse(string) else {
                // Foundation reports the decoder's path here, without the key.
                throw DecodingError.dataCorrupted(
                    .init(
                        codingPath: container.ofDecoder.keys,
                        debugDescription: "Expected date string to be ISO8601-formatted."))
            }
            return date
        case .custom(let make): return try make(JSONValueDecoder(document: self, path: path(), place: place))
        @unknown default: throw JSONFault()
        }
    }

    private func seconds(at place: Int, _ path: () -> JSONPath) throws -> Double {
        guard let seconds = try double(at: place) else { throw mismatch(Double.self, at: place, path()) }
        return seconds
    }
}

/// Parses times of the usual form, `2026-01-31T23:59:59Z`. Other forms are left to Foundation.
enum JSONTimestamp {
    static func date(_ text: UnsafeBufferPointer<UInt8>?) -> Date? {
        guard let text, text.count == 20, text[4] == JSONByte.minus, text[7] == JSONByte.minus,
            text[10] == UInt8(ascii: "T"), text[13] == JSONByte.colon, text[16] == JSONByte.colon,
            text[19] == UInt8(ascii: "Z"),
            let year = number(text, 0, 4), let month = number(text, 5, 2), let day = number(text, 8, 2),
            let hour = number(text, 11, 2), let minute = number(text, 14, 2), let second = number(text, 17, 2),
            // The calendar has other rules for older years.
            year >= 1600, (1...12).contains(month), day >= 1, day <= days(in: month, of: year),
            hour < 24, minute < 60, second < 60
        else { return nil }
        let time = (days(before: year, month) + day - 1) * 86_400 + hour * 3600 + minute * 60 + second
        // 2001-01-01 is 11,323 days after 1970-01-01.
        return Date(timeIntervalSinceReferenceDate: Double(time - 11_323 * 86_400))
    }

    private static func number(_ text: UnsafeBufferPointer<UInt8>, _ first: Int, _ count: Int) -> Int? {
        var number = 0
        for byte in text[first..<first + count] {
            guard JSONByte.isDigit(byte) else { return nil }
            number = number * 10 + Int(byte - JSONByte.zero)
        }
        return number
    }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func days(in month: Int, of year: Int) -> Int {
        month == 2 ? (isLeap(year) ? 29 : 28) : 30 + (month + month / 8) % 2
    }

    /// Returns the number of days from 1970-01-01 to the first day of a month.
    private static func days(before year: Int, _ month: Int) -> Int {
        let past = year - 1
        let years = past * 365 + past / 4 - past / 100 + past / 400 - 719_162
        return (1..<month).reduce(years) { $0 + days(in: $1, of: year) }
    }
}
