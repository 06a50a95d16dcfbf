internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Where a form is when it goes out.
package enum FormStorage: Sendable {
    /// Where its parts are: it is read while it is sent.
    case none
    /// In memory if its contents are shorter than `limit`; otherwise in a file, or still with its parts.
    case memory(below: UInt64, otherwiseInFile: Bool)
}

/// A form's body, made once: what was read of a stream cannot be read again.
final class FormBody: Sendable {
    private let form: MultipartFormData
    private let storage: FormStorage
    private let made = Lock<Result<UploadRequest.Uploadable, CurlewError>?>(nil)

    init(_ form: MultipartFormData, storage: FormStorage = .none) {
        self.form = form
        self.storage = storage
    }

    /// The file of a request that never ran is removed here at the latest: no run has cleaned up after it.
    deinit {
        if case .success(let uploadable) = made.withLock({ $0 }) { uploadable.removeOwnFile() }
    }

    /// Reads and writes files where the storage asks for that, away from Swift's threads; nil where nothing is stored.
    var preparation: (@Sendable () async -> Void)? {
        guard case .memory = storage else { return nil }
        return { await FileLane.next().carryOut { _ = try? self.uploadable() } }
    }

    func uploadable() throws(CurlewError) -> UploadRequest.Uploadable {
        if let made = made.withLock({ $0 }) { return try made.get() }
        // Without the lock: this reads files. A request makes one try after the other.
        let new: Result<UploadRequest.Uploadable, CurlewError>
        do throws(CurlewError) { new = .success(try make()) } catch { new = .failure(error) }
        made.withLock { $0 = $0 ?? new }
        return try new.get()
    }

    private func make() throws(CurlewError) -> UploadRequest.Uploadable {
        // A stream comes when it comes, and a throttle works on what is being read.
        guard case .memory(let limit, let otherwiseInFile) = storage, form.isReplayable, form.throttle == nil else {
            return UploadRequest.Uploadable(try form.body())
        }
        if form.contentLength < limit { return .data(try form.encoded()) }
        return otherwiseInFile ? try inFile() : UploadRequest.Uploadable(try form.body())
    }

    /// A file that only this user can read, and that goes with the request.
    private func inFile() throws(CurlewError) -> UploadRequest.Uploadable {
        let file = try OpenFile.create(TemporaryName.make(in: form.fileManager.temporaryDirectory.path))
        do throws(CurlewError) {
            var offset: Int64 = 0
            try form.forEachBuffer { buffer throws(CurlewError) in
                try file.write(buffer, at: offset)
                offset += Int64(buffer.count)
            }
        } catch {
            // Half a form is of no use.
            try? FileManager.default.removeItem(atPath: file.path)
            throw error
        }
        return .file(URL(filePath: file.path), shouldRemove: true)
    }
}
