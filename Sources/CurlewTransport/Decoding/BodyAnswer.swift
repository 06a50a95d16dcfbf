/// What became of a chunk of a body.
enum BodyAnswer {
    case taken
    /// Not now: the same bytes come again.
    case paused
    /// The transfer ends.
    case refused
}
