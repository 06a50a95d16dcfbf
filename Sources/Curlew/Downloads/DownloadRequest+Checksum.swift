public import CurlewCore
internal import CurlewLocks

extension DownloadRequest {
    /// Demands that the file has this checksum, in hexadecimal digits.
    ///
    ///     try await session.download(url, to: destination).checksum(.sha256, "9f86d0…").file()
    ///
    /// The checksum is computed while the bytes are written, and for a resumed download also over the earlier ones. A
    /// file with another checksum is `.validationFailed` and is never moved to its destination. Of several checksums,
    /// all must match.
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
