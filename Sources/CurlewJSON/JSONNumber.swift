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

/// Computes the `Double` that is nearest to significand × 10 ^ exponent.
enum JSONDouble {
    // swift-format-ignore
    static let powersOfTen: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// Returns the nearest `Double`; `nil` if only the standard library can decide.
    static func magnitude(_ significand: UInt64, _ exponent: Int) -> Double? {
        // Clinger: both factors are exact, so only the result is rounded.
        if significand <= 1 << 53, exponent >= -22, exponent <= 22 {
            let value = Double(significand)
            return exponent < 0 ? value / powersOfTen[0 &- exponent] : value * powersOfTen[exponent]
        }
        return product(significand, exponent)
    }

    /// Multiplies by the first 128 bits of the power of five (Eisel and Lemire, "Number Parsing at a Gigabyte per
    /// Second", 2021). `nil` if the product is too close to the middle between two values.
    private static func product(_ significand: UInt64, _ exponent: Int) -> Double? {
        guard significand != 0 else { return 0 }
        guard exponent >= JSONPowersOfFive.smallest, exponent <= JSONPowersOfFive.largest else { return nil }
        let zeros = significand.leadingZeroBitCount
        let factor = significand << UInt64(zeros)
        let place = (exponent - JSONPowersOfFive.smallest) * 2
        var (high, low) = factor.multipliedFullWidth(by: JSONPowersOfFive.words[place])
        if high & 0x1ff == 0x1ff {
            // All bits below the 55 significant ones are set, so the second word may carry into those.
            let second = factor.multipliedFullWidth(by: JSONPowersOfFive.words[place + 1]).high
            let (sum, overflow) = low.addingReportingOverflow(second)
            low = sum
            if overflow { high += 1 }
            if low == .max, high & 0x1ff == 0x1ff { return nil }
        }
        let upper = Int(high >> 63)
        var mantissa = high >> UInt64(upper + 9)
        // Halfway between two values: round to the even one. Only these powers can have such a product.
        if low <= 1, exponent >= -4, exponent <= 23, mantissa & 3 == 1,
            mantissa << UInt64(upper + 9) == high
        {
            mantissa &= ~1
        }
        mantissa = (mantissa + (mantissa & 1)) >> 1
        // 217706 / 2^16 is the binary logarithm of ten. With the table's powers no value is subnormal or infinite.
        var power = (217_706 * exponent) >> 16 + 63 - zeros + upper + 1023
        if mantissa >= 1 << 53 {
            mantissa = 1 << 52
            power += 1
        }
        return Double(bitPattern: UInt64(power) << 52 | mantissa & 0xf_ffff_ffff_ffff)
    }
}
