/// The step from a value to one inside it.
enum JSONStep {
    case top
    case element(Int)
    case key(any CodingKey)

    /// The keys of the step: none or one.
    var keys: [any CodingKey] {
        switch self {
        case .top: []
        case .element(let index): [JSONKey(element: index)]
        case .key(let key): [key]
        }
    }
}

/// A value that is being written, and the facts that are known about it so far.
struct JSONFrame {
    enum Content {
        /// No value has been written.
        case none
        /// A complete value.
        case value
        /// An object or array that is not closed.
        case object, array
    }

    let serial: UInt32
    let step: JSONStep
    /// The frame whose path precedes this frame's step; -1 at the top.
    let owner: Int
    /// The frame of the encoder that this frame's containers belong to. It owns the values in them.
    let encoder: Int
    /// Whether no call ends the frame, but the next value of its container does. True for nested containers and
    /// encoders of superclasses.
    let isLoose: Bool
    /// The offset in the text at which the value begins.
    let start: Int
    /// The index in `JSONFrames.keys` of the object's first key.
    let firstKey: Int
    var content = Content.none
    var count = 0
    /// One bit for each key, chosen by its hash. Several keys may share a bit.
    var marks: UInt64 = 0
    /// The hashes of the first keys, if the object has many keys.
    var manyKeys: Set<UInt64>?

    /// Counts a member by the bit of its key. Returns whether an earlier member has the same bit.
    fileprivate mutating func count(_ bit: UInt64) -> Bool {
        defer { marks |= bit }
        count &+= 1
        return marks & bit != 0
    }
}

/// A reference to a frame, held by containers and encoders. A later frame at the same index has another serial number.
struct JSONPlace {
    let encoding: JSONEncoding
    /// The writer of `encoding`, which keeps it alive.
    let writer: UnsafeMutablePointer<JSONTextWriter>
    let frame: UInt32
    let serial: UInt32

    var index: Int { Int(frame) }
}

/// The position of a value that is about to be written. Its step is passed separately, as a closure, because only
/// errors and values that encode themselves need it.
enum JSONTarget {
    /// A value inside a container. Its path is that of the owner, followed by the step.
    case inside(owner: Int)
    /// The single value of an encoder.
    case itself(JSONPlace)
}

/// A key in the text.
struct JSONWrittenKey {
    let hash: UInt64
    /// The offset of its first quote.
    let start: Int
}

/// The open frames, the outermost first, and the keys of those that are objects.
struct JSONFrames {
    // Few enough bytes for the C library's fast allocation; both stacks grow on demand.
    var open = JSONStack<JSONFrame>(capacity: 6)
    var keys = JSONStack<JSONWrittenKey>(capacity: 32)
    /// The number of open arrays and objects.
    var depth = 0
    private var serial: UInt32 = 0

    func deallocate() {
        open.deallocate()
        keys.deallocate()
    }

    mutating func push(
        _ step: consuming JSONStep, owner: Int, encoder: Int?, isLoose: Bool, start: Int
    ) -> (Int, UInt32) {
        serial &+= 1
        let frame = open.count
        open.append(
            JSONFrame(
                serial: serial, step: step, owner: owner, encoder: encoder ?? frame, isLoose: isLoose,
                start: start, firstKey: keys.count))
        return (frame, serial)
    }

    mutating func pop() {
        let last = open.count &- 1
        keys.truncate(to: open[last].firstKey)
        open.truncate(to: last)
    }

    mutating func removeAll() {
        open.truncate(to: 0)
        keys.truncate(to: 0)
        depth = 0
    }

    /// Counts a further member of an object. Returns whether an earlier member may have the same key.
    mutating func count(_ key: JSONWrittenKey, in frame: Int) -> Bool {
        keys.append(key)
        let bit: UInt64 = 1 &<< (key.hash &>> 58)
        return open[frame].count(bit)
    }

    func contains(_ place: JSONPlace) -> Bool {
        place.index < open.count && open[place.index].serial == place.serial
    }

    /// Whether the frame is open and there is no other one inside it.
    func isInnermost(_ place: JSONPlace) -> Bool {
        place.index &+ 1 == open.count && open[place.index].serial == place.serial
    }
}

/// Thrown if Foundation's encoder has to make the text. Types may see this error, callers never do.
struct JSONDetour: Error {}

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
