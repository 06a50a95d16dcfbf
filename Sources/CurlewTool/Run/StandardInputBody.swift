internal import Dispatch
internal import Foundation

/// Standard input, read while it arrives. Reading blocks, so it happens on a dispatch queue.
struct StandardInputBody: AsyncSequence, Sendable {
    typealias Element = Data

    func makeAsyncIterator() -> Iterator { Iterator() }

    struct Iterator: AsyncIteratorProtocol {
        private static let queue = DispatchQueue(label: "curlew.input")

        mutating func next() async throws -> Data? {
            try await withCheckedThrowingContinuation { continuation in
                Self.queue.async {
                    continuation.resume(
                        with: Result { try InputFile.readPiece(STDIN_FILENO).map { Data($0) } }
                    )
                }
            }
        }
    }
}
