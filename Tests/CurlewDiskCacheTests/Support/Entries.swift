import Foundation
import StoreSupport

/// Makes entries that have expired. A store keeps them until it needs their space.
let entry = EntryMaker { Date(timeIntervalSince1970: 1_700_000_000) }
