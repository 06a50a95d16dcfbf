/// A list that mostly has one element, which needs no allocation then: what happened in each try.
struct Sequel<Element: Sendable>: Sendable {
    private(set) var first: Element?
    private var others: [Element] = []

    var isEmpty: Bool { first == nil }
    var count: Int { first == nil ? 0 : 1 + others.count }
    var last: Element? { others.last ?? first }
    var all: [Element] { first.map { [$0] + others } ?? [] }

    subscript(index: Int) -> Element? { index == 0 ? first : others[index - 1] }

    mutating func append(_ element: Element) {
        if first == nil { first = element } else { others.append(element) }
    }
}
