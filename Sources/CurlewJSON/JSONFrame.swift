/// How a value is reached from the one around it.
enum JSONStep {
    case top
    case element(Int)
    case key(any CodingKey)

    /// None or one.
    var keys: [any CodingKey] {
        switch self {
        case .top: []
        case .element(let index): [JSONKey(element: index)]
        case .key(let key): [key]
        }
    }
}

/// A value that is being written: where it begins, and what is known of it so far.
struct JSONFrame {
    enum Content {
        /// Nothing yet.
        case none
        /// A whole value.
        case value
        /// An object or array that is open.
        case object, array
    }

    let serial: UInt32
    let step: JSONStep
    /// The frame whose path comes before this one's step; -1 at the top.
    let owner: Int
    /// The frame of the encoder that values in this one's containers belong to.
    let encoder: Int
    /// Nested containers and encoders of superclasses: no call ends them, but the next value of their container does.
    let isLoose: Bool
    /// Where the value begins in the text.
    let start: Int
    /// The first of its keys among all that are remembered.
    let firstKey: Int
    var content = Content.none
    var count = 0
    /// One bit for each key.
    var marks: UInt64 = 0
    /// The first keys of an object that has many.
    var manyKeys: Set<UInt64>?

    /// Counts a member by the bit of its key. Returns whether another one had the same bit.
    fileprivate mutating func count(_ bit: UInt64) -> Bool {
        defer { marks |= bit }
        count &+= 1
        return marks & bit != 0
    }
}

/// A frame, as containers and encoders refer to it. Later frames in the same place have other serial numbers.
struct JSONPlace {
    let encoding: JSONEncoding
    /// The encoding's, which it keeps.
    let writer: UnsafeMutablePointer<JSONTextWriter>
    let frame: UInt32
    let serial: UInt32

    var index: Int { Int(frame) }
}

/// Where a value is written. The step goes beside it, as a closure: only values that encode themselves, and errors, need
/// it.
enum JSONTarget {
    /// Behind a step, after the path of the owner.
    case inside(owner: Int)
    /// As the single value of an encoder.
    case itself(JSONPlace)
}

/// A key that stands in the text.
struct JSONWrittenKey {
    let hash: UInt64
    /// Where its first quote is.
    let start: Int
}

/// The frames that are open, the outermost first, and the keys of those that are objects.
struct JSONFrames {
    // Little enough for the C library's quick ways; more comes where it is needed.
    var open = JSONStack<JSONFrame>(capacity: 6)
    var keys = JSONStack<JSONWrittenKey>(capacity: 32)
    /// How many arrays and objects are open.
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

    /// Counts one more member of an object. Returns whether it may have had the key before.
    mutating func count(_ key: JSONWrittenKey, in frame: Int) -> Bool {
        keys.append(key)
        let bit: UInt64 = 1 &<< (key.hash &>> 58)
        return open[frame].count(bit)
    }

    func contains(_ place: JSONPlace) -> Bool {
        place.index < open.count && open[place.index].serial == place.serial
    }

    /// Whether the frame is there, and no other one is inside it.
    func isInnermost(_ place: JSONPlace) -> Bool {
        place.index &+ 1 == open.count && open[place.index].serial == place.serial
    }
}

/// The text has to be made by Foundation's encoder. Types may see it, callers do not.
struct JSONDetour: Error {}
