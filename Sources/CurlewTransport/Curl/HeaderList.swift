internal import CCurl
internal import CurlewCore

/// Header lines as a `curl_slist` in one allocation: the nodes, followed by the text.
///
/// A request's list can end in its session's shared list, so that default headers are not copied for each request.
/// libcurl only reads a list; its owner keeps it alive while it is set.
// SAFETY: the memory is written in init only; the reference keeps `rest` alive.
final class HeaderList: @unchecked Sendable {
    private let storage: UnsafeMutableRawPointer?
    let rest: HeaderList?
    let head: UnsafeMutablePointer<curl_slist>?

    init(lines: [String], rest: HeaderList? = nil) {
        self.rest = rest
        guard !lines.isEmpty else {
            storage = nil
            head = rest?.head
            return
        }
        let nodeBytes = lines.count * MemoryLayout<curl_slist>.stride
        let textBytes = lines.reduce(0) { $0 + $1.utf8.count + 1 }
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: nodeBytes + textBytes,
            alignment: MemoryLayout<curl_slist>.alignment
        )
        let nodes = memory.bindMemory(to: curl_slist.self, capacity: lines.count)
        var text = memory + nodeBytes
        for (index, line) in lines.enumerated() {
            let count = line.utf8.count
            let bytes = UnsafeMutableRawBufferPointer(start: text, count: count)
            bytes.copyBytes(from: line.utf8)
            text.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
            let next = index + 1 < lines.count ? nodes + index + 1 : rest?.head
            (nodes + index).initialize(
                to: curl_slist(data: text.assumingMemoryBound(to: CChar.self), next: next)
            )
            text += count + 1
        }
        storage = memory
        head = nodes
    }

    deinit { storage?.deallocate() }
}
