internal import Curlew
internal import CurlewTesting
internal import Foundation

enum UploadStep: DemoStep {
    static let title = "A form, and a multipart upload with its progress"
    static let file = #filePath

    static func run(on stage: Stage) async throws {
        let photo = stage.folder.appending(path: "curlew.raw")
        try stage.cargo.write(to: photo)
        // The server reads 4 MB a second, so that the progress is visible.
        stage.server.script("/photos", TestServer.Response.status(201).changed { $0.readRate = 4_000_000 })
        let server = stage.server.url("")
        var quarter = 0
        // show
        let session = Session()
        let sighting = ["bird": "curlew", "count": "2", "place": "Zürich & lake"]
        let answer = try await session.request("\(server)/post", method: .post, parameters: sighting).string()

        let form = MultipartFormData()
        form.append(Data("Numenius arquata".utf8), withName: "species")
        form.append(photo, withName: "photo")
        let upload = session.upload(multipartFormData: form, to: "\(server)/photos")
        async let receipt = upload.data()
        for await progress in upload.uploadProgress() { stage.bar(progress.fractionCompleted, last: &quarter) }
        _ = try await receipt
        // end
        try expect(answer.contains("curlew"), "the server said \(answer)")
        let requests = stage.server.requests.suffix(2)
        let fields = requests.first.flatMap(\.bodyText) ?? ""
        try expect(fields == "bird=curlew&count=2&place=Z%C3%BCrich%20%26%20lake", "the form arrived as \(fields)")
        let parts = requests.last?.multipartParts ?? []
        try expect(parts.map(\.name) == ["species", "photo"], "the parts arrived as \(parts.map(\.name))")
        try expect(parts.last?.body == stage.cargo, "the photo arrived damaged")
        try expect(upload.uploadProgress.fractionCompleted == 1, "the progress did not end at 1")
        stage.worked("the server has the form, and \(stage.cargo.count) bytes of \(parts[1].filename ?? "?") unharmed")
    }
}
