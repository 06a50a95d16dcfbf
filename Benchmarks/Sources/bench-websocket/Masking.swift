internal import BenchmarkSupport

/// Measures the core's masking in place, with a megabyte. `WebSocketMask.swift` is the core's file.
struct Masking {
    private let rounds: Int

    init(_ arguments: Arguments) { rounds = arguments.number("rounds", or: 2000) }

    func run() -> Figures {
        let size = 1 << 20
        // Not aligned, because payloads are not.
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
