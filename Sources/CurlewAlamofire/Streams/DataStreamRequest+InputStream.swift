public import Curlew
public import Foundation

extension DataStreamRequest {
    /// Returns the body as a Foundation stream, and starts the request. You open the stream. Reading blocks until bytes
    /// arrive: do not read on the main thread or in a Swift task, for which `chunks` is made.
    ///
    /// At most a quarter of a megabyte waits unread, then the sender is stopped. `bufferSize`, the amount that
    /// Alamofire buffers, has no effect. Closing the stream before its end, or releasing it, cancels the request.
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
