/// The statuses that a validation accepts, copied from any sequence of numbers.
struct StatusSet: Sequence, Sendable {
    private let statuses: Set<Int>

    init(_ acceptable: some Sequence<Int>) {
        // `200...` is infinite, and 999 is the highest status.
        if let open = acceptable as? PartialRangeFrom<Int> {
            statuses = Set(Swift.min(open.lowerBound, 1000)..<1000)
        } else {
            statuses = Set(acceptable)
        }
    }

    func makeIterator() -> Set<Int>.Iterator { statuses.makeIterator() }

    func contains(_ status: Int) -> Bool { statuses.contains(status) }
}
