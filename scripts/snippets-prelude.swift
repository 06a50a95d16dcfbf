import Curlew
import Foundation

// What the pages of the documentation take for granted. Used by scripts/check-snippets alone.

let session = Session.default
let url = URL(string: "https://api.example.com/users/1")!
let fileURL = URL(filePath: "/tmp/file")
let destinationURL = URL(filePath: "/tmp/destination")
let token = "token"
let data = Data()
let destination: DownloadRequest.Destination = { _, _ in (destinationURL, []) }

func serve(with session: Session) async {}

struct User: Codable, Sendable {
    var name: String
}

struct Item: Codable, Sendable {
    var id: Int
}

struct Receipt: Codable, Sendable {
    var id: Int
}
