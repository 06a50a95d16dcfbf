import Foundation

/// The memory of this process, as the kernel reports it.
enum ProcessMemory {
    /// The resident memory, in kB.
    static var residentKilobytes: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
        for line in text.split(separator: "\n") where line.hasPrefix("VmRSS:") {
            return Int(line.filter(\.isNumber)) ?? 0
        }
        return 0
    }
}
