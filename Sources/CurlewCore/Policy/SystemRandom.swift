/// The system's random numbers, for what takes a generator.
///
/// Not `SystemRandomNumberGenerator`: a value without storage has no address of its own. Where it is passed `inout` all threads
/// pass the same one, which the thread sanitizer takes for a race.
package struct SystemRandom: RandomNumberGenerator {
    private var count: UInt8 = 0

    package init() {}

    package mutating func next() -> UInt64 {
        count &+= 1
        return .random(in: .min ... .max)
    }
}
