/// The name of the file that a download writes to: `.curlew-NUMBER-CHECK.part`.
///
/// Resume data names a file and may be forged. A download therefore writes only to files with such a name. The check
/// part is computed from the number, so files of other programs do not have such a name by chance. The number is
/// random, so the name is known only to those who have the resume data or can list the directory. Unlike an extended
/// attribute, a name exists on every file system; unlike a signature, it needs no key that outlives the process.
package enum PartialFileName {
    private static let prefix = ".curlew-"
    private static let suffix = ".part"
    /// The number of digits of the largest number in base 36.
    private static let width = 13

    /// Returns the name with this number, which must be random.
    package static func make(_ number: UInt64) -> String {
        prefix + digits(number) + "-" + digits(check(of: number)) + suffix
    }

    /// Whether a name has the form that `make` produces.
    package static func isMade(_ name: some StringProtocol) -> Bool {
        guard name.utf8.count == prefix.utf8.count + 2 * width + 1 + suffix.utf8.count, name.hasPrefix(prefix),
            let number = UInt64(name.dropFirst(prefix.count).prefix(width), radix: 36)
        else { return false }
        return name == make(number)
    }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 36)
        return String(repeating: "0", count: width - digits.count) + digits
    }

    /// FNV-1a over a phrase and the number. It excludes names that match by chance; it is not a secret.
    private static func check(of number: UInt64) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in "Curlew's partial file ".utf8 { mix(byte, into: &hash) }
        for shift in stride(from: 0, to: UInt64.bitWidth, by: 8) {
            mix(UInt8(truncatingIfNeeded: number >> shift), into: &hash)
        }
        return hash
    }

    private static func mix(_ byte: UInt8, into hash: inout UInt64) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
}
