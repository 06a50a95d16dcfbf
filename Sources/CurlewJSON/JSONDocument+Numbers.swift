internal import Foundation

// Numbers are checked and converted when a type asks for them.
extension JSONDocument {
    /// Returns the integer at a place; `nil` if the value is not a number.
    func integer<T: FixedWidthInteger & Decodable>(_ type: T.Type, at place: Int) throws(JSONFault) -> T? {
        let word = word(at: place)
        if word.kind == .integer, T.bitWidth <= 64, word.length < 19 {
            let first = bytes + word.offset
            let isNegative = first.pointee == JSONByte.minus
            let digits = isNegative ? first + 1 : first
            let count = isNegative ? word.length &- 1 : word.length
            var value: Int64 = 0
            for at in 0..<count { value = value &* 10 &+ Int64(digits[at] &- JSONByte.zero) }
            guard count > 0, digits[0] != JSONByte.zero || count == 1 else { throw JSONFault() }
            guard let result = T(exactly: isNegative ? 0 &- value : value) else { throw JSONFault() }
            return result
        }
        return try largeInteger(type, word)
    }

    private func largeInteger<T: FixedWidthInteger & Decodable>(_ type: T.Type, _ word: JSONWord) throws(JSONFault)
        -> T?
    {
        guard word.kind == .integer || word.kind == .number else { return nil }
        guard let number = JSONNumber(text(of: word)) else { throw JSONFault() }
        if word.kind == .integer {
            guard let value = T(String(decoding: text(of: word), as: UTF8.self)) else { throw JSONFault() }
            return value
        }
        // 34.0 and 1e3 are integers, too.
        let double = number.double(text(of: word))
        guard let value = T(exactly: double) else { throw JSONFault() }
        if double.magnitude < 0x1p53 { return value }
        return try foundations(type, word)
    }

    /// Returns the `Double` at a place; `nil` if the value is not a number.
    func double(at place: Int) throws(JSONFault) -> Double? {
        let word = word(at: place)
        guard word.kind == .integer || word.kind == .number else { return try nonConforming(word) }
        guard let number = JSONNumber(text(of: word)) else { throw JSONFault() }
        let double = number.double(text(of: word))
        guard double.isFinite, double != 0 || number.isZero && Self.acceptsZero(text(of: word)) else {
            throw JSONFault()
        }
        return double
    }

    /// Returns the `Float` at a place; `nil` if the value is not a number.
    func float(at place: Int) throws(JSONFault) -> Float? {
        let word = word(at: place)
        guard word.kind == .integer || word.kind == .number else { return try nonConforming(word) }
        guard let number = JSONNumber(text(of: word)) else { throw JSONFault() }
        let float = number.float(text(of: word))
        guard float.isFinite, float != 0 || number.isZero && Self.acceptsZero(text(of: word)) else { throw JSONFault() }
        return float
    }

    /// Returns the `Decimal` at a place; `nil` if the value is not a number.
    func decimal(at place: Int) throws(JSONFault) -> Decimal? {
        let word = word(at: place)
        guard word.kind == .integer || word.kind == .number else { return nil }
        guard let number = JSONNumber(text(of: word)) else { throw JSONFault() }
        if let decimal = number.decimal { return decimal }
        return try foundations(Decimal.self, word)
    }

    /// Whether Foundation accepts a zero. To reject numbers that are too small, Foundation looks for a digit other than
    /// 0 before the exponent. It reads four characters at a time, and the rest from the end, so it rejects `0e5` by
    /// mistake, but not `0.0e5`.
    private static func acceptsZero(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let rest = text.count & ~3
        for byte in [text[..<rest].map(\.self), text[rest...].reversed()].joined() {
            if byte | 0x20 == UInt8(ascii: "e") { return true }
            if JSONByte.isDigit(byte), byte != JSONByte.zero { return false }
        }
        return true
    }

    /// Returns infinity or NaN if the text is one of the strings that the options have for them.
    private func nonConforming<T: BinaryFloatingPoint>(_ word: JSONWord) throws(JSONFault) -> T? {
        guard word.kind == .plainString || word.kind == .simpleString,
            case .convertFromString(let positive, let negative, let nan) = decoder.nonConformingFloatDecodingStrategy
        else { return nil }
        let text = text(of: word)
        if text.elementsEqual(positive.utf8) { return .infinity }
        if text.elementsEqual(negative.utf8) { return -.infinity }
        return text.elementsEqual(nan.utf8) ? .nan : nil
    }

    /// Returns the result of `JSONDecoder`. Used only for rare numbers.
    private func foundations<T: Decodable>(_ type: T.Type, _ word: JSONWord) throws(JSONFault) -> T {
        do {
            return try JSONDecoder().decode(type, from: Data(text(of: word)))
        } catch {
            throw JSONFault()
        }
    }
}
