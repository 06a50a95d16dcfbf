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
