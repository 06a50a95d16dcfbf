internal import Foundation

extension JSONDocument {
    /// Decodes a value of any type. `container` is the path of the container that holds the value, `path` the value's
    /// own.
    func decode<T: Decodable>(
        _ type: T.Type,
        at place: Int,
        under container: JSONPath,
        path: () -> JSONPath
    ) throws -> T {
        if type == Date.self { return try unsafeBitCast(date(at: place, under: container, path: path), to: type) }
        if type == Data.self { return try unsafeBitCast(data(at: place, path: path), to: type) }
        if type == URL.self { return try unsafeBitCast(url(at: place, path: path), to: type) }
        if type == Decimal.self { return try unsafeBitCast(decimal(at: place, path: path), to: type) }
        if !usesDefaultKeys, let dictionary = type as? any StringDictionary.Type {
            return try self.dictionary(dictionary, at: place, path: path()) as! T
        }
        if word(at: place).kind == .array {
            switch JSONPrimitive(type) {
            case .strings: if let array = try strings(at: place) { return unsafeBitCast(array, to: type) }
            case .integers: if let array = try integers(Int.self, at: place) { return unsafeBitCast(array, to: type) }
            case .doubles: if let array = try doubles(at: place) { return unsafeBitCast(array, to: type) }
            case .floats: if let array = try floats(at: place) { return unsafeBitCast(array, to: type) }
            case .bools: if let array = try bools(at: place) { return unsafeBitCast(array, to: type) }
            case .wideIntegers:
                if let array = try integers(Int64.self, at: place) { return unsafeBitCast(array, to: type) }
            case .bytes: if let array = try integers(UInt8.self, at: place) { return unsafeBitCast(array, to: type) }
            case nil:
                if let array = type as? any DecodableArray.Type {
                    return try array.make(type, self, place, path())
                }
            }
        }
        return try T(from: JSONValueDecoder(document: self, path: path(), place: place))
    }

    private func decimal(at place: Int, path: () -> JSONPath) throws -> Decimal {
        if let decimal = try decimal(at: place) { return decimal }
        guard word(at: place).kind == .null else {
            throw DecodingError.typeMismatch(Decimal.self, .init(codingPath: path().keys, debugDescription: ""))
        }
        throw mismatch(Decimal.self, at: place, path())
    }

    private func url(at place: Int, path: () -> JSONPath) throws -> URL {
        guard let string = try string(at: place) else {
            throw mismatch(word(at: place).kind == .null ? URL.self : String.self, at: place, path())
        }
        guard let url = URL(string: string) else {
            throw DecodingError.dataCorrupted(.init(codingPath: path().keys, debugDescription: "Invalid URL string."))
        }
        return url
    }

    private func data(at place: Int, path: () -> JSONPath) throws -> Data {
        let word = word(at: place)
        if word.kind == .null { throw mismatch(Data.self, at: place, path()) }
        switch decoder.dataDecodingStrategy {
        case .deferredToData: return try Data(from: JSONValueDecoder(document: self, path: path(), place: place))
        case .custom(let make): return try make(JSONValueDecoder(document: self, path: path(), place: place))
        case .base64: break
        @unknown default: throw JSONFault()
        }
        guard word.kind.isString else { throw mismatch(String.self, at: place, path()) }
        if word.kind == .plainString, let start = UnsafeMutableRawPointer(mutating: text(of: word).baseAddress),
            let data = Data(
                base64Encoded: Data(bytesNoCopy: start, count: word.length, deallocator: .none))
        {
            return data
        }
        guard let string = try string(at: place), let data = Data(base64Encoded: string) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: path().keys, debugDescription: "Encountered Data is not valid Base64."))
        }
        return data
    }
}

// Dictionaries with strings as keys. The keys are data, so no key strategy changes them.

private protocol StringDictionary {
    static func make(_ document: JSONDocument, _ object: Int, _ path: JSONPath) throws -> Any
}

extension Dictionary: StringDictionary where Key == String, Value: Decodable {
    fileprivate static func make(_ document: JSONDocument, _ object: Int, _ path: JSONPath) throws -> Any {
        var result: [String: Value] = [:]
        let header = document.word(at: object)
        result.reserveCapacity(Swift.min(header.count, JSONReservation.bytes / MemoryLayout<(String, Value)>.stride))
        var place = object + 2
        while place < header.end {
            guard let key = try document.string(at: place) else { throw JSONFault() }
            let value = try document.decode(Value.self, at: place + 1, under: path) {
                path.appending(JSONKey(stringValue: key))
            }
            if result[key] == nil { result[key] = value }
            place = document.place(after: place + 1)
        }
        return result
    }
}

extension JSONDocument {
    private func dictionary(_ type: any StringDictionary.Type, at place: Int, path: JSONPath) throws -> Any {
        let kind = word(at: place).kind
        guard kind.isObject else { throw mismatch([String: Any].self, at: place, path) }
        return try type.make(self, place, path)
    }
}

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

/// The types of arrays that are decoded without a decoder for each element.
enum JSONPrimitive {
    case strings, integers, doubles, floats, bools, wideIntegers, bytes

    private struct Types {
        let strings = ObjectIdentifier([String].self)
        let integers = ObjectIdentifier([Int].self)
        let doubles = ObjectIdentifier([Double].self)
        let floats = ObjectIdentifier([Float].self)
        let bools = ObjectIdentifier([Bool].self)
        let wideIntegers = ObjectIdentifier([Int64].self)
        let bytes = ObjectIdentifier([UInt8].self)
    }

    // Stored, because the runtime looks up the metadata of an array type each time.
    private static let types = Types()

    init?(_ type: any Any.Type) {
        let (identifier, types) = (ObjectIdentifier(type), Self.types)
        switch identifier {
        case types.strings: self = .strings
        case types.integers: self = .integers
        case types.doubles: self = .doubles
        case types.floats: self = .floats
        case types.bools: self = .bools
        case types.wideIntegers: self = .wideIntegers
        case types.bytes: self = .bytes
        default: return nil
        }
    }
}

extension JSONDocument {
    /// Returns the elements of an array; `nil` if one of them is of another kind. Decoding with a container then throws
    /// the right error.
    func array<Element>(at place: Int, _ element: (JSONDocument, Int) throws -> Element?) throws -> [Element]? {
        let header = word(at: place)
        var elements: [Element] = []
        elements.reserveCapacity(header.count)
        var place = place + 1
        while place < header.end {
            guard let value = try element(self, place) else { return nil }
            elements.append(value)
            place = self.place(after: place)
        }
        return elements
    }

    func strings(at place: Int) throws -> [String]? { try array(at: place) { try $0.string(at: $1) } }
    func doubles(at place: Int) throws -> [Double]? { try array(at: place) { try $0.double(at: $1) } }
    func floats(at place: Int) throws -> [Float]? { try array(at: place) { try $0.float(at: $1) } }
    func bools(at place: Int) throws -> [Bool]? { try array(at: place) { $0.bool(at: $1) } }
    func integers<T: FixedWidthInteger & Decodable>(_ type: T.Type, at place: Int) throws -> [T]? {
        try array(at: place) { try $0.integer(type, at: $1) }
    }
}

// Arrays of other types are decoded as by `Array.init(from:)`, without a container.

protocol DecodableArray {
    /// Decodes an array. `type` must be the conforming type itself.
    static func make<T>(_ type: T.Type, _ document: JSONDocument, _ array: Int, _ path: JSONPath) throws -> T
}

extension Array: DecodableArray where Element: Decodable {
    static func make<T>(_ type: T.Type, _ document: JSONDocument, _ array: Int, _ path: JSONPath) throws -> T {
        let header = document.word(at: array)
        var elements: [Element] = []
        elements.reserveCapacity(Swift.min(header.count, JSONReservation.bytes / MemoryLayout<Element>.stride))
        var place = array + 1
        while place < header.end {
            let index = elements.count
            elements.append(
                try document.decode(Element.self, at: place, under: path) { path.appending(element: index) })
            place = document.place(after: place)
        }
        // SAFETY: the types are the same.
        return unsafeBitCast(elements, to: type)
    }
}

/// The limit of the memory that is reserved ahead. Otherwise a text with two bytes for each element could reserve the
/// size of a large type for each of them.
enum JSONReservation {
    static let bytes = 1 << 20
}
