/// A parser with the properties that hold for every input, however broken or hostile.
///
/// libFuzzer calls it with inputs that it invents (`scripts/fuzz`), the tests with the seeds, the inputs that
/// once broke something, and mutations of both (`ReplayTests`).
struct FuzzTarget: Sendable, CustomStringConvertible {
    let name: String
    private let check: @Sendable (FuzzInput) throws(BrokenProperty) -> Void

    init(_ name: String, _ check: @escaping @Sendable (FuzzInput) throws(BrokenProperty) -> Void) {
        self.name = name
        self.check = check
    }

    var description: String { name }

    func run(_ bytes: [UInt8]) throws(BrokenProperty) { try check(FuzzInput(bytes)) }

    static let all = headers + alternatives + hosts + cookies + streams + bodies + caches + commands
}

/// A property that did not hold.
struct BrokenProperty: Error, CustomStringConvertible {
    let description: String
}

func require(_ condition: Bool, _ property: @autoclosure () -> String) throws(BrokenProperty) {
    if !condition { throw BrokenProperty(description: property()) }
}

func require<T: Equatable>(_ one: T, equals other: T, _ property: @autoclosure () -> String) throws(BrokenProperty) {
    if one != other { throw BrokenProperty(description: "\(property()): \(one) is not \(other)") }
}

extension String {
    /// Strings are equal to others that only look like them; headers and names are not.
    func isSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
