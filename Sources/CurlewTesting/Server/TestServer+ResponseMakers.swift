public import CurlewCore
public import Foundation

extension TestServer.Response {
    /// A response with UTF-8 text.
    public static func text(_ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8") -> Self {
        .data(Data(text.utf8), status: status, type: type)
    }

    /// A response with this body and its content type.
    public static func data(_ data: Data, status: Int = 200, type: String = "application/octet-stream") -> Self {
        Self(status: status, headers: ["Content-Type": type], body: .data(data))
    }

    /// A response with a value encoded as JSON with sorted keys; 500 if it cannot be encoded.
    public static func json(_ value: some Encodable, status: Int = 200) -> Self {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return .data(try encoder.encode(value), status: status, type: "application/json")
        } catch {
            return .text("\(error)", status: 500)
        }
    }

    /// A response that has a status and no body.
    public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> Self {
        Self(status: status, headers: headers)
    }

    /// A response of `count` bytes that depend only on `seed` and their positions (`TestServer.patternBytes`).
    public static func bytes(_ count: Int64, seed: UInt64 = 0) -> Self {
        Self(
            headers: ["Content-Type": "application/octet-stream"],
            body: .generated(length: count) { offset, most in
                TestServer.patternBytes(from: offset, count: most, seed: seed)
            }
        )
    }

    /// A redirect to a location.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status: status, headers: ["Location": location])
    }

    /// Sends exactly these bytes, one segment for each element, then ends the connection.
    public static func raw(_ segments: [String], every pause: Duration = .zero) -> Self {
        raw(segments.map { Data($0.utf8) }, every: pause)
    }

    /// Sends exactly these bytes, one segment for each element, then ends the connection.
    public static func raw(_ segments: [Data], every pause: Duration = .zero) -> Self {
        var response = Self(body: .chunks(segments, every: pause))
        response.framing = .raw
        response.closesConnection = true
        return response
    }

    /// Never responds: the connection stays open until the peer leaves or the server stops.
    public static var hanging: Self { Self().faulting(.stall(), at: .beforeHead) }
}

extension TestServer.Response {
    /// Returns a copy with one more fault.
    public func faulting(_ action: TestServer.Fault.Action, at point: TestServer.Fault.Point) -> Self {
        changed { $0.faults.append(TestServer.Fault(action, at: point)) }
    }

    /// Returns a copy that pauses at that point until the gate opens.
    public func stalling(until gate: Gate, at point: TestServer.Fault.Point) -> Self {
        faulting(.stall(until: gate), at: point)
    }

    /// Returns a copy that waits for a duration before the response.
    public func delayed(by delay: Duration) -> Self { changed { $0.delay = delay } }

    /// Returns a copy that is sent at this rate.
    public func throttled(to bytesPerSecond: Int) -> Self { changed { $0.sendRate = bytesPerSecond } }

    /// Returns a copy after which the connection ends, announced by `Connection: close`.
    public func closing() -> Self { changed { $0.closesConnection = true } }

    /// Returns a copy with one more field.
    public func header(_ name: String, _ value: String) -> Self {
        changed { $0.headers.append(name: name, value: value) }
    }

    /// Returns a copy that the closure has changed.
    public func changed(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

extension TestServer {
    /// The bytes that `/bytes/{n}`, `/download/{n}` and similar routes send, from `offset` on.
    ///
    /// A test compares a received range with the corresponding range of these bytes.
    public static func patternBytes(from offset: Int64 = 0, count: Int, seed: UInt64 = 0) -> Data {
        guard count > 0 else { return Data() }
        // One block is repeated for each seed. Its length is prime, so it does not align with power-of-two boundaries.
        let block = PatternBlock.block(seed: seed)
        var data = Data(capacity: count)
        var position = Int(offset % Int64(block.count))
        var left = count
        while left > 0 {
            let part = min(left, block.count - position)
            data.append(contentsOf: block[position..<position + part])
            left -= part
            position = 0
        }
        return data
    }
}
