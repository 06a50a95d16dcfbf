internal import CurlewCore
internal import Foundation

/// The record of one download on disk.
struct JournalEntry: Codable {
    var version = Self.currentVersion
    var part: ResumeData
    var taskDescription: String?
    var destination: String?
    var options: Int
    var began: Date
    /// Identifies the boot of the system during which the entry was written.
    var boot: String
    /// Whether the entry was written after the bytes that it counts.
    var isVouchedFor: Bool

    static let currentVersion = 1

    init(_ part: ResumeData, of request: DownloadRequest, to target: OpenedDownload.Target?, began: Date) {
        self.part = part
        taskDescription = request.taskDescription
        destination = target?.url.path(percentEncoded: false)
        options = target?.options.rawValue ?? 0
        self.began = began
        boot = Self.currentBoot
        isVouchedFor = false
    }

    init?(_ data: Data) {
        guard let entry = try? JSONDecoder().decode(JournalEntry.self, from: data),
            entry.version == Self.currentVersion
        else { return nil }
        self = entry
    }

    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Differs after every boot of the system.
    static let currentBoot: String =
        (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8))?
        .trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown-\(UUID().uuidString)"
}
