public import Curlew
public import Foundation

extension DataStreamRequest {
    /// The body as a stream of Foundation's; starts the request. Opening it is left to you. Reading waits for bytes: keep it
    /// off the main thread and out of Swift's tasks, for which `chunks` is made.
    ///
    /// At most a quarter of a megabyte waits unread, then the sender is stopped; `bufferSize`, which is how much
    /// Alamofire keeps, has no effect. Closing the stream before its end, or letting go of it, cancels the request.
    public func asInputStream(bufferSize: Int = 1024) -> InputStream? {
        let backlog = StreamBacklog()
        let buffer = BodyBuffer(backlog: backlog)
        let handler: Handler<Data, Never> = { stream in
            switch stream.event {
            case .stream(.success(let chunk)): buffer.append(chunk)
            case .complete(let completion): buffer.complete(completion.error)
            }
        }
        consume(.direct, backlog: backlog, handler) { .success($0) }
        resume()
        return BodyInputStream(buffer) { [weak self] in
            if let self, !self.hasResult { self.cancel() }
        }
    }
}
