import Foundation
import StoreSupport

/// Entries whose time is over: a store keeps them until it wants the room.
let entry = EntryMaker { Date(timeIntervalSince1970: 1_700_000_000) }
