import CurlewCore
import CurlewDiskCache
import Foundation
import Glibc

/// A program for tests of stores that need a separate process.
///
///     StoreProbe put <directory> <keys> <tag>     stores without end, and prints a line for each committed entry
///     StoreProbe open <directory>                 opens a store as an unprivileged user, and prints its error code
///                                                 and the system's error number
///     StoreProbe limited <directory> <bytes>      stores in a process whose files may have at most <bytes> bytes
///     StoreProbe descriptors <directory>          looks a large body up while no file can be opened, and then again
///     StoreProbe truncated <directory> <name>     truncates a file, or all in `folder/`, under an open store
@main
enum StoreProbe {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { exit(2) }
        let directory = URL(filePath: arguments[1])
        switch arguments[0] {
        case "put" where arguments.count == 4: await put(directory, keys: Int(arguments[2]) ?? 1, tag: arguments[3])
        case "open": open(directory)
        case "limited" where arguments.count == 3: await limited(directory, bytes: UInt(arguments[2]) ?? 0)
        case "descriptors": await descriptors(directory)
        case "truncated" where arguments.count == 3: await truncated(directory, name: arguments[2])
        default: exit(2)
        }
    }

    /// Stores samples without end, with small and large bodies, and prints the number of each that was committed.
    private static func put(_ directory: URL, keys: Int, tag: String) async {
        guard let store = try? DiskCacheStore(directory: directory, maximumSize: 64 << 20) else { exit(3) }
        for number in 0... {
            let sample = Sample(key: number % keys, size: number % 3 == 0 ? 300_000 + number : number % 9000, tag: tag)
            if await sample.store(in: store) {
                print(number)
                fflush(nil)
            }
        }
    }

    private static func open(_ directory: URL) {
        if getuid() == 0 { setuid(65534) }
        do throws(CurlewError) {
            _ = try DiskCacheStore(directory: directory)
            print("opened")
        } catch {
            print(error.code.rawValue, (error.underlying as? POSIXError)?.code.rawValue ?? 0)
        }
    }

    /// Prints the number of entries and faults without descriptors, and whether the body is found afterwards.
    private static func descriptors(_ directory: URL) async {
        let sample = Sample(key: 1, size: 600_000, tag: "descriptors")
        guard let store = try? DiskCacheStore(directory: directory), await sample.store(in: store) else { exit(3) }
        let key = sample.entry.key
        // This lookup makes the key's lane open the index.
        guard await store.entries(for: key).count == 1 else { exit(4) }
        var before = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        var none = rlimit(rlim_cur: 0, rlim_max: before.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
        let without = await store.entries(for: key).count
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        let reader = await store.entries(for: key).first?.body.reader(of: 0..<10)
        let faults = store.faults
        print(without, faults.damagedEntries, faults.failedReads, reader == nil ? "gone" : "there")
    }

    /// Prints how many entries are wrong after the truncation, and how many of those that were stored later are
    /// missing.
    private static func truncated(_ directory: URL, name: String) async {
        guard let store = try? DiskCacheStore(directory: directory) else { exit(3) }
        var wrong = 0
        func find(_ sample: Sample) async -> Bool {
            guard let stored = await store.entries(for: sample.entry.key).first,
                let reader = await stored.body.reader(of: 0..<stored.body.size)
            else { return false }
            var body = Data()
            do {
                while let chunk = try await reader.next() { body.append(chunk) }
            } catch {
                return false
            }
            if body != sample.body { wrong += 1 }
            return true
        }
        // Several keys are looked up, so that each lane of lookups has opened the index.
        let samples = (0..<8).map { Sample(key: $0, size: $0 == 0 ? 300_000 : 9000, tag: "truncated") }
        for sample in samples {
            guard await sample.store(in: store), await find(sample) else { exit(4) }
        }
        var cut = 0
        for path in FileManager.default.subpaths(atPath: directory.path(percentEncoded: false)) ?? [] {
            let isMeant = name.isEmpty || path == name || (name.hasSuffix("/") && path.hasPrefix(name))
            let file = directory.appending(path: path).path(percentEncoded: false)
            guard isMeant else { continue }
            if truncate(file, 0) == 0 { cut += 1 } else if errno != EISDIR { exit(5) }
        }
        guard cut > 0 else { exit(6) }
        for sample in samples { _ = await find(sample) }
        // Some faults are found only by a change, which then fails. A later change succeeds.
        for sample in samples { _ = await sample.store(in: store) }
        var missing = 0
        for sample in samples {
            let isStored = await sample.store(in: store)
            let isFound = await find(sample)
            if !isStored || !isFound { missing += 1 }
        }
        print(wrong, missing)
    }

    private static func limited(_ directory: URL, bytes: UInt) async {
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        guard let store = try? DiskCacheStore(directory: directory) else { return print("no store") }
        var stored = 0
        for key in 0..<40 {
            if await Sample(key: key, size: key % 2 == 0 ? 8000 : 600_000, tag: "limited").store(in: store) {
                stored += 1
            }
        }
        print(stored, store.faults.failedWrites)
    }
}
