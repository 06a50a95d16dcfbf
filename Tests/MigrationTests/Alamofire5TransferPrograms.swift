import CurlewAlamofire
import CurlewTesting
import Foundation
import Testing

/// Programs written for Alamofire 5, with the import changed: downloads, uploads and streams.
@Suite(.timeLimit(.minutes(4)))
struct Alamofire5TransferPrograms {
    let server: TestServer
    let scratch: ScratchDirectory
    var base: String { server.address }

    init() throws {
        server = try TestServer()
        scratch = try ScratchDirectory()
    }

    // 11
    @Test func downloadsToADestination() async throws {
        let fileURL = scratch.file("folder/picture.bin")
        let destination: DownloadRequest.Destination = { _, _ in
            (fileURL, [.removePreviousFile, .createIntermediateDirectories])
        }
        let response = await completed { done in
            AF.download("\(base)/bytes/5000", to: destination)
                .downloadProgress { progress in print("Download: \(progress.fractionCompleted)") }
                .validate()
                .responseURL { done($0) }
        }
        #expect(response.fileURL == fileURL)
        #expect(try Data(contentsOf: fileURL).count == 5000)
    }

    // 12
    @Test func continuesADownload() async throws {
        let file = scratch.file("long.bin")
        let destination: DownloadRequest.Destination = { _, _ in (file, [.removePreviousFile]) }
        server.route("/long") { request in
            let isFirst = request.headers["Range"] == nil
            var response = TestServer.Response.data(
                Data(count: isFirst ? 200_000 : 100_000), status: isFirst ? 200 : 206)
            response.headers["ETag"] = "\"one\""
            response.headers["Accept-Ranges"] = "bytes"
            guard !isFirst else { return response.faulting(.stall(), at: .inBody(after: 100_000)) }
            response.headers["Content-Range"] = "bytes 100000-199999/200000"
            return response
        }
        let request = AF.download("\(base)/long", to: destination)
        let halfway = Gate()
        request.downloadProgress { if $0.completedUnitCount == 100_000 { halfway.open() } }
        request.response { _ in }
        try await halfway.wait()
        let resumeData = await completed { done in request.cancel { done($0) } }
        let data = try await AF.download(resumingWith: #require(resumeData), to: destination).serializingData().value
        #expect(data.count == 200_000)
        #expect(server.requests.map { $0.headers["Range"] } == [nil, "bytes=100000-"])
    }

    // 13
    @Test func uploadsAForm() async throws {
        let file = try scratch.write("notes.txt", "notes")
        let echo = await completed { done in
            AF.upload(
                multipartFormData: { multipartFormData in
                    multipartFormData.append(Data("Ada".utf8), withName: "name")
                    multipartFormData.append(file, withName: "notes", fileName: "notes.txt", mimeType: "text/plain")
                },
                to: "\(base)/post"
            )
            .uploadProgress { progress in print("Upload: \(progress.fractionCompleted)") }
            .responseDecodable(of: Echo.self) { done($0.value) }
        }
        #expect(echo?.form == ["name": "Ada"])
        #expect(server.requests[0].multipartParts.map(\.filename) == [nil, "notes.txt"])
    }

    // 14
    @Test func uploadsAFile() async throws {
        let file = try scratch.write("body.txt", "from a file")
        let headers: HTTPHeaders = [.contentType("text/plain")]
        let echo = try await AF.upload(file, to: "\(base)/put", method: .put, headers: headers)
            .serializingDecodable(Echo.self).value
        #expect(echo.data == "from a file")
    }

    // 15
    @Test func uploadsAStream() async throws {
        let stream = InputStream(data: Data("from a stream".utf8))
        let echo = try await AF.upload(stream, to: "\(base)/post").serializingDecodable(Echo.self).value
        #expect(echo.data == "from a stream")
    }

    // 16
    @Test func streamsData() async throws {
        // SAFETY: the handlers write it one at a time, and the test reads it after the last one.
        final class Received: @unchecked Sendable { var data = Data() }
        let received = Received()
        let completion = await completed { done in
            AF.streamRequest("\(base)/bytes/10000").responseStream { stream in
                switch stream.event {
                case let .stream(result):
                    switch result {
                    case let .success(data): received.data.append(data)
                    }
                case let .complete(completion):
                    done(completion)
                }
            }
        }
        #expect(completion.error == nil)
        #expect(received.data.count == 10_000)
    }

    // 17
    @Test func streamsWithATask() async throws {
        let streamTask = AF.streamRequest("\(base)/bytes/2000").streamTask()
        var count = 0
        for await data in streamTask.streamingData(automaticallyCancelling: true) {
            count += data.value?.count ?? 0
            if let completion = data.completion { #expect(completion.response?.statusCode == 200) }
        }
        #expect(count == 2000)
    }

    // 18
    final class Logger: EventMonitor {
        let queue = DispatchQueue(label: "logger")
        let lines = Lines()

        // SAFETY: accessed on the monitor's queue only.
        final class Lines: @unchecked Sendable { var all: [String] = [] }

        func requestDidFinish(_ request: Request) { lines.all.append("finished \(request.description)") }

        func request(_ request: Request, didCreateTask task: URLSessionTask) { lines.all.append("task") }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            lines.all.append("metrics")
        }

        func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>) {
            lines.all.append("parsed \(response.response?.statusCode ?? 0)")
        }
    }

    @Test func monitors() async throws {
        let logger = Logger()
        let session = Session(eventMonitors: [logger])
        _ = await session.request("\(base)/get").serializingString().response
        try await eventually { logger.queue.sync { logger.lines.all.count } == 4 }
        let lines = logger.queue.sync { logger.lines.all }
        #expect(lines == ["task", "metrics", "finished GET \(base)/get (200)", "parsed 200"])
    }

    // 19
    @Test func watchesWithClosures() async throws {
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "closures"))
        let finished = Gate()
        monitor.requestDidFinish = { _ in finished.open() }
        let session = Session(eventMonitors: [monitor])
        _ = await session.request("\(base)/get").serializingData().response
        try await finished.wait()
        #expect(finished.isOpen)
    }

    // 20
    @Test func decidesAboutRedirects() async throws {
        let stopped = AF.request("\(base)/redirect/1").redirect(using: .doNotFollow)
        #expect(await stopped.serializingData().response.response?.statusCode == 302)
        let modified = AF.request("\(base)/redirect/1").redirect(
            using: Redirector(
                behavior: .modify { _, request, _ in
                    var request = request
                    request.setValue("yes", forHTTPHeaderField: "X-Redirected")
                    return request
                }))
        #expect(try await modified.serializingDecodable(Echo.self).value.headers["X-Redirected"] == "yes")
    }
}
