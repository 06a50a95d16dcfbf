internal import Dispatch
internal import Foundation

/// Runs the scenario that the command line names, and prints its figures as one line of JSON.
public func runScenario(_ program: String, _ body: @escaping @Sendable (Arguments) async throws -> Figures) {
    ProcessFigures.raiseDescriptorLimit()
    let isDone = DispatchSemaphore(value: 0)
    // Detached, because the task would return to the main actor for each element otherwise.
    Task.detached {
        do {
            let figures = try await body(Arguments(CommandLine.arguments))
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            print(String(decoding: try encoder.encode(figures), as: UTF8.self))
            fflush(nil)
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("\(program): \(error)\n".utf8))
            exit(1)
        }
    }
    isDone.wait()
}
