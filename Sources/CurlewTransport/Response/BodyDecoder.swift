internal import CurlewCore

/// Undoes the content codings of one body, and can stop in the middle of a chunk. Used only in the loop's turns.
///
/// If the sink pauses, libcurl delivers the current chunk again later. The decoder therefore stores how much of the
/// chunk is decoded, and the output that the sink has not consumed.
final class BodyDecoder {
    /// One coding, with its output that the next stage or the sink has not consumed.
    private final class Stage {
        let decoder: any ContentDecoder
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: BodyDecoder.roomOfStage, alignment: 16)
        var output = 0..<0

        init(_ decoder: any ContentDecoder) { self.decoder = decoder }
        deinit { room.deallocate() }

        var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: room[output]) }

        func keep(last count: Int) { output = (output.upperBound - count)..<output.upperBound }
    }

    /// The stages, in the order in which the codings are undone.
    private let stages: [Stage]
    /// The number of bytes that are decoded and that libcurl will deliver again.
    private var repeated = 0

    private static let roomOfStage = 32 * 1024
    /// libcurl's limit. A longer list is an attack.
    private static let maximumCodings = 5

    /// Returns the decoder for a response; `nil` if the body is not encoded. Of the transfer codings libcurl undoes
    /// chunking only.
    static func make(for head: ResponseHead) throws(BrokenCoding) -> BodyDecoder? {
        var names: [Substring] = []
        if head.headers.contains(name: "Content-Encoding") {
            names += ContentCoding.names(in: head.headers.values(for: "Content-Encoding"))
        }
        if head.headers.contains(name: "Transfer-Encoding") { names += transferCodings(of: head) }
        return names.isEmpty ? nil : try BodyDecoder(names)
    }

    /// The transfer codings apart from chunking.
    static func transferCodings(of head: ResponseHead) -> [Substring] {
        ContentCoding.names(in: head.headers.values(for: "Transfer-Encoding"))
    }

    /// Creates a decoder for codings, named in the order in which they were applied.
    init(_ names: [Substring]) throws(BrokenCoding) {
        guard names.count <= Self.maximumCodings else {
            throw BrokenCoding(reason: "more than \(Self.maximumCodings) content codings")
        }
        var stages: [Stage] = []
        for name in names.reversed() {
            guard let coding = ContentCoding(name: name) else {
                throw BrokenCoding(reason: "an unknown content coding")
            }
            stages.append(Stage(try coding.makeDecoder()))
        }
        self.stages = stages
    }

    /// Whether the body may end at this point.
    var mayEnd: Bool { stages.allSatisfy(\.decoder.mayEnd) }

    /// Decodes a chunk and delivers the output until the sink pauses or refuses.
    func decode(
        _ chunk: UnsafeRawBufferPointer, _ deliver: (UnsafeRawBufferPointer) -> BodyAnswer
    ) throws(BrokenCoding) -> BodyAnswer {
        guard let last = stages.last else { return deliver(chunk) }
        let known = min(repeated, chunk.count)
        var input = UnsafeRawBufferPointer(rebasing: chunk[known...])
        while true {
            if last.output.isEmpty, !(try fill(stages.count - 1, &input)) { break }
            switch deliver(last.bytes) {
            case .taken: last.output = 0..<0
            case .paused:
                repeated += chunk.count - input.count - known
                return .paused
            case .refused: return .refused
            }
        }
        repeated -= known
        return .taken
    }

    /// Makes a stage produce output. Returns false if more input is needed first.
    private func fill(_ index: Int, _ input: inout UnsafeRawBufferPointer) throws(BrokenCoding) -> Bool {
        let stage = stages[index]
        while true {
            var bytes = index == 0 ? input : stages[index - 1].bytes
            let made = try stage.decoder.decode(&bytes, into: stage.room)
            if index == 0 { input = bytes } else { stages[index - 1].keep(last: bytes.count) }
            if made > 0 {
                stage.output = 0..<made
                return true
            }
            guard bytes.isEmpty else { throw BrokenCoding(reason: "the decoder makes no progress") }
            guard index > 0, try fill(index - 1, &input) else { return false }
        }
    }
}

/// The result of delivering a chunk of a body.
enum BodyAnswer {
    case taken
    /// The chunk was not consumed; it is delivered again later.
    case paused
    /// The chunk was rejected; the transfer ends.
    case refused
}
