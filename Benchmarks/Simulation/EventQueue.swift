/// The events of a simulation in the order of their times. Events of equal times keep the order in which they were
/// added.
struct EventQueue<Event> {
    private struct Entry {
        let time: Duration
        let number: Int
        let event: Event

        func isBefore(_ other: Entry) -> Bool {
            time == other.time ? number < other.number : time < other.time
        }
    }

    /// A heap: an entry is never after its two children, at twice its index plus one and two.
    private var heap: [Entry] = []
    private var added = 0

    mutating func add(_ event: Event, at time: Duration) {
        added += 1
        heap.append(Entry(time: time, number: added, event: event))
        var child = heap.count - 1
        while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next() -> (time: Duration, event: Event)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if heap.isEmpty { return (first.time, first.event) }
        heap[0] = last
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].isBefore(heap[child]) { child += 1 }
            guard heap[child].isBefore(heap[parent]) else { break }
            heap.swapAt(child, parent)
            parent = child
        }
        return (first.time, first.event)
    }
}
