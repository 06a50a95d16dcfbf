/// The tables of the index. Every change of them needs a new version; an index of another version is replaced.
///
///     entries   one row for each entry; `entry` is `CacheEntry.encoded`, its key and variant are checksums
///     bodies    by the same number: the body itself, or the checksums of its pieces if it is in a file
///     total     one row: the cost of all entries, updated by triggers in the transaction that changes it
enum IndexSchema {
    static let version: Int64 = 3

    static let statements = """
        CREATE TABLE entries(
            number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,
            origin INTEGER NOT NULL, url INTEGER NOT NULL, key INTEGER NOT NULL, variant INTEGER NOT NULL,
            rank INTEGER NOT NULL, usable INTEGER NOT NULL, validates INTEGER NOT NULL,
            cost INTEGER NOT NULL, size INTEGER NOT NULL, file INTEGER NOT NULL,
            entry_check INTEGER NOT NULL, body_check INTEGER NOT NULL, entry BLOB NOT NULL);
        CREATE INDEX entries_place ON entries(url, key, variant);
        CREATE INDEX entries_origin ON entries(origin);
        CREATE INDEX entries_rank ON entries(rank, cost);
        CREATE INDEX entries_end ON entries(usable) WHERE validates = 0;
        CREATE TABLE bodies(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
        CREATE TABLE total(one INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);
        INSERT INTO total VALUES(1, 0);
        CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
            UPDATE total SET bytes = bytes + NEW.cost;
        END;
        CREATE TRIGGER entry_changed AFTER UPDATE OF cost ON entries BEGIN
            UPDATE total SET bytes = bytes + NEW.cost - OLD.cost;
        END;
        CREATE TRIGGER entry_removed AFTER DELETE ON entries BEGIN
            UPDATE total SET bytes = bytes - OLD.cost;
            DELETE FROM bodies WHERE number = OLD.number;
        END;
        PRAGMA user_version = \(version);
        """
}
