public import Foundation

/// Receives the body of a response that is being stored.
///
/// Called by one task at a time: `write` any number of times, then `commit` or `drop` once. The response must be
/// invisible to readers before `commit` and complete afterwards, even if the process ends, the disk is full, or another
/// writer commits an entry with the same key and variant (the last commit wins). A writer that is released without
/// either call counts as dropped.
public protocol CacheWriter: AnyObject, Sendable {
    /// Writes the next bytes of the body; `chunk` is never empty. Returns `false` if the store will not keep the entry
    /// (no room, too large, a fault). `drop` is then the only call that follows.
    func write(_ chunk: Data) async -> Bool

    /// Completes the body. The entry replaces the one with the same key and variant, if there is one. Returns `false`
    /// if the entry was not stored.
    func commit() async -> Bool

    /// Discards the entry.
    func drop() async
}
