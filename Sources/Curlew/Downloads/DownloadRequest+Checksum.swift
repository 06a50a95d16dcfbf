public import CurlewCore
internal import CurlewLocks

extension DownloadRequest {
    /// Demands that the file has this checksum, in hexadecimal digits.
    ///
    ///     try await session.download(url, to: destination).checksum(.sha256, "9f86d0…").file()
    ///
    /// It is computed while the bytes are written; of a resumed download also over those that were there.
    /// Another file is `.validationFailed` and never gets to its destination. Of several all must be right.
    @discardableResult
    public func checksum(_ algorithm: ChecksumAlgorithm, _ hexadecimal: String) -> Self {
        let checksum = Checksum(algorithm, hex: hexadecimal)
        download.withLock { record in
            if let checksum {
                record.checksums.append(checksum)
            } else {
                record.flaw = CurlewError(
                    .requestCreationFailed,
                    phase: .creation,
                    reason: "a \(algorithm.rawValue) checksum has \(algorithm.byteCount * 2) hexadecimal digits"
                )
            }
        }
        return self
    }
}
