import Foundation
import StoreSupport

/// Entries of this moment: the server counts their time down.
let entry = EntryMaker { Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down)) }
