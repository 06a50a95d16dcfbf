@_exported public import CurlewCore
