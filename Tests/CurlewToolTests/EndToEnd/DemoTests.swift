import Foundation
import Testing

@Suite("The demo", .timeLimit(.minutes(2)))
struct DemoTests {
    @Test("Every step works, and shows the lines that it ran")
    func works() async throws {
        var demo = ToolProcess()
        demo.program = ToolProcess.built("CurlewDemo")
        let outcome = try await demo.run()
        #expect(outcome.status == 0, "\(outcome.text)")
        #expect(outcome.lines.count { $0.hasPrefix("   ✓ ") } == 9)
        #expect(outcome.text.contains("   │ let bird = try await session.request("))
    }

    @Test("A reader that leaves in the middle ends nothing")
    func goesOnWithoutAReader() async throws {
        var shell = ToolProcess("-c", "'\(ToolProcess.built("CurlewDemo").path)' | head -1; exit ${PIPESTATUS[0]}")
        shell.program = URL(filePath: "/bin/bash")
        let outcome = try await shell.run()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.lines.first?.contains("127.0.0.1") == true, "\(outcome.text)")
    }
}
