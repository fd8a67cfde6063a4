package sim

import (
	"context"
	"net"
)

// DialConsole returns a connection to the vCenter's API, on which TLS is to be spoken, that its gate knows nothing of:
// neither does it count the calls, nor do its outages reach them.
func (v *VCenter) DialConsole(ctx context.Context) (net.Conn, error) { return v.console.Dial(ctx) }
