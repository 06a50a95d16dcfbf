internal import CurlewCore
internal import Foundation

/// Delivers one canned response to a sink.
struct MockDelivery {
    let exchange: MockExchange
    let sink: any TransferSink
    let request: TransferRequest
    let response: MockResponse

    func deliver(_ started: TransferMetrics) async throws(CurlewError) -> TransferOutcome {
        var metrics = response.metrics ?? started
        if let gate = response.gate { try await pass(gate) }
        if response.failsAtOnce, let error = response.error { throw error }
        for head in response.interim {
            try await exchange.clearance(.receiving)
            sink.didReceive(informational: head)
        }
        try await exchange.clearance(.receiving)
        let firstByte = Date()
        _ = try exchange.offer { sink.didReceive(head: response.head) }
        var received = 0
        for piece in sentBody {
            switch piece {
            case .wait(let gate): try await pass(gate)
            case .bytes(let data):
                received += data.count
                if let most = request.options.maximumBodySize, received > most {
                    throw CurlewError(.limitExceeded, phase: .receive, reason: "the body is above \(most) bytes")
                }
                try await offer(data)
            }
        }
        // A sink that paused at the last byte also delays the end.
        try await exchange.clearance(.receiving)
        if let error = response.error { throw error }
        if response.metrics == nil {
            metrics.firstByte = firstByte
            metrics.httpVersion = response.version
            metrics.bytesReceived = Int64(received)
            metrics.decodedBytesReceived = Int64(received)
            metrics.attempt = request.attempt
            metrics.ended = Date()
        }
        return TransferOutcome(head: response.head, trailers: response.trailers, metrics: metrics)
    }

    /// HEAD, 204 and 304 have no body, whatever the canned response contains.
    private var sentBody: [MockResponse.Piece] {
        let hasNone = request.method == .head || response.status == 204 || response.status == 304
        return hasNone ? [] : response.body
    }

    /// Offers identical bytes repeatedly until the sink accepts them.
    private func offer(_ data: Data) async throws(CurlewError) {
        guard !data.isEmpty else { return }
        var isTaken = false
        while !isTaken {
            try await exchange.clearance(.receiving)
            isTaken = try exchange.offer { data.withUnsafeBytes { sink.didReceive(body: $0) } }
        }
    }

    private func pass(_ gate: Gate) async throws(CurlewError) {
        try await exchange.whileRunning { try await gate.wait() }
    }
}
