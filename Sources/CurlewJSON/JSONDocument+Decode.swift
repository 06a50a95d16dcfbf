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
