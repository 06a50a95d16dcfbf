internal import Dispatch
internal import Foundation

/// Bodies and what is made of them: `bench-bodies SCENARIO name=value…` prints one line of JSON.
@main
struct Main {
    static func main() {
        let arguments = Arguments(CommandLine.arguments)
        let isDone = DispatchSemaphore(value: 0)
        // Detached: the main actor would be hopped to for each element otherwise.
        Task.detached {
            do {
                let figures =
                    switch arguments.scenario {
                    case "lines": try await Lines(arguments).run()
                    case "document": try await Document(arguments).run()
                    case "events": try Events(arguments).run()
                    case "sleeper": try await Sleeper(arguments).run()
                    default: throw Arguments.Missing("lines, document, events or sleeper")
                    }
                let encoder = JSONEncoder()
                encoder.outputFormatting = .sortedKeys
                print(String(decoding: try encoder.encode(figures), as: UTF8.self))
                fflush(nil)
                exit(0)
            } catch {
                FileHandle.standardError.write(Data("bench-bodies: \(error)\n".utf8))
                exit(1)
            }
        }
        isDone.wait()
    }
}
