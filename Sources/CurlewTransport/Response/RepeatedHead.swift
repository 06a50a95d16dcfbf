internal import CurlewCore
internal import Glibc

/// The last head received on a handle, and how much of the current head equals it.
///
/// Most servers send nearly the same head again and again. As long as each line equals its counterpart, no line is
/// parsed. A head that is equal throughout shares the last one's value.
struct RepeatedHead {
    enum Comparison {
        /// The status line equals that of the last head.
        case equalAtStart
        case equalSoFar
        case equal
        /// The collector parses this line and all later ones, after the lines that were equal.
        case different
    }

    /// The parsed value of `bytes`.
    private(set) var head = ResponseHead(status: 0)
    private var bytes: [UInt8] = []
    private var matched = 0
    /// The lines of a head that differs, which may become the last head.
    private var coming: [UInt8] = []
    private var isKept = false
    /// Whether the next line is compared with the last head.
    private var compares = false
    /// `misses` counts consecutive heads that differed. After more than `maximumMisses`, comparing pauses for
    /// `headsToSkip` heads.
    private var misses = 0
    private var headsToSkip = 0

    private static let maximumSize = 4096
    private static let maximumMisses = 4
    private static let skippedHeads = 32

    /// Called before the head of another transfer, or of the next response.
    mutating func restart() {
        matched = 0
        compares = headsToSkip == 0 && !bytes.isEmpty
    }

    /// Compares the next line of the head. A line has one newline, at its end, so equal bytes are equal lines.
    mutating func compare(_ line: UnsafeRawBufferPointer) -> Comparison {
        guard compares, let start = line.baseAddress, line.count <= bytes.count - matched, line.count > 0,
            line[line.count - 1] == UInt8(ascii: "\n")
        else { return .different }
        let from = matched
        let isEqual = bytes.withUnsafeBytes { known in
            guard let first = known.baseAddress else { return false }
            return memcmp(first + from, start, line.count) == 0
        }
        guard isEqual else { return .different }
        matched += line.count
        guard matched == bytes.count else { return from == 0 ? .equalAtStart : .equalSoFar }
        matched = 0
        misses = 0
        return .equal
    }

    var size: Int { bytes.count }

    /// Called when the current head differs. Passes the lines that were equal to `body`, one by one.
    fileprivate mutating func takeBack(_ body: (UnsafeRawBufferPointer) -> Void) {
        compares = false
        guard matched > 0 else { return }
        bytes.withUnsafeBytes { known in
            var rest = known[..<matched]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                body(UnsafeRawBufferPointer(rebasing: rest[...end]))
                rest = rest[(end + 1)...]
            }
        }
        coming.removeAll(keepingCapacity: true)
        coming.append(contentsOf: bytes[..<matched])
        isKept = headsToSkip == 0
        matched = 0
    }

    /// Records one line of a head that differs.
    fileprivate mutating func record(_ line: UnsafeRawBufferPointer, isFirst: Bool) {
        compares = false
        if isFirst {
            isKept = headsToSkip == 0
            coming.removeAll(keepingCapacity: true)
        }
        guard isKept else { return }
        // A large head, or one with a line whose end is in doubt, is not stored and is parsed each time.
        isKept =
            coming.count + line.count <= Self.maximumSize
            && line.firstIndex(of: UInt8(ascii: "\n")) == line.count - 1
        if isKept { coming.append(contentsOf: line) }
    }

    /// Called when the recorded head is complete.
    fileprivate mutating func remember(_ head: ResponseHead) {
        if headsToSkip > 0 {
            headsToSkip -= 1
        } else if isKept {
            swap(&bytes, &coming)
            self.head = head
            misses += 1
            if misses > Self.maximumMisses { (misses, headsToSkip) = (0, Self.skippedHeads) }
        }
        restart()
    }
}

extension HeadCollector {
    /// Processes one line of a head that differs from the last one.
    mutating func parse(
        _ line: UnsafeRawBufferPointer, unlike last: inout RepeatedHead
    ) -> Event {
        last.takeBack { _ = parse($0) }
        last.record(line, isFirst: !isWithinHead)
        let event = parse(line)
        if case .head(let head) = event {
            last.remember(head)
        } else if !isWithinHead {
            last.restart()
        }
        return event
    }
}
