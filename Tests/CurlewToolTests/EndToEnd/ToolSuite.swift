import CurlewTesting
import Foundation

/// A suite that runs the tool in a folder, and sends requests to a server. Every test has its own.
protocol ToolSuite {
    var place: ToolPlace { get }
}

/// The server and the folder of one test.
struct ToolPlace {
    let server: TestServer
    let folder: ScratchDirectory

    init() throws {
        server = try TestServer()
        folder = try ScratchDirectory()
    }
}

extension ToolSuite {
    var server: TestServer { place.server }
    var folder: ScratchDirectory { place.folder }
    /// The beginning of the URLs of the server, as the tool reads it.
    var base: String { ":\(server.port)" }

    func tool(_ arguments: String...) -> ToolProcess { tool(arguments) }

    func tool(_ arguments: [String]) -> ToolProcess {
        var tool = ToolProcess()
        tool.arguments = arguments
        tool.folder = folder.url
        return tool
    }
}
