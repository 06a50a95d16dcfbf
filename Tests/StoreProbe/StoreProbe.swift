import CurlewCore
import CurlewDiskCache
import Foundation
import Glibc

/// A process for the tests of stores that need one of their own.
///
///     StoreProbe put <directory> <keys> <tag>     stores without end, and prints a line for each entry that was committed
///     StoreProbe open <directory>                 opens a store as an unprivileged user, and prints the code of its error
///     StoreProbe limited <directory> <bytes>      stores in a process whose files may have so many bytes
///     StoreProbe descriptors <directory>          looks up a large body while the process may open no file, and then again
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
        default: exit(2)
        }
    }

    /// Bodies say of themselves how long they are, and small and large ones alternate.
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
            print(error.code.rawValue)
        }
    }

    /// Prints how many entries and faults there are without descriptors, and whether the body is there afterwards.
    private static func descriptors(_ directory: URL) async {
        let sample = Sample(key: 1, size: 600_000, tag: "descriptors")
        guard let store = try? DiskCacheStore(directory: directory), await sample.store(in: store) else { exit(3) }
        let key = sample.entry.key
        // The lane that looks this key up has opened the index.
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
