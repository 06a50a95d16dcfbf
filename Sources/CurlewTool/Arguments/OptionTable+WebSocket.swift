extension OptionTable {
    static let webSocket: [OptionSpec] = [
        OptionSpec(
            .subprotocol, "subprotocol", value: .text("NAME"), group: .webSocket,
            help: "Ask for this subprotocol. May be given several times, the best first."
        ),
        OptionSpec(
            .binary, "binary", group: .webSocket, help: "Send lines as binary messages. They need not be UTF-8 then."
        ),
        OptionSpec(
            .ping, "ping", value: .text("TIME"), group: .webSocket,
            help: "Send a ping this often: seconds, or 500ms, 2m. A pong that does not come within --timeout (20 "
                + "seconds if it is not given) is an error."
        ),
        OptionSpec(
            .linger, "linger", value: .text("TIME"), group: .webSocket,
            help: "After the end of standard input, close when the server has been silent for this long; 0 closes at "
                + "once. Without the option: when there were as many messages as lines and half a second of silence, "
                + "or after --timeout."
        ),
    ]
}
