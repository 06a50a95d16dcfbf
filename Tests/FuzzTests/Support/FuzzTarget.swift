/// A parser, and the properties that hold for every input, however broken or hostile. libFuzzer runs it with inputs
/// that it generates (`scripts/fuzz`). The tests run it with the seeds, with inputs that once broke a property, and
/// with mutations of both (`ReplayTests`).
struct FuzzTarget: Sendable, CustomStringConvertible {
    let name: String
    private let check: @Sendable (FuzzInput) throws(BrokenProperty) -> Void

    init(_ name: String, _ check: @escaping @Sendable (FuzzInput) throws(BrokenProperty) -> Void) {
        self.name = name
        self.check = check
    }

    var description: String { name }

    func run(_ bytes: [UInt8]) throws(BrokenProperty) { try check(FuzzInput(bytes)) }

    static let all = headers + alternatives + hosts + authorizations + cookies + streams + bodies + caches + commands
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
    /// Whether two strings have equal bytes. `==` also accepts canonically equivalent strings, which differ as fields
    /// and names.
    func isSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
