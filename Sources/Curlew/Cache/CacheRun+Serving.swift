internal import CurlewCore
internal import Foundation

extension CacheRun {
    /// Delivers a stored response to the sink. `nil` if its body is gone, in which case nothing has been delivered.
    /// `news` is the server's response to a validation, if there was one.
    mutating func serve(
        _ stored: StoredEntry,
        _ form: AnswerForm,
        _ status: CacheStatus,
        news: TransferOutcome? = nil
    ) async throws(CurlewError) -> TransferOutcome? {
        let size = stored.body.size
        var reader: (any CacheReader)?
        if let range = form.bytes(ofBody: size) {
            reader = await stored.body.reader(of: range)
            // A store removes damaged entries itself. An entry whose body it was too slow to read remains.
            guard reader != nil else { return nil }
        }
        let response = stored.entry.response
        let age = Freshness(response, mode: cache.mode).age(at: cache.clock())
        var head = form.head(of: response, age: age, bodySize: size)
        let bytes = try await deliver(head, reader)
        cache.count(status, bytes: bytes)
        // Cookies of a validation are for the session, and not for later readers of the stored response.
        for field in news?.head.headers ?? [:] where ASCII.equalsIgnoringCase(field.name, "Set-Cookie") {
            head.headers.append(field)
        }
        var metrics = news?.metrics ?? TransferMetrics(queued: began, ended: began)
        let ended = cache.clock()
        let attempt = request.attempt
        metrics.update {
            $0.ended = max(began, ended)
            $0.decodedBytesReceived = bytes
            $0.attempt = attempt
        }
        metrics.cacheStatus = status
        return TransferOutcome(head: head, metrics: metrics)
    }

    private mutating func deliver(
        _ head: ResponseHead,
        _ reader: (any CacheReader)?
    ) async throws(CurlewError) -> Int64 {
        let (exchange, sink, limit) = (ownExchange(), sink, request.options.maximumBodySize)
        let deadline = budget.remaining.map { ContinuousClock.now.advanced(by: $0) }
        let result: Result<Int64, CurlewError> = await withTaskCancellationHandler {
            do throws(CurlewError) {
                return .success(try await exchange.deliver(head, reader, to: sink, limit: limit, deadline: deadline))
            } catch {
                return .failure(error)
            }
        } onCancel: {
            exchange.cancel(with: CurlewError(.cancelled, phase: .receive))
        }
        return try result.get()
    }
}
