public import CurlewCore
