/// A stack. Its owner deallocates it.
///
/// An array counts references, and asks before each change whether it is shared: that takes longer than the changes, of
/// which there are several for each key. This one is never shared. Indices are checked, as an array's are.
struct JSONStack<Element> {
    private var start: UnsafeMutablePointer<Element>
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        start = .allocate(capacity: capacity)
    }

    func deallocate() {
        start.deinitialize(count: count)
        start.deallocate()
    }

    subscript(index: Int) -> Element {
        _read {
            precondition(index >= 0 && index < count)
            yield start[index]
        }
        _modify {
            precondition(index >= 0 && index < count)
            yield &start[index]
        }
    }

    /// The elements from this one on, until the stack is changed.
    func from(_ index: Int) -> UnsafeBufferPointer<Element> {
        precondition(index >= 0 && index <= count)
        return UnsafeBufferPointer(start: start + index, count: count - index)
    }

    mutating func append(_ element: consuming Element) {
        if count == capacity { grow() }
        (start + count).initialize(to: element)
        count &+= 1
    }

    /// Removes the elements from this one on.
    mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= self.count)
        let removed = self.count &- count
        // First, so that nothing that goes with an element finds it here.
        self.count = count
        (start + count).deinitialize(count: removed)
    }

    private mutating func grow() {
        capacity *= 2
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
        larger.moveInitialize(from: start, count: count)
        start.deallocate()
        start = larger
    }
}
