import Curlew
import CurlewTesting

/// Runs requests in 32 tasks, `count` in each, of which three of four are cancelled at a random moment: one by its task,
/// the others by `cancel()`. Returns when all have ended.
func cancelAtRandom(_ count: Int, hasHandler: Bool, _ make: @escaping @Sendable () -> DataRequest) async {
    await withTaskGroup(of: Void.self) { group in
        for worker in 0..<32 as Range<UInt64> {
            group.addTask {
                var random = SplitMix(seed: worker)
                for _ in 0..<count {
                    let request = make()
                    let task = Task {
                        if hasHandler {
                            await withCheckedContinuation { continuation in
                                request.responseData { _ in continuation.resume() }
                            }
                        } else {
                            _ = await request.response()
                        }
                    }
                    for _ in 0..<Int.random(in: 0...6, using: &random) { await Task.yield() }
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: task.cancel()
                    case 1, 2: request.cancel()
                    default: break
                    }
                    await task.value
                }
            }
        }
    }
}
