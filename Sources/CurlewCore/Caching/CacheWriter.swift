public import Foundation

/// Takes the body of a response that is being stored.
///
/// Called by one task at a time: `write` any number of times, then `commit` or `drop`, then nothing. Nothing of the response
/// may be seen by others before `commit`, and all of it afterwards, whatever happens in between: the end of the process, a
/// full disk, another writer of the same key and variant (the last one to commit wins). A writer that is released without
/// either was dropped.
public protocol CacheWriter: AnyObject, Sendable {
    /// The next bytes of the body, never none. False where the store will not keep the entry (no room, too large, a fault):
    /// nothing more is written then, and `drop` follows.
    func write(_ chunk: Data) async -> Bool

    /// The body is complete: the entry replaces that of the same key and variant, if there is one. False where it did not.
    func commit() async -> Bool

    /// The entry is not to be kept.
    func drop() async
}
