import Glibc
import Testing

@testable import CurlewTool

@Suite("Ctrl-C", .serialized, .timeLimit(.minutes(1)))
struct InterruptionProcessWideTests {
    @Test(arguments: [SIGINT, SIGTERM])
    func signalBeforeHandlerIsDelivered(number: Int32) async {
        let interruption = await Interruption()
        defer { withExtendedLifetime(interruption) {} }
        kill(getpid(), number)
        await withCheckedContinuation { answered in interruption.answer { answered.resume() } }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func signalAfterHandlerIsDelivered(number: Int32) async {
        let interruption = await Interruption()
        defer { withExtendedLifetime(interruption) {} }
        await withCheckedContinuation { answered in
            interruption.answer { answered.resume() }
            kill(getpid(), number)
        }
    }
}
