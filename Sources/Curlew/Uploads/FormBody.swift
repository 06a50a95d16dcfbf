internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The source from which a form is sent.
package enum FormStorage: Sendable {
    /// The form's parts. They are read while the form is sent.
    case none
    /// Memory, if the contents are shorter than `limit`. Otherwise a temporary file or, without `otherwiseInFile`, the
    /// form's parts.
    case memory(below: UInt64, otherwiseInFile: Bool)
}

/// The body of a form. It is created once, because a stream cannot be read again.
final class FormBody: Sendable {
    private let form: MultipartFormData
    private let storage: FormStorage
    private let made = Lock<Result<UploadRequest.Uploadable, CurlewError>?>(nil)

    init(_ form: MultipartFormData, storage: FormStorage = .none) {
        self.form = form
        self.storage = storage
    }

    /// Removes the temporary file. If the request never ran, no clean-up has removed it before.
    deinit {
        if case .success(let uploadable) = made.withLock({ $0 }) { uploadable.removeOwnFile() }
    }

    /// Creates the body on a file lane, away from Swift's threads. `nil` if the form is sent from its parts.
    var preparation: (@Sendable () async -> Void)? {
        guard case .memory = storage else { return nil }
        return { await FileLane.next().carryOut { _ = try? self.uploadable() } }
    }

    func uploadable() throws(CurlewError) -> UploadRequest.Uploadable {
        if let made = made.withLock({ $0 }) { return try made.get() }
        // Not under the lock, because this reads files. The attempts of a request run one after another.
        let new: Result<UploadRequest.Uploadable, CurlewError>
        do throws(CurlewError) { new = .success(try make()) } catch { new = .failure(error) }
        made.withLock { $0 = $0 ?? new }
        return try new.get()
    }

    private func make() throws(CurlewError) -> UploadRequest.Uploadable {
        // A stream may block for long, and a throttle needs a body that is read while it is sent. Both are sent from
        // the parts.
        guard case .memory(let limit, let otherwiseInFile) = storage, form.isReplayable, form.throttle == nil else {
            return UploadRequest.Uploadable(try form.body())
        }
        if form.contentLength < limit { return .data(try form.encoded()) }
        return otherwiseInFile ? try inFile() : UploadRequest.Uploadable(try form.body())
    }

    /// Writes the form to a file that only this user can read. It is removed when the request ends.
    private func inFile() throws(CurlewError) -> UploadRequest.Uploadable {
        let file = try OpenFile.create(TemporaryName.make(in: form.fileManager.temporaryDirectory.path))
        do throws(CurlewError) {
            var offset: Int64 = 0
            try form.forEachBuffer { buffer throws(CurlewError) in
                try file.write(buffer, at: offset)
                offset += Int64(buffer.count)
            }
        } catch {
            // An incomplete form is useless.
            try? FileManager.default.removeItem(atPath: file.path)
            throw error
        }
        return .file(URL(filePath: file.path), shouldRemove: true)
    }
}
