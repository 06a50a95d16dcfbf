internal import CurlewCore
internal import Glibc

/// The last head that came over a handle, and how much of the present one equals it.
///
/// Most servers send nearly the same head again and again: as long as each line equals the one at its place none is
/// taken apart, and a head that is equal throughout is the last one, shared.
struct RepeatedHead {
    enum Comparison {
        /// The status line equals that of the last head.
        case equalAtStart
        case equalSoFar
        case equal
        /// From here on the lines are the collector's, beginning with those that were equal.
        case different
    }

    /// What the bytes mean.
    private(set) var head = ResponseHead(status: 0)
    private var bytes: [UInt8] = []
    private var matched = 0
    /// The lines of a head that differs, to be the last one.
    private var coming: [UInt8] = []
    private var isKept = false
    /// A head may begin with the next line.
    private var compares = false
    /// Heads in a row that differed; after some of them, how many are not even looked at.
    private var misses = 0
    private var rest = 0

    private static let longest = 4096
    private static let mostMisses = 4
    private static let pause = 32

    /// Another transfer, or the next response.
    mutating func restart() {
        matched = 0
        compares = rest == 0 && !bytes.isEmpty
    }

    /// A line has one newline, at its end: equal bytes are equal lines.
    mutating func compare(_ line: UnsafeRawBufferPointer) -> Comparison {
        guard compares, let start = line.baseAddress, line.count <= bytes.count - matched, line.count > 0,
            line[line.count - 1] == UInt8(ascii: "\n")
        else { return .different }
        let from = matched
        let isEqual = bytes.withUnsafeBytes { known in
            known.baseAddress.map { memcmp($0 + from, start, line.count) == 0 } ?? false
        }
        guard isEqual else { return .different }
        matched += line.count
        guard matched == bytes.count else { return from == 0 ? .equalAtStart : .equalSoFar }
        matched = 0
        misses = 0
        return .equal
    }

    var size: Int { bytes.count }

    /// The present head differs: gives the lines that did not, one by one.
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
        isKept = rest == 0
        matched = 0
    }

    /// One line of a head that differs.
    fileprivate mutating func note(_ line: UnsafeRawBufferPointer, isFirst: Bool) {
        compares = false
        if isFirst {
            isKept = rest == 0
            coming.removeAll(keepingCapacity: true)
        }
        guard isKept else { return }
        // What is large, or in doubt where a line ends, is taken apart each time.
        isKept =
            coming.count + line.count <= Self.longest
            && line.firstIndex(of: UInt8(ascii: "\n")) == line.count - 1
        if isKept { coming.append(contentsOf: line) }
    }

    /// The head that was noted is complete.
    fileprivate mutating func remember(_ head: ResponseHead) {
        if rest > 0 {
            rest -= 1
        } else if isKept {
            swap(&bytes, &coming)
            self.head = head
            misses += 1
            if misses > Self.mostMisses { (misses, rest) = (0, Self.pause) }
        }
        restart()
    }
}

extension HeadCollector {
    /// One line of a head that is not the last one.
    mutating func take(
        _ line: UnsafeRawBufferPointer, unlike last: inout RepeatedHead, _ texts: inout TextCache
    ) -> Event {
        last.takeBack { _ = take($0, &texts) }
        last.note(line, isFirst: !isWithinHead)
        let event = take(line, &texts)
        if case .head(let head) = event {
            last.remember(head)
        } else if !isWithinHead {
            last.restart()
        }
        return event
    }
}
