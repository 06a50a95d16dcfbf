internal import Foundation

/// The parts of a number: ± significand × 10 ^ exponent.
struct JSONNumber {
    var isNegative = false
    var significand: UInt64 = 0
    var exponent = 0
    /// Whether the significand has more digits than fit.
    var isCut = false

    var isZero: Bool { significand == 0 && !isCut }

    /// Reads a number; `nil` if the text violates JSON's grammar.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard var at = text.baseAddress else { return nil }
        let end = at + text.count
        if at < end, at.pointee == JSONByte.minus {
            isNegative = true
            at += 1
        }
        let first = at
        at = takeDigits(at, end)
        var digits = at - first
        guard digits > 0, first.pointee != JSONByte.zero || digits == 1 else { return nil }
        if at < end, at.pointee == UInt8(ascii: ".") {
            at += 1
            let fraction = at
            at = takeDigits(at, end)
            guard at > fraction else { return nil }
            exponent = fraction - at
            digits += at - fraction
        }
        // Leading zeros do not count as digits of the significand.
        if digits > 19 { isCut = Self.significantDigits(first, end) > 19 }
        if at < end {
            guard let power = Self.power(at, end) else { return nil }
            exponent += power
        }
    }

    /// Appends digits to the significand. Returns the position after them.
    private mutating func takeDigits(
        _ first: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>
    ) -> UnsafePointer<UInt8> {
        var at = first
        while end - at >= 8, let digits = JSONBytes.eightDigits(JSONBytes.load(at)) {
            significand = significand &* 100_000_000 &+ digits
            at += 8
        }
        while at < end, JSONByte.isDigit(at.pointee) {
            significand = significand &* 10 &+ UInt64(at.pointee &- JSONByte.zero)
            at += 1
        }
        return at
    }

    private static func significantDigits(_ first: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> Int {
        var count = 0
        for byte in UnsafeBufferPointer(start: first, count: end - first) {
            if byte == UInt8(ascii: ".") { continue }
            guard JSONByte.isDigit(byte) else { break }
            if count > 0 || byte != JSONByte.zero { count += 1 }
        }
        return count
    }

    /// Returns the number after an `e`; `nil` if the rest of the text is anything else.
    private static func power(_ first: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> Int? {
        var at = first
        guard at.pointee | 0x20 == UInt8(ascii: "e") else { return nil }
        at += 1
        var isNegative = false
        if at < end, at.pointee == JSONByte.minus || at.pointee == UInt8(ascii: "+") {
            isNegative = at.pointee == JSONByte.minus
            at += 1
        }
        guard at < end else { return nil }
        var power = 0
        while at < end, JSONByte.isDigit(at.pointee) {
            // The value is out of range already; further digits change nothing.
            if power < 1_000_000_000 { power = power * 10 + Int(at.pointee &- JSONByte.zero) }
            at += 1
        }
        guard at == end else { return nil }
        return isNegative ? -power : power
    }
}

extension JSONNumber {
    /// Returns the nearest `Double`; infinite if the number is too large.
    func double(_ text: UnsafeBufferPointer<UInt8>) -> Double {
        if !isCut, let magnitude = JSONDouble.magnitude(significand, exponent) {
            return isNegative ? -magnitude : magnitude
        }
        return Double(String(decoding: text, as: UTF8.self)) ?? .infinity
    }

    /// Returns the nearest `Float`; infinite if the number is too large.
    func float(_ text: UnsafeBufferPointer<UInt8>) -> Float {
        // Both factors are exact, so only the result is rounded.
        if !isCut, significand <= 1 << 24, exponent >= -10, exponent <= 10 {
            let power = Float(JSONDouble.powersOfTen[abs(exponent)])
            let magnitude = exponent < 0 ? Float(significand) / power : Float(significand) * power
            return isNegative ? -magnitude : magnitude
        }
        return Float(String(decoding: text, as: UTF8.self)) ?? .infinity
    }

    /// The exact number; `nil` if Foundation has to decide how many of its digits can be kept.
    var decimal: Decimal? {
        guard !isCut, significand > 0, exponent >= -100, exponent <= 100 else { return nil }
        return Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: Decimal(significand))
    }
}
