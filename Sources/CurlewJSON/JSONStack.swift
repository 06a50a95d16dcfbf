/// A stack without copy-on-write. Its single owner deallocates it; it must not be copied.
///
/// Indices are checked as an array's are.
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

    /// Returns the elements from `index` on. The buffer is valid until the stack changes.
    func from(_ index: Int) -> UnsafeBufferPointer<Element> {
        precondition(index >= 0 && index <= count)
        return UnsafeBufferPointer(start: start + index, count: count - index)
    }

    mutating func append(_ element: consuming Element) {
        if count == capacity { grow() }
        (start + count).initialize(to: element)
        count &+= 1
    }

    /// Removes the elements from index `count` on.
    mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= self.count)
        let removed = self.count &- count
        // Set first: the deinit of an element may run code that uses this stack.
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
