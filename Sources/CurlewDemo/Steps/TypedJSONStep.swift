internal import Curlew
internal import CurlewTesting
internal import Foundation

enum TypedJSONStep: DemoStep {
    static let title = "A typed GET"
    static let file = #filePath

    static func run(on stage: Stage) async throws {
        stage.server.script("/birds/7", .json(Bird(id: 7, name: "curlew", weight: 0.77)))
        let server = stage.server.url("")
        // show
        struct Bird: Codable { var id: Int, name: String, weight: Double }

        let session = Session()
        let bird = try await session.request("\(server)/birds/7").decode(Bird.self)
        // end
        try expect(bird.name == "curlew" && bird.weight == 0.77, "got \(bird)")
        stage.worked("\(bird)")
    }
}
