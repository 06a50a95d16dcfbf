internal import CurlewTesting
internal import Foundation

/// Demonstrates Curlew against a server in the same process. Exits with 0 only if every step succeeds.
@main
struct Demo {
    static let steps: [any DemoStep.Type] = [
        TypedJSONStep.self, UploadStep.self, ResumeStep.self, RetryStep.self, RefreshStep.self, EventsStep.self,
        CacheStep.self, TimingStep.self,
    ]

    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        let began = ContinuousClock.now
        do {
            let stage = try Stage()
            stage.say("A test server listens on 127.0.0.1:\(stage.server.port); no byte leaves this machine.")
            var failures: [String] = []
            for (index, step) in steps.enumerated() {
                stage.title("\(index + 1). \(step.title)")
                for line in try Snippet.lines(of: step.file) { stage.code(line) }
                do {
                    try await step.run(on: stage)
                } catch {
                    failures.append(step.title)
                    stage.failed("\(error)")
                }
            }
            stage.end(failures: failures, of: steps.count, after: ContinuousClock.now - began)
            exit(failures.isEmpty ? 0 : 1)
        } catch {
            print("the demo could not begin: \(error)")
            exit(1)
        }
    }
}

/// One demonstration. The lines between `// show` and `// end` of its file are printed before it runs.
protocol DemoStep: SendableMetatype {
    static var title: String { get }
    static var file: String { get }
    static func run(on stage: Stage) async throws
}

/// An expectation of the demo that was not met.
struct DemoFailure: Error, CustomStringConvertible {
    let description: String
}

func expect(_ isTrue: Bool, _ what: @autoclosure () -> String) throws {
    if !isTrue { throw DemoFailure(description: what()) }
}
