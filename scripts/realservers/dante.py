"""dante: SOCKS 4, 4a, 5 and 5h, with a rule that refuses one port."""

CONFIGURATION = """
errorlog: /dev/null
logoutput: /dev/null
internal: 127.0.0.1 port = {port}
external: 127.0.0.1
clientmethod: none
socksmethod: none
user.privileged: {user}
user.unprivileged: {nobody}
client pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 }}
socks block {{ from: 127.0.0.0/8 to: 0.0.0.0/0 port = {refused} }}
socks pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 protocol: tcp }}
"""


def configuration(port: int, refused: int, root: bool, user: str):
    return CONFIGURATION.format(port=port, refused=refused, user=user, nobody="nobody" if root else user)
