internal import BenchmarkSupport

/// The core's masking alone, in place: a megabyte again and again. The file with it is the core's own, linked into this
/// directory.
struct Masking {
    private let rounds: Int

    init(_ arguments: Arguments) { rounds = arguments.number("rounds", or: 2000) }

    func run() -> Figures {
        let size = 1 << 20
        // One byte behind the alignment: payloads lie anywhere.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size + 1, alignment: 16)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 7)
        let payload = UnsafeMutableRawBufferPointer(rebasing: memory[1...])
        var figures: Figures = ["bytes": [Double(size * rounds)]]
        let watch = Stopwatch()
        for round in 0..<rounds {
            WebSocketMask.apply(WebSocketMaskKey(bits: 0x9E37_79B9 &+ UInt32(round)), to: payload)
        }
        figures.add("mask", watch)
        return figures
    }
}
