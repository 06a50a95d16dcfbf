/// A list for the events of an attempt. It usually has one element or two, for which it allocates nothing.
struct ShortList<Element: Sendable>: Sendable {
    private(set) var first: Element?
    private var second: Element?
    private var others: [Element] = []

    var isEmpty: Bool { first == nil }
    var count: Int { first == nil ? 0 : second == nil ? 1 : 2 + others.count }
    var last: Element? { others.last ?? second ?? first }
    var all: [Element] { [first, second].compactMap(\.self) + others }

    subscript(index: Int) -> Element? {
        switch index {
        case 0: first
        case 1: second
        default: others[index - 2]
        }
    }

    mutating func append(_ element: Element) {
        if first == nil {
            first = element
        } else if second == nil {
            second = element
        } else {
            others.append(element)
        }
    }
}
