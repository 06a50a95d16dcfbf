extension JSONTextWriter {
    /// Sorts the members of an object by the bytes of their keys, before the object is closed.
    mutating func sortMembers(of frame: Int) {
        let keys = frames.keys.from(frames.open[frame].firstKey)
        guard let first = keys.first else { return }
        let text = UnsafePointer(output.start)
        let starts = keys.map(\.start)
        let order = starts.indices.sorted { JSONKeyOrder.precedes(text + starts[$0] + 1, text + starts[$1] + 1) }
        guard order != Array(starts.indices) else { return }
        // A comma; in pretty texts also a line break and the indentation.
        let separator = isPretty ? 2 + 2 * frames.depth : 1
        let members = order.map { index in
            let end = index + 1 < starts.count ? starts[index + 1] - separator : output.count
            return starts[index] - first.start..<end - first.start
        }
        let old = Array(UnsafeBufferPointer(start: text + first.start, count: output.count - first.start))
        output.truncate(to: first.start)
        old.withUnsafeBufferPointer { old in
            for (place, member) in members.enumerated() {
                if place > 0 { separate(isFirst: false) }
                output.bytes(UnsafeBufferPointer(rebasing: old[member]))
            }
        }
    }
}

enum JSONKeyOrder {
    /// Compares two different keys as they are written in the text, by the bytes that they represent.
    static func precedes(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>) -> Bool {
        var (left, right) = (left, right)
        while true {
            let (first, second) = (next(&left), next(&right))
            if first != second { return first < second }
            if first < 0 { return false }
        }
    }

    /// Returns the next byte of a key; -1 at its end.
    private static func next(_ text: inout UnsafePointer<UInt8>) -> Int {
        let byte = text.pointee
        if byte == JSONByte.quote { return -1 }
        text += 1
        guard byte == JSONByte.backslash else { return Int(byte) }
        let letter = text.pointee
        text += 1
        switch letter {
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "n"): return 0x0a
        case UInt8(ascii: "f"): return 0x0c
        case UInt8(ascii: "r"): return 0x0d
        case UInt8(ascii: "u"):
            // Only characters below U+0020 are written like this.
            let digit = text[3] < UInt8(ascii: "a") ? text[3] - JSONByte.zero : text[3] - UInt8(ascii: "a") + 10
            let value = Int(text[2] - JSONByte.zero) << 4 | Int(digit)
            text += 4
            return value
        case _: return Int(letter)
        }
    }
}
