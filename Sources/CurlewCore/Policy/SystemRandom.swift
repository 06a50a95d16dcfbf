/// The system's random number generator with storage, to pass `inout`.
///
/// `SystemRandomNumberGenerator` has no storage and therefore no address. All threads pass the same one `inout`, which
/// the thread sanitizer reports as a race.
package struct SystemRandom: RandomNumberGenerator {
    private var count: UInt8 = 0

    package init() {}

    package mutating func next() -> UInt64 {
        count &+= 1
        return .random(in: .min ... .max)
    }
}
